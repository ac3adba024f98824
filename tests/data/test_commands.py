"""The stream commands: exchange formats, order, rejects; and their lines: all of them, at once when a pipe pauses."""

import io
import json
import os
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import HunminError
from data.commands import decontaminate_stream, line_batches, pseudonymize_stream, split_stream, stats_stream

BAD = b'not json\n\n{"title": 1}\n{"text": 2}\n[]\n{"text": "\xff"}\n'
REASONS = {"not JSON": 1, "no field 'text'": 1, "text is not a string": 1, "not a JSON object": 1, "not UTF-8": 1}


def lines(*records: dict) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def test_pseudonymize_gives_spans_in_characters_of_the_input():
    text = "\U0001f600 전화는 010-1234-5678 입니다."
    output = io.BytesIO()
    counts = pseudonymize_stream(io.BytesIO(lines({"id": 1, "text": text}) + BAD), output, b"k" * 16)
    [record] = map(json.loads, output.getvalue().splitlines())
    [span] = record["spans"]
    assert text[span["start"] : span["end"]] == "010-1234-5678"
    assert set(span) == {"start", "end", "type", "surrogate"}
    assert record["text"] == text[: span["start"]] + span["surrogate"] + text[span["end"] :]
    assert record["id"] == 1
    assert counts == {"read": 6, "written": 1, "rejects": REASONS, "pii": {"TEL": 1}}


def test_decontaminate_keeps_lines_unchanged_and_in_order(tmp_path):
    hit = "어제 저녁 작은 마을 도서관 앞에서 즐거운 음악회가 열렸다."
    (tmp_path / "bench.jsonl").write_bytes(lines({"task": "toy", "guid": "g", "text": hit}))
    odd = b'{"id":  "x" , "text":"\xea\xb0\x80\xeb\x82\x98 \\u003c"}\n'
    source = odd + lines({"id": 2, "text": hit}) + BAD + lines({"id": 3, "text": "상관없는 문장이다."})
    output, hits = io.BytesIO(), io.BytesIO()
    counts = decontaminate_stream(tmp_path / "bench.jsonl", io.BytesIO(source), output, hits)
    assert output.getvalue() == odd + lines({"id": 3, "text": "상관없는 문장이다."})
    [listed] = map(json.loads, hits.getvalue().splitlines())
    assert listed == {"id": 2, "text": hit, "task": "toy", "benchmark_guid": "g", "score": 1.0, "rule": "exact"}
    assert counts == {"read": 8, "written": 2, "rejects": REASONS, "hits": {"toy": {"exact": 1}}}


def test_split_loses_no_character():
    output = io.BytesIO()
    counts = split_stream(io.BytesIO(lines({"text": "비가 왔다. 눈도 왔다.\n끝", "x": 1}) + BAD), output)
    [record] = map(json.loads, output.getvalue().splitlines())
    assert record == {"text": "비가 왔다. 눈도 왔다.\n끝", "x": 1, "sentences": ["비가 왔다.", "눈도 왔다.", "끝"]}
    assert counts == {"read": 6, "written": 1, "rejects": REASONS, "sentences": 3}


def test_a_line_too_long_is_a_reject(monkeypatch):
    monkeypatch.setattr("data.commands.LINE_BYTES", 1 << 20)
    output = io.BytesIO()
    counts = split_stream(io.BytesIO(lines({"text": "가" * 350_000}, {"text": "나다."})), output)
    assert counts["rejects"] == {"longer than 1 MiB": 1} and counts["written"] == 1


def test_stats_of_a_stream_count_what_is_split_or_given(monkeypatch):
    records = [
        {"text": "비가 왔다. 눈도 왔다.", "source": "web"},
        {"text": "하나 둘", "source": "web", "sentences": ["하나", "둘"]},
        {"text": "셋", "source": 7},
        {"text": "넷"},
    ]
    whole = stats_stream(io.BytesIO(lines(*records) + BAD))
    monkeypatch.setattr("data.commands.BATCH_BYTES", 1)
    assert stats_stream(io.BytesIO(lines(*records) + BAD)) == whole
    assert whole["rejects"] == REASONS and whole["split"] == 6
    assert {name: source["kept"]["sentences"] for name, source in whole["sources"].items()} == {
        "web": 4,
        "7": 1,
        "-": 1,
    }
    assert whole["total"]["read"]["words"] == whole["total"]["kept"]["words"] == 8
    assert sum(bin["count"] for bin in whole["lengths"]["documents"]) == 4


def test_numbers_of_any_length_and_half_an_emoji_come_through():
    number = 123456789012345678901234
    source = lines({"id": number, "n": [-(2**63) - 1], "text": "가 나."}) + b'{"text": "\\ud83d \\ub2e4."}\n'
    for command in (split_stream, lambda i, o: pseudonymize_stream(i, o, b"k" * 16)):
        output = io.BytesIO()
        assert command(io.BytesIO(source), output)["written"] == 2
        first, second = map(json.loads, output.getvalue().splitlines())
        assert first["id"] == number and first["n"] == [-(2**63) - 1] and second["text"] == "\ufffd 다."


@pytest.mark.parametrize("depth", [300, 1010, 5000])
def test_deep_nesting_ends_in_the_same_line_or_a_reject(depth):
    source = lines({"text": "가."}) + b'{"text": "\xeb\x82\x98.", "x": ' + b"[" * depth + b"]" * depth + b"}\n"
    for command in (split_stream, lambda i, o: pseudonymize_stream(i, o, b"k" * 16)):
        output = io.BytesIO()
        counts = command(io.BytesIO(source), output)
        if depth == 300:
            assert counts["written"] == 2 and output.getvalue().count(b"[" * depth) == 1
        else:
            assert counts["written"] == 1 and counts["rejects"] == {"nested too deeply": 1}


def test_a_byte_order_mark_is_no_fault():
    output = io.BytesIO()
    assert split_stream(io.BytesIO(b"\xef\xbb\xbf" + lines({"text": "가."})), output)["rejects"] == {}
    assert json.loads(output.getvalue())["sentences"] == ["가."]


def test_sentences_are_pseudonymised_as_the_text_is():
    split, output = io.BytesIO(), io.BytesIO()
    split_stream(io.BytesIO(lines({"text": "비가 왔다. 전화는 010-1234-5678 입니다."})), split)
    counts = pseudonymize_stream(io.BytesIO(split.getvalue()), output, b"k" * 16)
    record = json.loads(output.getvalue())
    assert "1234-5678" not in output.getvalue().decode() and counts["pii"] == {"TEL": 1}
    assert " ".join(record["sentences"]) == record["text"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (lines({"content": "가"}, {"content": "나"}), "2 no field 'text'"),
        ('{"text": "한글"}\n'.encode("cp949"), "1 not UTF-8"),
    ],
)
def test_an_input_of_which_no_line_can_be_read_is_an_error(source, reason):
    for command in (split_stream, lambda i, o: stats_stream(i)):
        with pytest.raises(HunminError, match=reason):
            command(io.BytesIO(source), io.BytesIO())
    assert split_stream(io.BytesIO(b"\n"), io.BytesIO())["written"] == 0


def test_spans_of_decomposed_text_are_places_in_it() -> None:
    text = "연락처는 010-1234-5678이고 주소는 서울특별시 강남구 테헤란로 123이다. 메일은 a@b.co.kr이다."
    nfd = unicodedata.normalize("NFD", text)
    lines = "".join(json.dumps({"text": form}, ensure_ascii=False) + "\n" for form in (text, nfd))
    output = io.BytesIO()
    pseudonymize_stream(io.BytesIO(lines.encode()), output, b"a key of some length")
    composed, decomposed = map(json.loads, output.getvalue().splitlines())
    values = [unicodedata.normalize("NFC", nfd[span["start"] : span["end"]]) for span in decomposed["spans"]]
    assert values == ["010-1234-5678", "서울특별시 강남구 테헤란로 123", "a@b.co.kr"]
    assert unicodedata.normalize("NFC", decomposed["text"]) == composed["text"]
    rebuilt, done = "", 0
    for span in decomposed["spans"]:
        rebuilt, done = rebuilt + nfd[done : span["start"]] + span["surrogate"], span["end"]
    assert rebuilt + nfd[done:] == decomposed["text"]


def test_sentences_of_decomposed_text_are_its_own() -> None:
    text = "가람은 갔다. 나도 갔다! 글을 썼습니다 그리고 왔다."
    nfd = unicodedata.normalize("NFD", text)
    output = io.BytesIO()
    split_stream(io.BytesIO(json.dumps({"text": nfd}).encode()), output)
    sentences = json.loads(output.getvalue())["sentences"]
    assert "".join(sentences).replace(" ", "") == nfd.replace(" ", "")
    composed = [unicodedata.normalize("NFC", sentence) for sentence in sentences]
    assert composed == ["가람은 갔다.", "나도 갔다!", "글을 썼습니다", "그리고 왔다."]


def test_batches_do_not_change_the_output(monkeypatch):
    source = lines(*({"text": f"{n}번 문장이다."} for n in range(10)))
    whole, small = io.BytesIO(), io.BytesIO()
    split_stream(io.BytesIO(source), whole)
    monkeypatch.setattr("data.commands.BATCH_BYTES", 1)
    split_stream(io.BytesIO(source), small)
    assert whole.getvalue() == small.getvalue()


@given(st.binary(max_size=200).map(lambda raw: raw.replace(b"\x01", b"\n")), st.integers(1, 50))
def test_the_lines_are_those_of_the_stream_whatever_the_batches(content, batch_bytes):
    lines = [line for batch in line_batches(io.BytesIO(content), batch_bytes) for line in batch]
    assert lines == content.removesuffix(b"\n").split(b"\n") if content else lines == []


def test_a_pipe_that_pauses_gets_its_lines_handled():
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        batches = line_batches(stream, 1 << 20)
        os.write(writing, b"one\ntwo\nth")
        assert next(batches) == [b"one", b"two"]
        os.write(writing, b"ree\n")
        assert next(batches) == [b"three"]
        os.close(writing)
        assert list(batches) == []


def test_a_line_too_long_is_skipped_and_the_next_ones_are_not(monkeypatch):
    monkeypatch.setattr("data.commands.LINE_BYTES", 10)
    content = b"0123456789\n" + b"x" * 11 + b"\nshort\n" + b"y" * 1000 + b"\n\nlast" + b"z" * 40
    for batch_bytes in (1, 7, 5000):
        lines = [line for batch in line_batches(io.BytesIO(content), batch_bytes) for line in batch]
        assert lines == [b"0123456789", None, b"short", None, b"", None]
