"""Shards: write, read, drop sentences, manifests, same bytes whatever the pieces."""

import hashlib
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import DiskFullError, HunminError, UserError
from data.shards import (
    SCHEMA,
    SHARDS,
    copies_of,
    drop_sentences,
    read_shard,
    read_shard_manifest,
    read_shards,
    shard_name,
    shard_paths,
    write_shard,
    write_shard_manifest,
)


def table(sentences: list[list[str]]) -> pa.Table:
    names = [str(number) for number in range(len(sentences))]
    return pa.table([names, ["s"] * len(names), [""] * len(names), sentences], schema=SCHEMA)


def test_round_trip_in_order_and_by_column(tmp_path):
    write_shard(tmp_path / SHARDS / shard_name(1), [table([["셋"]])])
    write_shard(tmp_path / SHARDS / shard_name(0), [table([["하나", "둘"]]), table([]), table([["또"]])])
    assert [path.name for path in shard_paths(tmp_path)] == ["shard-00000.parquet", "shard-00001.parquet"]
    batches = list(read_shards(tmp_path, ["sentences"]))
    assert [row for batch in batches for row in batch.column("sentences").to_pylist()] == [
        ["하나", "둘"],
        ["또"],
        ["셋"],
    ]
    assert batches[0].schema.names == ["sentences"]


@settings(max_examples=40)
@given(
    sentences=st.lists(st.lists(st.text("가나 다a\U0001f600", max_size=40), min_size=1, max_size=5), max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=6),
    group=st.sampled_from([1, 50, 300, 1 << 24]),
)
def test_same_rows_same_bytes_whatever_the_pieces(tmp_path_factory, sentences, cuts, group):
    folder = tmp_path_factory.mktemp("shards")
    whole = table(sentences)
    borders = [0, *sorted(min(cut, len(sentences)) for cut in cuts), len(sentences)]
    # pieces as they come: slices of a larger table, filtered ones, and several chunks
    padded = pa.concat_tables([table([["앞", "앞"]]), whole, table([["뒤"]])])
    pieces = [padded.slice(1 + first, last - first) for first, last in itertools.pairwise(borders)]
    pieces[0] = pieces[0].filter(pa.array([True] * pieces[0].num_rows, pa.bool_()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("data.shards.ROW_GROUP_BYTES", group)
        write_shard(folder / "a", [whole])
        write_shard(folder / "b", iter(pieces))
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()
    rows = [row for batch in read_shard(folder / "a") for row in batch.to_pylist()]
    assert rows == whole.to_pylist()
    sizes = [sum(len(s.encode()) for s in row["sentences"]) for row in rows]
    with pq.ParquetFile(folder / "a") as file:
        at = 0
        for number in range(file.num_row_groups):
            sizes_of_group = sizes[at : at + file.metadata.row_group(number).num_rows]
            at += len(sizes_of_group)
            assert sum(sizes_of_group[:-1]) < group  # no group is longer than it must be
            assert sum(sizes_of_group) >= group or number == file.num_row_groups - 1
    assert at == len(rows)


def test_an_empty_shard_and_a_document_larger_than_a_group(tmp_path, monkeypatch):
    write_shard(tmp_path / "a", [])
    assert list(read_shard(tmp_path / "a")) == []
    monkeypatch.setattr("data.shards.ROW_GROUP_BYTES", 100)
    write_shard(tmp_path / "b", [table([["가"], ["나" * 1000, "다"], ["라"]])])
    assert [batch.num_rows for batch in read_shard(tmp_path / "b")] == [2, 1]


def test_memory_is_bounded_by_the_row_group_not_by_the_shard(tmp_path):
    """200 MB of text that compresses to nothing: the writer must not hold it."""
    program = (
        "import resource, sys, pyarrow as pa; from pathlib import Path; from data.shards import SCHEMA, write_shard\n"
        "def piece():\n"
        "    return pa.table([['i'] * 100, ['s'] * 100, [''] * 100, [['가' * 3333] * 10] * 100], schema=SCHEMA)\n"
        "write_shard(Path(sys.argv[1]), (piece() for _ in range(2)))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "write_shard(Path(sys.argv[1]), (piece() for _ in range(20)))\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "a")]
    root = Path(__file__).resolve().parents[2]
    run = subprocess.run(command, capture_output=True, text=True, cwd=root, check=True)
    assert float(run.stdout) < 150


def test_an_interrupted_shard_leaves_nothing(tmp_path):
    def pieces():
        yield table([["가"]])
        raise DiskFullError("the disk is full")

    with pytest.raises(DiskFullError):
        write_shard(tmp_path / "a", pieces())
    assert list(tmp_path.iterdir()) == []


def test_drop_sentences_and_documents_left_empty():
    left = drop_sentences(table([["가", "나"], ["다"], ["라"]]), np.array([False, True, False, True]))
    assert left.column("sentences").to_pylist() == [["나"], ["라"]]
    assert left.column("id").to_pylist() == ["0", "2"]


def test_the_manifest_says_what_the_shard_is(tmp_path):
    shard = tmp_path / SHARDS / shard_name(0)
    write_shard(shard, [table([["하나"]])])
    write_shard_manifest(shard, {"total": {"documents": 1}})
    assert [path.name for path in shard_paths(tmp_path)] == ["shard-00000.parquet"]
    data = shard.read_bytes()
    assert read_shard_manifest(shard) == {
        "file": "shard-00000.parquet",
        "sha256": hashlib.sha256(data).hexdigest(),
        "file_bytes": len(data),
        "total": {"documents": 1},
    }
    before = (shard.parent / "shard-00000.json").read_bytes()
    write_shard_manifest(shard, {"total": {"documents": 1}})
    assert (shard.parent / "shard-00000.json").read_bytes() == before
    assert orjson.loads(before)
    (shard.parent / "shard-00000.json").write_text("{")
    with pytest.raises(HunminError, match="a manifest lies beside each shard"):
        read_shard_manifest(shard)


@pytest.mark.parametrize(("facts", "copies"), [({}, 1), ({"copies": 0}, 0), ({"copies": 1}, 1), ({"copies": 3}, 3)])
def test_a_shard_comes_as_often_as_its_manifest_says_else_once(facts, copies, tmp_path):
    write_shard(tmp_path / "a.parquet", [])
    write_shard_manifest(tmp_path / "a.parquet", facts)
    assert copies_of(tmp_path / "a.parquet") == copies


def test_missing_and_damaged(tmp_path):
    with pytest.raises(UserError, match="no text shards"):
        shard_paths(tmp_path)
    (tmp_path / SHARDS).mkdir()
    (tmp_path / SHARDS / shard_name(0)).write_bytes(b"PAR1 nonsense")
    with pytest.raises(HunminError, match="cannot read"):
        list(read_shards(tmp_path))
