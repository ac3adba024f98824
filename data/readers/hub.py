"""Data sets of the Hugging Face hub, streamed: blocks are rows as Arrow IPC, only the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from common.errors import UserError
from common.names import COMMIT
from data.readers.blocks import filled
from data.readers.columns import needed_columns
from data.readers.paths import HUB
from data.readers.records import Block, InputFile, Item
from data.readers.rows import documents_of

BATCH_ROWS = 256


def split_name(path: str) -> tuple[str, str | None, str, str | None]:
    """Return data set, configuration, split and revision of `hf:OWNER/NAME[/CONFIG][@SPLIT][@REVISION]`; the 40 digits
    of a commit are a revision without a split before them, too.

    Raises:
        UserError: the name has no such shape.
    """
    name, _, rest = path.removeprefix(HUB).partition("@")
    split, _, revision = rest.partition("@")
    if COMMIT.fullmatch(rest):
        split = ""
        revision = rest
    parts = name.split("/")
    if not all(parts) or len(parts) > 3:
        raise UserError(
            f"'{path}' names no data set",
            "a data set is written hf:OWNER/NAME, hf:OWNER/NAME/CONFIG or either with @SPLIT, @REVISION",
            "e.g. hf:someone/korean-news/default@train",
        )
    return "/".join(parts[:2]), parts[2] if len(parts) == 3 else None, split or "train", revision or None


def cut_hub(file: InputFile, block_bytes: int) -> Iterator[Block]:
    """Yield the rows of a data set in blocks of about `block_bytes`, in the data set's order.

    Raises:
        UserError: the data set cannot be reached or does not exist, or lacks a text column.
    """
    first = 1
    for number, tables in enumerate(filled(_tables(file), lambda table: table.nbytes, block_bytes)):
        yield _block(number, first, tables)
        first += sum(table.num_rows for table in tables)


def _tables(file: InputFile) -> Iterator[pa.Table]:
    name, config, split, revision = split_name(file.path)
    if Path(name).exists():
        raise UserError(
            f"{file.path} names a data set of the hub, and a folder {name} lies here that would be read in its place",
            "hf: stands for the hub alone",
            f"give {name} without hf: to read the folder, or run the command in another folder",
        )
    try:
        import datasets

        rows: Any = datasets.load_dataset(name, config, split=split, revision=revision, streaming=True)
        needed: list[str] = []
        for table in rows.with_format("arrow").iter(batch_size=BATCH_ROWS):
            needed = needed or needed_columns(file, table.column_names)
            yield table.select(needed).combine_chunks()
    except UserError:
        raise
    except Exception as error:  # the hub's client raises whatever its many back ends raise
        problem = str(error).strip().splitlines()
        raise UserError(
            f"{file.path} cannot be read: {type(error).__name__}{': ' + problem[0] if problem else ''}",
            "the data set, its configuration and its split exist, and the hub or a copy in the cache can be reached",
            "check the name and the connection (HF_ENDPOINT, HF_TOKEN), or fetch the files and name them as the path",
        ) from None


def _block(number: int, first: int, tables: list[pa.Table]) -> Block:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)
    return Block(number, first, sink.getvalue().to_pybytes(), bytes=sum(table.nbytes for table in tables))


def parse_hub(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield the rows of a block."""
    first = block.first_line
    for batch in pa.ipc.open_stream(block.data):
        yield from documents_of(file, batch, first)
        first += batch.num_rows
