"""Folders that are a table in parts, as Spark and Hive write them, and what these write beside the parts."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.readers.formats import read_documents
from data.readers.paths import list_files

BESIDE = (
    "_SUCCESS",
    "_metadata",
    "_common_metadata",
    "_committed_123",
    "_started_123",
    "._SUCCESS.crc",
    ".hidden.parquet",
)


PARTS = ["지난해 글", "올해 글"]


def part(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"text": [text]}), path)
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table in parts of two values, with what is written beside them, and a file of the same ending."""
    folder = tmp_path / "news.parquet"
    for year, text in zip((2023, 2024), PARTS, strict=True):
        part(folder / f"year={year}" / "part-00000-abc.c000.snappy.parquet", text)
    for name in BESIDE:
        (folder / name).write_bytes(b"PAR1 no table")
    for name in ("_temporary", "_delta_log", "_spark_metadata"):
        (folder / name).mkdir()
        (folder / name / "0.json").write_text('{"commit": 1}')
    part(tmp_path / "talk.parquet", "말")
    return folder


def found(*inputs: Path | str) -> list[str]:
    files = list_files([str(path) for path in inputs])
    return [document.text for file in files for document in read_documents(file, 1 << 20)]


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        *(
            (pattern, PARTS)
            for pattern in ("news.parquet", "n*.parquet", "news.parquet/year=*/*", "news.parquet/*/*.parquet")
        ),
        *((pattern, [*PARTS, "말"]) for pattern in ("*.parquet", "**/*.parquet")),
        ("*", ["말"]),  # of no ending: files alone
    ],
)
def test_a_folder_is_its_parts_and_nothing_beside_them(table, pattern, texts):
    assert found(table.parent / pattern) == texts
    assert len({file.label for file in list_files([str(table)])}) == 2


def test_csv_and_json_in_parts(tmp_path):
    for suffix, content in ((".csv", "text\n가\n"), (".jsonl", '{"text": "나"}\n')):
        folder = tmp_path / f"out{suffix}"
        folder.mkdir()
        (folder / f"part-00000{suffix}").write_text(content, encoding="utf-8")
        (folder / "_SUCCESS").write_text("")
    assert found(tmp_path / "*.csv", tmp_path / "out.jsonl") == ["가", "나"]


def test_files_whose_names_begin_alike_are_read(tmp_path):
    for name in ("_news.txt", "_metadata.txt", "_SUCCESS.txt"):
        (tmp_path / name).write_text("글\n", encoding="utf-8")
    assert len(found(tmp_path)) == 3


def test_folders_in_a_store():
    import fsspec

    files = {"year=1/a.parquet": "가", "year=2/a.parquet": "나"}
    store = fsspec.filesystem("memory")
    for name, text in files.items():
        with store.open(f"/lake/x.parquet/{name}", "wb") as stream:
            pq.write_table(pa.table({"text": [text]}), stream)
    for name in ("_SUCCESS", "_metadata", "_delta_log/0.json"):
        store.pipe(f"/lake/x.parquet/{name}", b"PAR1")
    assert found("memory://lake/x.parquet") == ["가", "나"]
    assert found("memory://lake/*.parquet") == ["가", "나"]
