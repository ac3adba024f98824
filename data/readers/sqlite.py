"""SQLite: blocks are ranges of row ids of one table, which the workers read themselves."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path

import orjson

from common.bounded import NOT_UTF8
from common.compressed import compression_of
from common.errors import HunminError, nearest
from common.files import is_remote
from data.readers.columns import needed_columns
from data.readers.damage import DamagedInputError, UnfitInputError
from data.readers.fields import FieldMap
from data.readers.records import Block, InputFile, Item, Reject
from data.readers.volume import fingerprint, refuse_changed

LOCK_SECONDS = 60.0
"""Seconds to wait for a program that writes to a database and locks it."""


def cut_sqlite(file: InputFile, block_bytes: int) -> Iterator[Block]:
    """Yield ranges of row ids with as many rows as `block_bytes` hold on the average, by the file's size.

    Raises:
        DamagedInputError: the file is no database.
        UnfitInputError: it is no plain local file, or lacks the table or a text column.
        HunminError: it is locked, or the disk failed.
    """
    if is_remote(file.path) or compression_of(file.path):
        raise UnfitInputError(
            file.path,
            "is a database that is not a plain local file",
            "fetch and decompress it first",
            "a SQLite database is read where it lies",
        )
    version = fingerprint(file.path)
    with _opened(file) as database:
        table = _table(file, database)
        columns = [row[1].decode() for row in database.execute(f"PRAGMA table_info({_quoted(table)})")]
        needed = needed_columns(file, columns)
        try:
            borders = _borders(database, table, Path(file.path).stat().st_size, block_bytes)
        except sqlite3.OperationalError as error:
            if "no such column" not in str(error):
                raise
            raise UnfitInputError(file.path, "has no row ids in its table", rule="rows are read by row id") from None
    for number, (start, end) in enumerate(pairwise(borders)):
        reference = {"table": table, "columns": needed, "from": start, "before": end, "file": version}
        size = Path(file.path).stat().st_size // (len(borders) - 1)
        yield Block(number, start, orjson.dumps(reference), bytes=size)


def _borders(database: sqlite3.Connection, table: str, stored: int, block_bytes: int) -> list[int]:
    """Return row ids that cut a table into pieces of as many rows; gaps between the ids make no difference."""
    name = _quoted(table)
    last, count = database.execute(f"SELECT max(rowid), count(*) FROM {name}").fetchone()
    if not count:
        return []
    rows = -(-count // min(count, -(-stored // block_bytes)))
    borders: list[int] = []
    query = f"SELECT rowid FROM {name} ORDER BY rowid LIMIT 1"
    parameters: tuple[int, ...] = ()
    while (row := database.execute(query, parameters).fetchone()) is not None:
        borders.append(row[0])
        query = f"SELECT rowid FROM {name} WHERE rowid >= ? ORDER BY rowid LIMIT 1 OFFSET {rows}"
        parameters = (row[0],)
    return [*borders, last + 1]


def parse_sqlite(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield the rows of a range, numbered by row id.

    Raises:
        DamagedInputError: the database is damaged.
        HunminError: it has changed since it was cut.
    """
    reference = orjson.loads(block.data)
    names = reference["columns"]
    fields = FieldMap(file)
    columns = ", ".join(map(_quoted, names))
    query = f"SELECT rowid, {columns} FROM {_quoted(reference['table'])} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
    with _opened(file) as database:
        for number, *values in database.execute(query, (reference["from"], reference["before"] - 1)):
            try:
                row = [value.decode("utf-8") if isinstance(value, bytes) else value for value in values]
            except UnicodeDecodeError:
                yield Reject(number, NOT_UTF8)
                continue
            yield from fields.items(dict(zip(names, row, strict=True)), number)
    refuse_changed(file.path, reference["file"])


def _table(file: InputFile, database: sqlite3.Connection) -> str:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    tables = [row[0].decode() for row in database.execute(query)]
    setting = file.settings.table
    if setting in tables:
        return str(setting)
    if setting is None and len(tables) == 1:
        return tables[0]
    problem = "has several tables" if tables else "has no table"
    shown = f"it has the tables {', '.join(tables)}" if tables else "it has none"
    if setting is not None:
        problem = f"has no table '{setting}'{nearest(setting, tables)}"
    raise UnfitInputError(
        file.path, problem, "set the source's `table` to one of its tables", f"one table is read; {shown}"
    )


@contextmanager
def _opened(file: InputFile) -> Iterator[sqlite3.Connection]:
    try:
        address = f"{Path(file.path).resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, timeout=LOCK_SECONDS, uri=True)) as database:
            # texts that are no UTF-8 are told from the rest one by one
            database.text_factory = bytes
            yield database
    except sqlite3.OperationalError as error:
        if "unsupported file format" in str(error):
            raise DamagedInputError(file.path, f"cannot be read as a SQLite database: {error}") from None
        # what stands in the way (a lock, the disk) and not what is in the file
        raise HunminError(
            f"cannot read {file.path}: {error}",
            "a database is read while no program writes to it",
            "let the program that has it open finish, or give a copy; then run the same command again",
        ) from None
    except sqlite3.DatabaseError as error:
        raise DamagedInputError(file.path, f"cannot be read as a SQLite database: {error}") from None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
