"""Shards: write, read, drop sentences, same bytes."""

import numpy as np
import pyarrow as pa
import pytest

from common.errors import HunminError, UserError
from data.shards import SCHEMA, SHARDS, drop_sentences, read_shards, shard_name, shard_paths, write_shard


def table(sentences: list[list[str]]) -> pa.Table:
    names = [str(number) for number in range(len(sentences))]
    return pa.table([names, ["s"] * len(names), [""] * len(names), sentences], schema=SCHEMA)


def test_round_trip_in_order_and_by_column(tmp_path):
    write_shard(tmp_path / SHARDS / shard_name(1), table([["셋"]]))
    write_shard(tmp_path / SHARDS / shard_name(0), table([["하나", "둘"], ["또"]]))
    assert [path.name for path in shard_paths(tmp_path)] == ["shard-00000.parquet", "shard-00001.parquet"]
    batches = list(read_shards(tmp_path, ["sentences"]))
    assert [row for batch in batches for row in batch.column("sentences").to_pylist()] == [
        ["하나", "둘"],
        ["또"],
        ["셋"],
    ]
    assert batches[0].schema.names == ["sentences"]


def test_same_rows_same_bytes_whatever_the_chunks(tmp_path):
    rows = [["가"], ["나", "다"], ["라"]]
    write_shard(tmp_path / "a", table(rows))
    write_shard(tmp_path / "b", pa.concat_tables([table(rows).slice(0, 1), table(rows).slice(1)]))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_row_groups_bound_what_is_read_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("data.shards.ROW_GROUP_BYTES", 200)
    write_shard(tmp_path / SHARDS / shard_name(0), table([["가" * 20]] * 10))
    assert len(list(read_shards(tmp_path))) > 2


def test_drop_sentences_and_documents_left_empty():
    kept = drop_sentences(table([["가", "나"], ["다"], ["라"]]), np.array([False, True, False, True]))
    assert kept.column("sentences").to_pylist() == [["나"], ["라"]]
    assert kept.column("id").to_pylist() == ["0", "2"]


def test_missing_and_damaged(tmp_path):
    with pytest.raises(UserError, match="no text shards"):
        shard_paths(tmp_path)
    (tmp_path / SHARDS).mkdir()
    (tmp_path / SHARDS / shard_name(0)).write_bytes(b"PAR1 nonsense")
    with pytest.raises(HunminError, match="cannot read"):
        list(read_shards(tmp_path))
