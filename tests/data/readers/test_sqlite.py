"""SQLite: the only table or the one named, rows by id, texts that are no UTF-8."""

import gzip
import sqlite3
from contextlib import closing

import pytest

from common.errors import UserError
from data.readers.records import Document

from .reading import read, rejects, skipped, texts


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "news.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE scrap (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT, url TEXT)")
        rows = [("하나",), (None,), ("둘",)]
        connection.executemany("INSERT INTO scrap (body) VALUES (?)", rows)
        connection.execute("INSERT INTO scrap (body) VALUES (CAST(x'FFFE' AS TEXT))")
    connection.close()
    return path


def test_rows(database):
    items = read(database, text_field="body", id_field="rowkey")
    assert items[0] == Document("news-1", "news", "", "하나") and texts(items) == ["하나", "둘"]
    assert skipped(items) == [(2, "no text")] and rejects(items) == [(4, "not UTF-8")]


def test_tables_are_named(database):
    with sqlite3.connect(database) as connection:
        connection.execute('CREATE TABLE "other ""one""" (text TEXT)')
        connection.execute('INSERT INTO "other ""one""" VALUES (?)', ("셋",))
        connection.execute("CREATE TABLE bare (text TEXT PRIMARY KEY) WITHOUT ROWID")
    connection.close()
    with pytest.raises(UserError, match='it has the tables bare, other "one", scrap'):
        read(database)
    with pytest.raises(UserError, match="did you mean 'scrap'"):
        read(database, table="scraps")
    with pytest.raises(UserError, match="has no row ids in its table"):
        read(database, table="bare")
    with pytest.raises(UserError, match=r"no column 'text'[\s\S]*id, body, url"):
        read(database, table="scrap")
    assert texts(read(database, table='other "one"')) == ["셋"]


def test_remote_and_compressed_databases_are_refused(tmp_path):
    (tmp_path / "a.db.gz").write_bytes(gzip.compress(b"x"))
    with pytest.raises(UserError, match="not a plain local file"):
        read(tmp_path / "a.db.gz")


def test_the_largest_row_id_is_read(tmp_path):
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE t (text)")
        database.execute("INSERT INTO t (rowid, text) VALUES (1, '가'), (9223372036854775807, '나')")
    assert texts(read(path)) == ["가", "나"]
