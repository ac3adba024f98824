"""The whole stage: what comes out, resume, same bytes for any workers, and every kind of bad input."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import zstandard
from pydantic import ValidationError

from common.errors import DiskFullError, HunminError, UserError
from common.files import atomic_write
from common.manifest import describe_outputs
from data.executors.failures import WorkFailed
from data.settings import CorpusSettings
from data.statistics.report import check_counts
from data.units import work as units

from .building import KEY, build, parts, prose, rows, settings, stop_before_the_shards, texts, write_files


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    lines = [json.dumps({"id": f"a{n}", "text": text, "licence": "CC0"}) for n, text in enumerate(prose(400, 1))]
    text = "\n".join([*prose(300, 2), *prose(50, 2), "연락처는 010-1234-5678 입니다. 곧 뵙겠습니다."]).encode()
    return write_files(tmp_path / "in", {"a.jsonl": lines, "b.txt.zst": zstandard.ZstdCompressor().compress(text)})


def test_documents_come_out_in_input_order_clean_and_distinct(corpora, tmp_path):
    counts = build(settings(corpora), tmp_path / "out")
    docs = rows(tmp_path / "out")
    assert counts["documents"] == len(docs) == 701
    assert (counts["duplicates"]["documents"], counts["duplicates"]["sentences"]) == (50, 0)
    assert docs[0] == {"id": "a0", "source": "a", "licence": "CC0", "sentences": ["31번 사람은 0번 골목으로 갔다."]}
    assert [row["id"] for row in docs[400:402]] == ["b-1", "b-2"]
    assert docs[-1]["id"] == "b-351"
    assert len(docs[-1]["sentences"]) == 2
    assert counts["shards"] > 1
    assert counts["sentences"] == sum(len(row["sentences"]) for row in docs)
    statistics = json.loads((tmp_path / "out/statistics.json").read_text())
    assert statistics["pii"] == json.loads((tmp_path / "out/pii.json").read_text()) == {"TEL": 1}
    assert statistics["sources"]["b"]["read"]["documents"] == 351
    assert statistics["sources"]["b"]["kept"]["documents"] == 301
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {path.relative_to(tmp_path / "out").parts[0] for path in files} == {
        *("shards", "statistics.json", "rejects", "hits.jsonl", "pii.json", "duplicates.jsonl", "README.md")
    }
    assert all(b"010-1234-5678" not in path.read_bytes() for path in files)
    assert not any("010-1234-5678" in text for text in texts(tmp_path / "out", "b"))


@pytest.mark.slow
def test_same_bytes_from_one_and_two_workers_and_any_unit_size(corpora, tmp_path):
    line = "이 줄은 여러 글에 똑같이 거듭해서 나오고, 쉰 글자가 넘을 만큼 길게 이어져서 문단 하나로 비교합니다."
    texts = [f"{text}\n{line}\n{line} {n}째로 쓴 줄." for n, text in enumerate(prose(20, 3))]
    (corpora / "c.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    kinds = {"near": True, "paragraphs": True, "sentences": True}
    build(settings(corpora, deduplicate=kinds), tmp_path / "one")
    build(settings(corpora, deduplicate=kinds, workers=2), tmp_path / "two")
    counts = build(settings(corpora, deduplicate=kinds, unit_mb=1), tmp_path / "big")["duplicates"]
    assert min(counts["documents"], counts["near"], counts["paragraphs"], counts["sentences"]) > 0
    assert (
        describe_outputs(tmp_path / "one") == describe_outputs(tmp_path / "two") == describe_outputs(tmp_path / "big")
    )


def test_benchmark_sentences_go_even_where_they_hold_personal_data(tmp_path):
    (tmp_path / "in").mkdir()
    hidden = "문의는 담당 직원 전화 010-9876-5432 번으로 언제든지 주시기 바랍니다."
    plain = "어제 저녁 작은 마을 도서관 앞에서 즐거운 음악회가 열렸다."
    (tmp_path / "in/a.txt").write_text(f"앞 문장이 있다. {hidden} 뒤 문장이 있다.\n{plain}\n", encoding="utf-8")
    lines = [json.dumps({"task": "toy", "guid": f"g{n}", "text": text}) for n, text in enumerate((hidden, plain))]
    (tmp_path / "bench.jsonl").write_text("\n".join(lines), encoding="utf-8")
    chosen = settings(tmp_path / "in", decontaminate={"benchmark": str(tmp_path / "bench.jsonl")})
    counts = build(chosen, tmp_path / "out")
    assert [row["sentences"] for row in rows(tmp_path / "out")] == [["앞 문장이 있다.", "뒤 문장이 있다."]]
    hits = [json.loads(line) for line in (tmp_path / "out/hits.jsonl").read_text().splitlines()]
    assert [(hit["id"], hit["sentence"], hit["task"], hit["benchmark_guid"]) for hit in hits] == [
        ("a-1", 1, "toy", "g0"),
        ("a-2", 0, "toy", "g1"),
    ]
    keys = {"id", "sentence", "task", "benchmark_guid", "score", "rule", "text", "benchmark_text"}
    assert all(set(hit) == keys for hit in hits)
    assert hits[1]["text"] == hits[1]["benchmark_text"] == plain
    assert hits[0]["text"] == hits[0]["benchmark_text"] != hidden
    before, after = hidden.split("010-9876-5432")
    assert hits[0]["text"].startswith(before) and hits[0]["text"].endswith(after)
    assert all(b"010-9876-5432" not in path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert counts["benchmark_sentences"] == 2


def test_hits_tell_both_texts_of_a_changed_copy_and_neither_holds_personal_data(tmp_path):
    benchmark = (
        "어제 저녁 담당 직원은 전화 010-9876-5432 번으로 작은 마을 도서관의 음악회 소식을 이웃 주민과 학교 선생님과 "
        "학생에게 널리 알렸고, 행사가 끝난 뒤에는 참석한 사람들의 감상을 모아 조그만 책으로 엮어 나누어 주었다고 한다."
    )
    copy = benchmark.replace("어제 저녁", "오늘 아침").replace("010-9876-5432", "010-2468-1357")
    (tmp_path / "a.txt").write_text(f"{copy}\n", encoding="utf-8")
    (tmp_path / "bench.jsonl").write_text(json.dumps({"task": "toy", "guid": "g", "text": benchmark}), encoding="utf-8")
    other = tmp_path / "b.txt"
    other.write_text("이 글은 남아 있어야 하는 글입니다.\n", encoding="utf-8")
    inputs = [str(tmp_path / "a.txt"), str(other)]
    changes = {"benchmark": str(tmp_path / "bench.jsonl")}
    build(settings(*inputs, decontaminate=changes), tmp_path / "out")
    (hit,) = [json.loads(line) for line in (tmp_path / "out/hits.jsonl").read_text().splitlines()]
    assert hit["text"].startswith("오늘 아침 담당") and hit["benchmark_text"].startswith("어제 저녁 담당")
    assert "010-2468-1357" not in hit["text"] and "010-9876-5432" not in hit["benchmark_text"]
    keep = {"pii": {"enabled": False}, "decontaminate": changes}
    build(settings(*inputs, **keep), tmp_path / "raw")
    (hit,) = [json.loads(line) for line in (tmp_path / "raw/hits.jsonl").read_text().splitlines()]
    assert (hit["text"], hit["benchmark_text"]) == (copy, benchmark)


def test_source_rules_replace_the_common_ones(tmp_path):
    (tmp_path / "a.txt").write_text("짧은 글이다. 이 글은 앞의 글보다 훨씬 더 깁니다.\n", encoding="utf-8")
    source = {"path": str(tmp_path / "a.txt"), "name": "web", "clean": {"min_sentence_chars": 15}}
    build(settings(source), tmp_path / "out")
    assert [row["sentences"] for row in rows(tmp_path / "out")] == [["이 글은 앞의 글보다 훨씬 더 깁니다."]]


def test_rejects_are_set_aside_without_text(corpora, tmp_path):
    with (corpora / "a.jsonl").open("ab") as stream:
        stream.write(b'\n{"text": 1}\nsecret words\n{"text": "\xff"}\n')
    build(settings(corpora), tmp_path / "out")
    rejects = [json.loads(line) for line in (tmp_path / "out/rejects/rejects.jsonl").read_text().splitlines()]
    assert rejects == [
        {"source": "a", "file": "a.jsonl", "line": 401, "reason": "text is not a string"},
        {"source": "a", "file": "a.jsonl", "line": 402, "reason": "not JSON"},
        {"source": "a", "file": "a.jsonl", "line": 403, "reason": "not UTF-8"},
    ]


def test_rejects_may_have_just_their_share_of_the_lines():
    counts = {"read": {"a": {"documents": 6}, "b": {"documents": 3}}, "rejects": {"not JSON": 1}}
    check_counts(counts, 0.1, Path("rejects.jsonl"))
    with pytest.raises(HunminError, match="1 of 10 lines hold no document"):
        check_counts(counts, 0.099, Path("rejects.jsonl"))


def test_too_many_rejects_fail_the_run_with_counts_and_path(corpora, tmp_path):
    path = corpora / "a.jsonl"
    path.write_bytes(b'{"id": 0, "body": "a first line that has the field"}\n' + path.read_bytes())
    source = {"path": str(path), "text_field": "body"}
    with pytest.raises(HunminError, match=r"400 of 401 lines .*no field 'body': 400") as caught:
        build(settings(source), tmp_path / "out")
    assert "rejects.jsonl" in str(caught.value)
    assert (tmp_path / "out/rejects/rejects.jsonl").read_text().count("\n") == 400


def test_missing_path_empty_corpus_and_nothing_left(tmp_path):
    with pytest.raises(UserError, match="nothing found at"):
        build(settings(tmp_path / "nowhere"), tmp_path / "o1")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.txt").write_text("\n \n")
    with pytest.raises(UserError, match="the corpus is empty"):
        build(settings(tmp_path / "in"), tmp_path / "o2")
    (tmp_path / "in/a.txt").write_text("only English here\n")
    with pytest.raises(UserError, match=r"nothing is left .*1 documents read.*no sentence after cleaning: 1"):
        build(settings(tmp_path / "in"), tmp_path / "o3")


def test_truncated_archive_leaves_finished_units(corpora, tmp_path, monkeypatch):
    whole = (corpora / "b.txt.zst").read_bytes()
    (corpora / "b.txt.zst").write_bytes(whole[: len(whole) // 2])
    (corpora / "c.txt.gz").write_bytes(b"\x1f\x8b\x08 broken")
    with pytest.raises(HunminError, match="2 of 3 inputs are damaged") as caught:
        build(settings(corpora), tmp_path / "out")
    for said in ("b.txt.zst", "c.txt.gz", "max_bad_file_share = 5.0% allows 1 of 3"):
        assert said in str(caught.value)
    (corpora / "c.txt.gz").unlink()
    finished = parts(tmp_path / "out")
    assert finished
    (corpora / "b.txt.zst").write_bytes(whole)
    monkeypatch.setattr("data.corpus.shutil.rmtree", lambda *a, **k: None)
    assert build(settings(corpora), tmp_path / "out")["documents"] == 701
    assert finished.items() <= parts(tmp_path / "out").items()


def test_without_a_benchmark_nothing_is_decontaminated_and_that_is_said(corpora, tmp_path, capsys):
    counts = build(settings(corpora, decontaminate={}), tmp_path / "out")
    assert counts["documents"] > 0 and counts["benchmark_sentences"] == 0
    assert "nothing is decontaminated" in " ".join(capsys.readouterr().err.split())


def test_a_document_of_5_mb_in_one_line(tmp_path):
    (tmp_path / "in").mkdir()
    text = "가나다라 " * 100_000 + "가" * 1_200_000
    (tmp_path / "in/a.jsonl").write_text(json.dumps({"text": text}, ensure_ascii=False), encoding="utf-8")
    assert (tmp_path / "in/a.jsonl").stat().st_size > 4_500_000
    build(settings(tmp_path / "in", clean={"max_word_chars": None}), tmp_path / "out")
    assert "".join(rows(tmp_path / "out")[0]["sentences"]) == text


def test_full_disk_keeps_finished_units_and_the_next_run_goes_on(corpora, tmp_path, monkeypatch):
    build(settings(corpora), tmp_path / "whole")
    written = []

    def failing(path, table, rows, level):
        if len(written) == 2:
            with atomic_write(path, "wb"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(path)
        original(path, table, rows, level)

    original = units.write_table
    monkeypatch.setattr(units, "write_table", failing)
    with pytest.raises(DiskFullError, match="the disk is full"):
        build(settings(corpora), tmp_path / "out")
    monkeypatch.setattr(units, "write_table", original)
    finished = parts(tmp_path / "out")
    assert sorted(finished) == sorted(path.name for path in written)
    monkeypatch.setattr("data.corpus.shutil.rmtree", lambda *a, **k: None)
    build(settings(corpora), tmp_path / "out")
    assert finished.items() <= parts(tmp_path / "out").items()
    assert describe_outputs(tmp_path / "out") == describe_outputs(tmp_path / "whole")


def test_leftovers_of_another_key_are_not_taken_up(corpora, tmp_path):
    build(settings(corpora, pii={"key": KEY[::-1]}), tmp_path / "whole")
    (corpora / "c.txt.gz").write_bytes(b"\x1f\x8b\x08 broken")
    with pytest.raises(HunminError):
        build(settings(corpora, max_bad_file_share=0), tmp_path / "out")
    (corpora / "c.txt.gz").unlink()
    build(settings(corpora, pii={"key": KEY[::-1]}), tmp_path / "out")
    assert describe_outputs(tmp_path / "out") == describe_outputs(tmp_path / "whole")


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_bytes(corpora, tmp_path):
    kinds = {"near": True, "paragraphs": True, "sentences": True}
    chosen = settings(corpora, deduplicate=kinds, mixture={"alpha": 0.3, "held_out": 0.1}, filters=[{"length": {}}])
    documents = build(chosen, tmp_path / "whole")["documents"]
    out = tmp_path / "out"
    out.mkdir()
    program = (
        "import sys, time; from pathlib import Path\n"
        "from data.units import work as units; from data.corpus import CorpusSettings, build_corpus\n"
        "write = units.write_table\n"
        "units.write_table = lambda *a, **k: (time.sleep(0.1), write(*a, **k))  # time enough to be killed in\n"
        "if __name__ == '__main__':\n"
        "    build_corpus(CorpusSettings.model_validate_json(sys.argv[1]), Path(sys.argv[2]))\n"
    )
    script = tmp_path / "program.py"
    script.write_text(program)
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, str(script), chosen.model_dump_json(), str(out)]
    environment = {**os.environ, "PYTHONPATH": str(root), "HUNMIN_PII_KEY": KEY}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(list(out.glob(".work/*/*.parquet"))) < 2:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / "statistics.json").exists()
    build(chosen, out)
    assert describe_outputs(out) == describe_outputs(tmp_path / "whole")
    assert build(chosen, out)["documents"] == documents < 701


def test_resume_goes_by_content_not_by_order_or_folder(corpora, tmp_path, monkeypatch):
    before = stop_before_the_shards(settings(corpora), tmp_path / "out", monkeypatch)
    moved = tmp_path / "elsewhere"
    corpora.rename(moved)
    (moved / "0.txt").write_text("\n".join(prose(60, 5)), encoding="utf-8")
    chosen = settings(*(moved / name for name in ("b.txt.zst", "0.txt", "a.jsonl")))
    after = stop_before_the_shards(chosen, tmp_path / "out", monkeypatch)
    assert before.items() <= after.items() and len(after) == len(before) + 1
    build(chosen, tmp_path / "out")
    build(chosen, tmp_path / "whole")
    assert describe_outputs(tmp_path / "out") == describe_outputs(tmp_path / "whole")


@pytest.mark.parametrize("settled", [True, False])
def test_a_changed_file_is_done_again_where_it_changed_and_nothing_stale_stays(corpora, tmp_path, monkeypatch, settled):
    monkeypatch.setattr("data.readers.volume.SETTLED_SECONDS", -1.0 if settled else 1e9)
    before = stop_before_the_shards(settings(corpora), tmp_path / "out", monkeypatch)
    facts, text = (corpora / "a.jsonl").stat(), (corpora / "a.jsonl").read_text()
    changed = "CC9".join(text.rsplit("CC0", 1))
    (corpora / "a.jsonl").write_text(changed)  # as long as before, at the same time as before
    os.utime(corpora / "a.jsonl", ns=(facts.st_atime_ns, facts.st_mtime_ns))
    after = stop_before_the_shards(settings(corpora), tmp_path / "out", monkeypatch)
    assert before.items() <= after.items() and 0 < len(after) - len(before) < len(before) / 2
    build(settings(corpora), tmp_path / "out")
    build(settings(corpora), tmp_path / "whole")
    assert describe_outputs(tmp_path / "out") == describe_outputs(tmp_path / "whole")
    assert [row["id"] for row in rows(tmp_path / "out") if row["licence"] == "CC9"] == ["a399"]


def test_a_file_that_went_leaves_nothing_behind(corpora, tmp_path, monkeypatch):
    (corpora / "c.txt").write_text("\n".join(prose(200, 9)), encoding="utf-8")
    build(settings(corpora, shard_mb=0.02), tmp_path / "out")
    (tmp_path / "out/statistics.json").unlink()
    stop_before_the_shards(settings(corpora, shard_mb=0.02), tmp_path / "out", monkeypatch)
    (corpora / "c.txt").unlink()
    build(settings(corpora, shard_mb=0.02), tmp_path / "out")
    build(settings(corpora, shard_mb=0.02), tmp_path / "whole")
    assert describe_outputs(tmp_path / "out") == describe_outputs(tmp_path / "whole")


def test_the_same_content_twice_is_two_sets_of_documents(tmp_path, monkeypatch):
    for name in ("x/a.txt", "y/a.txt", "y/b.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("첫 문장이 있다.\n둘째 문장이 있다.\n", encoding="utf-8")
    inputs, changes = (tmp_path / "x", tmp_path / "y"), {"deduplicate": {"documents": False}}
    assert len(stop_before_the_shards(settings(*inputs, **changes, workers=2), tmp_path / "out", monkeypatch)) == 3
    build(settings(*inputs, **changes), tmp_path / "out")
    assert [row["id"] for row in rows(tmp_path / "out")] == ["x/a-1", "x/a-2", "y/a-1", "y/a-2", "b-1", "b-2"]


def test_finished_files_are_not_read_again(corpora, tmp_path, monkeypatch):
    monkeypatch.setattr("data.readers.volume.SETTLED_SECONDS", -1.0)
    stop_before_the_shards(settings(corpora), tmp_path / "out", monkeypatch)

    def refuse(*_):
        raise AssertionError("read again")

    monkeypatch.setattr("data.units.catalog.read_blocks", refuse)
    assert build(settings(corpora), tmp_path / "out")["documents"] == 701


@pytest.mark.parametrize(("content", "name", "refused"), [
    ('{"text": "글이 있다."}', None, True),
    ('{"text": "글이 있다."}', "곳", False),
    ('{"text": "글이 있다.", "source": "한 곳"}', None, False),
])  # fmt: skip
def test_more_unnamed_files_than_sources_are_refused_before_any_work(content, name, refused, tmp_path, monkeypatch):
    monkeypatch.setattr("data.units.work.MOST_SOURCES", 5)
    (tmp_path / "in").mkdir()
    for number in range(8):
        (tmp_path / f"in/{number}.jsonl").write_text(content, encoding="utf-8")
    chosen = settings({"path": str(tmp_path / "in"), "name": name})
    if refused:
        with pytest.raises(UserError, match="8 files have no `name`"):
            build(chosen, tmp_path / "out")
        assert not (tmp_path / "out/.work").exists()
    else:
        assert build(chosen, tmp_path / "out")["documents"] == 1


@pytest.mark.parametrize("unit_mb", [0.02, 100])
def test_a_source_for_each_document_is_refused(unit_mb, tmp_path, monkeypatch):
    """Figures of each source are kept in memory and written into every manifest: a URL a document would fill both."""
    monkeypatch.setattr("data.units.work.MOST_SOURCES", 300)
    lines = [json.dumps({"text": text, "source": f"곳 {n}"}) for n, text in enumerate(prose(400, 1))]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(UserError, match="more than 300 sources"):
        build(settings(tmp_path / "a.jsonl", unit_mb=unit_mb), tmp_path / "out")
    build(settings({"path": str(tmp_path / "a.jsonl"), "name": "곳"}), tmp_path / "out2")


@pytest.mark.parametrize("key", ["shard_mb", "unit_mb"])
@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1e-9, 0.0])
def test_sizes_are_sizes(key, value):
    with pytest.raises(ValidationError):
        CorpusSettings.model_validate({"inputs": ["a"], key: value})


def test_a_fault_in_one_unit_names_it_and_loses_no_other(corpora, tmp_path, monkeypatch):
    original = units.UnitState.process

    def fragile(self, documents, rules):
        if documents[0].id == "b-1":
            raise ValueError(documents[0].text)
        return original(self, documents, rules)

    monkeypatch.setattr(units.UnitState, "process", fragile)
    with pytest.raises(WorkFailed, match=r"b\.txt\.zst from line 1 .*ValueError") as caught:
        build(settings(corpora), tmp_path / "out")
    assert "번 사람은" not in str(caught.value)
    finished = parts(tmp_path / "out")
    monkeypatch.setattr(units.UnitState, "process", original)
    monkeypatch.setattr("data.corpus.shutil.rmtree", lambda *a, **k: None)
    build(settings(corpora), tmp_path / "out")
    assert len(parts(tmp_path / "out")) == len(finished) + 1
