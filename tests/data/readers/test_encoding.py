"""Encodings: detected by content, declared, and what cannot be decoded set aside; whatever the size of the reads."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.readers import encoding
from data.readers.damage import DamagedInputError
from data.readers.encoding import UNDECODABLE, TextStream, detect, read_full, utf8_lines

from .reading import read, read_in_pieces, rejects, texts

KOREAN = "첫째 줄이다.\n둘째 줄, 무엇을 쓸까?\n"


def content(raw: bytes, declared: str = "auto") -> tuple[str, str]:
    stream = TextStream(raw[: encoding.READ_BYTES], io.BytesIO(raw[encoding.READ_BYTES :]), declared)
    data = b"".join(stream)
    return stream.encoding, utf8_lines(data, stream.encoding).decode()


@pytest.mark.parametrize(
    ("codec", "encoding"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8"), ("cp949", "cp949"), ("euc-kr", "cp949"), ("utf-16", "utf-8"),
     ("utf-16-le", "utf-8"), ("utf-16-be", "utf-8")],
)  # fmt: skip
def test_encodings_are_detected(codec, encoding):
    assert content(KOREAN.encode(codec)) == (encoding, KOREAN)
    assert content((chr(0xFEFF) + KOREAN).encode("utf-16-be")) == ("utf-8", KOREAN)


@pytest.mark.parametrize("declared", ["utf-16", "utf-16-le", "utf-16-be", "cp949", "euc-kr", "utf-8"])
def test_encodings_are_taken_as_declared(declared):
    assert content(KOREAN.encode(declared), declared)[1] == KOREAN


def test_utf16_without_mark_is_little_endian_when_only_utf16_is_declared():
    assert content("abc\n".encode("utf-16-le"), "utf-16")[1] == "abc\n"


@pytest.mark.parametrize("read_bytes", [64, 1000, 1 << 20])
def test_ascii_decides_nothing_and_korean_that_comes_later_does(monkeypatch, read_bytes):
    monkeypatch.setattr("data.readers.encoding.READ_BYTES", read_bytes)
    raw = b"only ASCII\n" * 30 + (KOREAN * 20).encode("cp949")
    assert content(raw) == ("cp949", raw.decode("cp949"))


def test_a_broken_line_in_utf8_does_not_make_it_cp949():
    raw = "가나다\n".encode() + "라".encode()[:2] + b"\n" + "마바사\n".encode()
    assert detect(raw) == "utf-8"
    assert detect(b"ascii\n" + "라".encode()[:2] + b"\n") == "utf-8"  # decodes in CP949, to no Hangul


def test_the_last_line_counts_without_a_line_end():
    assert detect(b"ascii\n" + "한글".encode("cp949")) == "cp949"


def test_a_character_cut_by_the_end_of_a_read_is_no_fault():
    raw = "가나다라".encode()
    assert [detect(raw[:count]) for count in range(1, 12)] == ["utf-8"] * 11


@given(st.binary(max_size=60), st.sampled_from(["cp949", "utf-8"]))
def test_lines_stay_lines(raw, codec):
    lines = utf8_lines(raw, codec).split(b"\n")
    assert len(lines) == raw.count(b"\n") + 1
    for line, original in zip(lines, raw.split(b"\n"), strict=True):
        assert line == UNDECODABLE or line.decode("utf-8", "replace") == original.decode(codec, "replace")


def test_read_full_puts_short_reads_together():
    class Short(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 2))

    assert read_full(Short(b"abcdefg"), 5) == b"abcde"


@pytest.mark.parametrize("codec", ["cp949", "utf-16", "iso2022_kr", "utf-32", "utf-32-be"])
@pytest.mark.parametrize(
    ("name", "source"), [("a.jsonl", '{"text": "한글"}\n'), ("a.csv", 'text,n\n"한,글",1\n'), ("a.html", "<p>한글")]
)
def test_formats_in_other_encodings(tmp_path, codec, name, source):
    mark = "\ufeff" if codec == "utf-32-be" else ""
    (tmp_path / name).write_bytes((mark + source).encode(codec))
    assert [text.replace(",", "") for text in texts(read(tmp_path / name))] == ["한글"]


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("a.jsonl", '{"text": "첫째 글"}\n', '{"text": "둘째 글"}\n'),
        ("a.json", '[{"text": "첫째 글"}]\n', '[{"text": "둘째 글"}]\n'),
        ("a.txt", "첫째 글\n", "둘째 글\n"),
        ("a.csv", "text,n\n첫째 글,1\n", '"둘째 글",2\n'),
    ],
)
def test_a_mark_where_files_were_put_together_costs_no_record(tmp_path, name, first, second):
    (tmp_path / name).write_bytes(first.encode("utf-8-sig") + second.encode("utf-8-sig"))
    items = read(tmp_path / name)
    assert (texts(items), rejects(items)) == (["첫째 글", "둘째 글"], [])


@pytest.mark.parametrize("codec", ["utf-8", "cp949"])
@pytest.mark.parametrize("line", [0, 2, 2000])
def test_one_zero_costs_no_more_than_its_line_wherever_it_stands(tmp_path, codec, line):
    lines = [f"번호 {n}번 글은 서로 다른 내용을 담은 평범한 글입니다." for n in range(2100)]
    lines[line] = lines[line].replace("평범한", "\0")
    (tmp_path / "a.txt").write_bytes("\n".join(lines).encode(codec))
    documents = texts(read(tmp_path / "a.txt"))
    assert len(documents) >= 2099 and set(lines) - {lines[line]} <= set(documents)


@pytest.mark.parametrize("content", [b"\x7fELF\2\1\1" + bytes(9) + b"\n" * 3 + bytes(range(256)) * 9, b"\0\n\0\1"])
def test_binary_data_with_line_ends_is_no_text(tmp_path, content):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(DamagedInputError, match="is not text"):
        read(tmp_path / "a.txt")


SHIFTED = "기차는 안개 속을 지나갔다.\n번호는 7번이다.\n"


@pytest.mark.parametrize("read_bytes", [7, 64, 1 << 20])
def test_iso_2022_kr_is_told_by_its_mark(tmp_path, read_bytes):
    path = tmp_path / "mail.txt"
    path.write_bytes((SHIFTED * 20).encode("iso2022_kr"))
    assert path.read_bytes().startswith(b"\x1b$)C") and path.read_bytes().isascii()
    assert texts(read_in_pieces(path, 30, max(read_bytes, 60))) == SHIFTED.split("\n")[:2] * 20


def test_the_mark_may_stand_behind_the_head_of_a_mail(tmp_path):
    path = tmp_path / "mail.txt"
    path.write_bytes(b"Subject: letter\n\n" + SHIFTED.encode("iso2022_kr"))
    assert texts(read(path)) == ["Subject: letter", *SHIFTED.split("\n")[:2]]


@pytest.mark.parametrize("text", ["ESC $)C\n가", "\x1b$)C alone\n", "a\x0eb\n"])
def test_texts_that_look_alike_are_not_taken_for_it(tmp_path, text):
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    assert texts(read(tmp_path / "a.txt"))[0].startswith(text[:3])


JOHAB = "똠방각하는 펲시콜라를 마셨다.\n아이들은 저녁마다 동화책을 읽는다.\n"


def test_johab_is_told_where_nothing_else_fits(tmp_path):
    (tmp_path / "a.txt").write_bytes((JOHAB * 9).encode("johab"))
    assert texts(read(tmp_path / "a.txt")) == JOHAB.split("\n")[:2] * 9


@pytest.mark.parametrize("codec", ["johab", "iso-2022-kr", "utf-32"])
def test_converted_encodings_are_taken_as_declared(tmp_path, codec):
    (tmp_path / "a.csv").write_bytes('text,n\n"쉼표, 있다 {한}|\\",1\n'.encode(codec))
    assert texts(read(tmp_path / "a.csv", encoding=codec)) == ["쉼표, 있다 {한}|\\"]


@given(st.text(st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3), min_size=1, max_size=60))
def test_nothing_in_cp949_or_utf8_is_taken_for_johab(text):
    for codec, expected in (("cp949", "cp949"), ("utf-8", "utf-8")):
        assert content((text + "\n").encode(codec))[0] in (expected, "utf-8", "cp949")
        assert TextStream((text + "\n").encode(codec), io.BytesIO(), "auto").known_encoding in ("cp949", "utf-8")
