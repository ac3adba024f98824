"""Rows that others have written, through every reader of them: bounded, whole or refused with the file named."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common import bounded, parquet
from common.bounded import UnreadableError, json_lines
from common.errors import UserError
from common.parquet import parquet_rows
from data.benchmark import load_benchmark
from data.instruct import rows as instructions
from embed.scored import read_lines
from klue.examples import read_examples
from klue.predict import read_texts
from klue.score_file import read_predictions
from klue.tasks import get_task
from leaderboard import rows as boards

YNAT, MRC = get_task("ynat"), get_task("klue-mrc")
READERS: dict[str, Callable[[Path], object]] = {
    "boards.jsonl": boards.read_rows,
    "boards.json": boards.read_rows,
    "boards.parquet": boards.read_rows,
    "benchmark.jsonl": load_benchmark,
    "benchmark.json": load_benchmark,
    "benchmark.parquet": load_benchmark,
    "pairs.jsonl": lambda path: list(read_lines(path, ("id", "text"))),
    "instructions.jsonl": instructions.read_rows,
    "ynat-v1.1_dev.json": lambda path: read_examples(YNAT, path),
    "klue-mrc-v1.1_dev.json": lambda path: read_examples(MRC, path),
    "validation-0.parquet": lambda path: read_examples(YNAT, path),
    "predictions.jsonl": lambda path: read_predictions(YNAT, path, {"g": "IT과학"}),
    "unlabelled.jsonl": lambda path: read_texts(YNAT, path),
}
"""File → what reads it; the suffix says what it holds."""
BROKEN_JSON = {
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "values": b"[" + b"0," * 300_000 + b"0]",
    "cut": b'{"title": "',
    "cp949": '{"title": "가"}'.encode("cp949"),
    "number": b'{"title": ' + b"9" * 5000 + b"}",
    "no object": b"[1, 2]",
    "nothing": b"7",
}


def parquet_file(path: Path, name: str) -> None:
    if name in ("dictionary", "in lists"):  # 10 kB that stand for 3.6 GB
        column: pa.Array = pa.DictionaryArray.from_arrays(pa.array([0] * 400, pa.int32()), ["가" * 3_000_000])
        if name == "in lists":
            column = pa.ListArray.from_arrays([0, 100, 200, 300, 400], column)
        pq.write_table(pa.table({"title": column}), path, compression="zstd", dictionary_pagesize_limit=1 << 30)
    elif name == "zeros":
        pq.write_table(pa.table({"title": pa.array([0] * 300_000, pa.int8())}), path)
    elif name == "zeros in a list":
        pq.write_table(pa.table({"title": pa.array([[0] * 300_000], pa.list_(pa.int8()))}), path)
    elif name == "fixed length":
        column = pa.array([b"a" * 300_000] * 100, pa.binary(300_000))
        pq.write_table(pa.table({"title": column}), path, dictionary_pagesize_limit=1 << 30)
    elif name == "cp949":
        pq.write_table(pa.table({"title": pa.array(["가".encode("cp949")]).cast(pa.string(), safe=False)}), path)
    else:
        pq.write_table(pa.table({"title": ["가"]}), path)
        path.write_bytes(path.read_bytes()[:-20])


KNOWN_BEFORE = ("zeros", "zeros in a list", "fixed length")
"""Files whose metadata say what they stand for: nothing of them is decoded."""
BROKEN_PARQUET = ("dictionary", "in lists", *KNOWN_BEFORE, "cp949", "cut")


@pytest.mark.parametrize("name", READERS)
def test_a_broken_file_ends_in_one_message(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "FREE_BYTES", 20_000_000)
    for module in (bounded, parquet):
        monkeypatch.setattr(module, "MOST_VALUES", 200_000)
    path = tmp_path / name
    for kind in BROKEN_PARQUET if path.suffix == ".parquet" else BROKEN_JSON:
        if path.suffix == ".parquet":
            parquet_file(path, kind)
        else:
            path.write_bytes(BROKEN_JSON[kind])
        with pytest.raises(UserError) as error:
            READERS[name](path)
        assert str(path) in str(error.value), kind
        assert len(str(error.value)) < 1000, kind


@pytest.mark.parametrize("name", KNOWN_BEFORE)
def test_nothing_is_decoded_that_the_metadata_refuse(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "FREE_BYTES", 20_000_000)
    monkeypatch.setattr(parquet, "MOST_VALUES", 200_000)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", None)
    parquet_file(tmp_path / "a.parquet", name)
    with (tmp_path / "a.parquet").open("rb") as stream, pytest.raises(bounded.UnreadableError):
        parquet_rows(stream)


@pytest.mark.parametrize("half", ["\\ud83d", "\\uD83D"])
@pytest.mark.parametrize("name", ["pairs.jsonl", "boards.jsonl", "boards.json"])
def test_half_an_emoji_can_be_written_again(name: str, half: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(f'{{"id": "1", "text": "{half}"}}' if path.suffix == ".jsonl" else f'[{{"text": "{half}"}}]')
    assert "\ufffd".encode() in json.dumps(READERS[name](path), ensure_ascii=False).encode()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.one_of(st.none(), st.text(max_size=9)), max_size=200), st.data())
def test_a_table_is_read_as_arrow_reads_it(texts: list[str | None], data: st.DataObject) -> None:
    lists = [data.draw(st.one_of(st.none(), st.lists(st.text(max_size=3), max_size=3))) for _ in texts]
    inner = [{"a": text, "b": [text] * 2} for text in texts]
    table = pa.table({"text": pa.array(texts, pa.string()), "lists": pa.array(lists, pa.list_(pa.string())),
                      "inner": inner or pa.array([], pa.struct([("a", pa.string())]))})  # fmt: skip
    stream = BytesIO()
    pq.write_table(table, stream, row_group_size=data.draw(st.integers(1, 90)))
    stream.seek(0)
    rows, schema = parquet_rows(stream)
    assert rows == table.to_pylist()
    assert schema.equals(pq.read_schema(BytesIO(stream.getvalue())))


def test_a_line_is_named_and_blank_ones_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n\n  \n[2]\nx\n')
    lines = json_lines(path, "a line is an object")
    assert [next(lines), next(lines)] == [(1, {"a": 1}), (4, [2])]
    with pytest.raises(UserError, match=rf"{path}, line 5: not JSON\n  rule: a line is an object"):
        next(lines)


def test_a_file_says_where_it_is_broken() -> None:
    with pytest.raises(UnreadableError, match="not JSON from line 2 on"):
        bounded.load_json(b'[{"a": 1},\n{"a": ]', place=True)
