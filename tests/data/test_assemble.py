"""Assembly: which rows go to which shard, for any number of workers and after a stop."""

from pathlib import Path

import pyarrow as pa
import pytest

from data.assemble import assemble
from data.deduplicate import DeduplicateSettings, keys_of
from data.shards import read_shards, shard_paths, write_table
from data.units import PART_SCHEMA


def write_part(path: Path, texts: list[str]) -> Path:
    keys = keys_of(texts)
    sizes = [len(text.encode()) for text in texts]
    columns = [texts, ["s"] * len(texts), [""] * len(texts), [[text] for text in texts], keys["high"], keys["low"]]
    write_table(path, pa.table([*columns, sizes], schema=PART_SCHEMA), 100, 1)
    return path


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    contents = [["aaaa", "bbbb", "aaaa"], [], ["aaaa", "cccc"], ["dddd", "eeee", "ffff"]]
    return [write_part(tmp_path / f"part-{number}.parquet", texts) for number, texts in enumerate(contents)]


@pytest.mark.parametrize("workers", [1, 2])
def test_shards_are_cut_by_bytes_in_input_order(tmp_path, parts, workers):
    made = assemble(parts, tmp_path / "out", tmp_path, DeduplicateSettings(), 8e-6, workers)
    assert made.shards == len(shard_paths(tmp_path / "out")) == 3
    assert made.duplicates == {"documents": 2, "sentences": 0}
    assert made.statistics["sources"]["s"]["bytes"] == 24
    ids = [batch.column("id").to_pylist() for batch in read_shards(tmp_path / "out")]
    assert ids == [["aaaa", "bbbb"], ["cccc", "dddd"], ["eeee", "ffff"]]


def test_duplicates_stay_where_the_rule_is_off(tmp_path, parts):
    made = assemble(parts, tmp_path / "out", tmp_path, DeduplicateSettings(documents=False), 1, 1)
    assert (made.shards, made.duplicates["documents"], made.statistics["sources"]["s"]["documents"]) == (1, 0, 8)


def test_finished_shards_are_not_written_again(tmp_path, parts):
    first = assemble(parts, tmp_path / "out", tmp_path, DeduplicateSettings(), 8e-6, 1)
    shards = shard_paths(tmp_path / "out")
    shards[1].unlink()
    before = [path.stat().st_mtime_ns for path in (shards[0], shards[2])]
    assert assemble(parts, tmp_path / "out", tmp_path, DeduplicateSettings(), 8e-6, 1) == first
    assert before == [path.stat().st_mtime_ns for path in (shards[0], shards[2])]
    assert shards[1].exists()


def test_nothing_to_assemble(tmp_path):
    made = assemble([], tmp_path / "out", tmp_path, DeduplicateSettings(), 1, 2)
    assert (made.shards, made.statistics) == (0, {"lengths": {}, "sources": {}})
