"""A unit: its part, its side file, and that the part comes last."""

import subprocess
import sys

import orjson
import pyarrow.parquet as pq
import pytest

from data.cleaning.settings import CleanSettings
from data.deduplicate.settings import DeduplicateSettings
from data.readers.records import Block, InputFile
from data.readers.settings import SourceSettings
from data.units.work import PART_SCHEMA, UnitDone, UnitTask, UnitWork, part_path


def work(folder, key=b"k" * 16) -> UnitWork:
    return UnitWork(folder, CleanSettings(), None, key, ("TEL", "EMAIL"), DeduplicateSettings())


def task(data: bytes) -> UnitTask:
    return UnitTask(InputFile("/in/a.txt", "a", SourceSettings(path="/in/a.txt")), "text", Block(7, 11, data), "0a1b")


def test_part_and_side_file(tmp_path):
    data = "첫 문장이다. 둘째 문장이다.\n\xff\n전화 010-1234-5678 주세요.\nonly English\n".encode().replace(
        b"\xc3\xbf", b"\xff"
    )
    assert work(tmp_path)(task(data)) == UnitDone(len(data), 1, [])
    path = part_path(tmp_path, "0a1b")
    assert path.name == "part-0a1b.parquet"
    table = pq.read_table(path)
    assert table.schema == PART_SCHEMA
    assert table.column("id").to_pylist() == ["a-11", "a-13"]
    assert table.column("sentences").to_pylist()[0] == ["첫 문장이다.", "둘째 문장이다."]
    assert table.column("bytes").to_pylist() == [
        sum(len(sentence.encode()) for sentence in row) for row in table.column("sentences").to_pylist()
    ]
    side = orjson.loads(path.with_suffix(".json").read_bytes())
    assert side["rejects"] == [{"source": "a", "file": "a.txt", "line": 12, "reason": "not UTF-8"}]
    assert side["counts"]["read"]["a"]["documents"] == 3
    assert side["counts"]["split"] == 4
    assert side["counts"]["pii"] == {"TEL": 1}
    assert side["counts"]["dropped"] == {"no sentence after cleaning": 1}
    assert b"1234-5678" not in path.read_bytes() + path.with_suffix(".json").read_bytes()


def test_a_unit_that_fails_leaves_no_part(tmp_path, monkeypatch):
    monkeypatch.setattr("data.units.work.orjson.dumps", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        work(tmp_path)(task(b"x\n"))
    assert list(tmp_path.iterdir()) == []


def test_the_name_says_file_and_line_and_the_key_stays_secret(tmp_path):
    assert task(b"abc").name == "/in/a.txt from line 11 (3 bytes)"
    assert "kkkk" not in repr(work(tmp_path))


def test_what_is_loaded_before_the_processes_are_forked_has_the_filters_compiled() -> None:
    program = (
        "import data.units.warm\n"
        "from data.filters import base, language, repetition, symbols\n"
        "for module in (base, language, repetition, symbols):\n"
        "    for name, one in vars(module).items():\n"
        "        if hasattr(one, 'signatures') and one.__module__ == module.__name__ and name.startswith('_'):\n"
        "            print(module.__name__, name, len(one.signatures))\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    compiled = {name: int(count) for _, name, count in map(str.split, said.splitlines())}
    called = ("_find_words", "_find_lines", "_language", "_duplicate_lines", "_ngrams", "_runs", "_symbols", "_lines")
    assert all(compiled[name] > 0 for name in called), said
