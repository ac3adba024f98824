"""Parquet: ranges of rows, only the columns needed, other types of text, damage."""

import gzip
import sqlite3

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common.errors import UserError
from data.readers.formats import parse_block, read_blocks
from data.readers.paths import list_files
from data.readers.records import Document
from data.readers.settings import SourceSettings

from .reading import read, rejects, skipped, texts


def write(path, table, **more):
    pq.write_table(pa.table(table), path, **more)
    return path


def test_rows_are_documents(tmp_path):
    path = write(
        tmp_path / "a.parquet", {"id": [3, 4], "text": ["하나", "둘"], "licence": ["CC0", None], "x": [b"", b""]}
    )
    assert read(path) == [Document("3", "a", "CC0", "하나"), Document("4", "a", "", "둘")]


def test_blocks_are_whole_row_groups(tmp_path):
    """In pieces a row group would be decoded once a piece, from its beginning."""
    path = write(tmp_path / "a.parquet", {"text": [f"글 {n}" * 50 for n in range(300)]}, row_group_size=100)
    [file] = list_files([SourceSettings(path=str(path))])
    few, many = (list(read_blocks(file, size)) for size in (1 << 30, 2_000))
    assert [block.first_line for _, block in few] == [1]
    assert [block.first_line for _, block in many] == [1, 101, 201]
    assert sum(block.size for _, block in few) == sum(block.size for _, block in many) > 0


def test_a_large_row_group_is_decoded_once(tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet", {"text": [f"{n}번 글" for n in range(20_000)]}, row_group_size=20_000)
    [file] = list_files([SourceSettings(path=str(path))])
    decoded = []
    real = pq.ParquetFile.iter_batches

    def counting(self, *arguments, **options):
        for batch in real(self, *arguments, **options):
            decoded.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counting)
    items = [item for format, block in read_blocks(file, 2_000) for item in parse_block(file, format, block)]
    assert texts(items) == [f"{n}번 글" for n in range(20_000)]
    assert sum(decoded) == 20_000


def test_nested_binary_dictionary_and_missing_text(tmp_path):
    path = write(tmp_path / "a.parquet", {"body": pa.array([{"text": "안쪽"}, {"text": None}])})
    assert (
        texts(read(path, text_field="body.text")) == ["안쪽"] and len(skipped(read(path, text_field="body.text"))) == 1
    )
    path = write(tmp_path / "b.parquet", {"text": pa.array([b"\xea\xb0\x80", b"\xff", "나".encode()], pa.binary())})
    assert texts(read(path)) == ["가", "나"] and rejects(read(path)) == [(2, "not UTF-8")]
    path = write(tmp_path / "c.parquet", {"text": pa.array(["a", "b", "a"]).dictionary_encode()})
    assert texts(read(path)) == ["a", "b", "a"]
    broken = pa.StringArray.from_buffers(
        2, pa.py_buffer(b"\0\0\0\0\1\0\0\0\4\0\0\0"), pa.py_buffer(b"\xff\xea\xb0\x80")
    )
    path = write(tmp_path / "e.parquet", {"text": broken})
    assert texts(read(path)) == ["가"] and rejects(read(path)) == [(1, "not UTF-8")]
    path = write(tmp_path / "d.parquet", {"text": [1, 2]})
    assert rejects(read(path)) == [(1, "text is not a string"), (2, "text is not a string")]


def test_a_cell_may_be_as_long_as_a_record(tmp_path, monkeypatch):
    monkeypatch.setattr("data.readers.records.MAX_RECORD_BYTES", 3000)
    cells = ["가" * 1000, "가" * 1001, "a" * 3000, "a" * 3001, "끝"]
    path = write(tmp_path / "a.parquet", {"text": cells})
    with sqlite3.connect(tmp_path / "b.sqlite") as database:
        database.execute("CREATE TABLE t (text TEXT)")
        database.executemany("INSERT INTO t VALUES (?)", [(cell,) for cell in cells])
    database.close()
    for items in (read(path), read(tmp_path / "b.sqlite")):
        assert texts(items) == [cells[0], cells[2], "끝"]
        assert rejects(items) == [(2, "longer than 0.003 MB"), (4, "longer than 0.003 MB")]


def test_few_rows_are_held_at_once_where_they_are_long(tmp_path, monkeypatch):
    monkeypatch.setattr("data.readers.parquet.BATCH_BYTES", 100_000)
    rows = [f"{n}" * 5000 for n in range(10, 90)]
    path = write(tmp_path / "a.parquet", {"text": rows}, use_dictionary=False)
    sizes = []
    real = pq.ParquetFile.iter_batches

    def counting(self, size, **options):
        sizes.append(size)
        return real(self, size, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counting)
    assert texts(read(path)) == rows and 5 <= sizes[0] <= 10


def test_wrong_column_damage_and_compression_are_clear_errors(tmp_path):
    path = write(tmp_path / "a.parquet", {"body": ["글" * 100] * 50})
    with pytest.raises(UserError, match=r"no column 'text'[\s\S]*body"):
        read(path)
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    with pytest.raises(UserError, match="cannot be read as Parquet"):
        read(path, text_field="body")
    path.write_bytes(content[:4] + bytes(40) + content[44:])
    with pytest.raises(UserError, match="cannot be read as Parquet"):
        read(path, text_field="body")
    (tmp_path / "b.parquet.gz").write_bytes(gzip.compress(content))
    with pytest.raises(UserError, match="compressed Parquet"):
        read(tmp_path / "b.parquet.gz")


def test_two_columns_of_the_texts_name_are_refused(tmp_path):
    table = pa.table([["가"], ["나"], [1]], names=["text", "text", "n"])
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("text,text\n가,나\n")
    for name in ("a.parquet", "a.csv"):
        with pytest.raises(UserError, match="has 2 columns 'text'"):
            read(tmp_path / name)
