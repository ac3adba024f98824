"""Every format: how a file is cut changes neither documents nor ids nor rejects; broken files end well."""

import csv
import io
import json
import sqlite3

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.errors import UserError
from data.readers.formats import READERS, read_blocks
from data.readers.records import InputFile
from data.readers.settings import SourceSettings

from .reading import ids, read, read_in_pieces, rejects, texts
from .test_warc import record

WORDS = st.text("가나다 a1'=\"\\{}[],|<>&#*", min_size=1, max_size=40)
LINES = st.lists(WORDS, min_size=1, max_size=25)


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def page(number: int, text: str) -> str:
    head = f"<title>T</title><ns>{number % 2}</ns><id>{number}</id>"
    return f"<page>{head}<revision><text>{escaped(text)}</text></revision></page>\n"


def table(rows: list[str], delimiter: str, quoting: int) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\n")
    writer.writerow(["id", "text"])
    writer.writerows([str(n), f"{row}\n{row}"] for n, row in enumerate(rows))
    return out.getvalue()


MAKE = {
    "jsonl": lambda rows: "\n".join(json.dumps({"text": row}, ensure_ascii=False) for row in rows),
    "json": lambda rows: json.dumps([{"text": row} for row in rows], ensure_ascii=False),
    "text": "\n".join,
    "paragraphs": "\n \n".join,
    "csv": lambda rows: table(rows, ",", csv.QUOTE_MINIMAL),
    "tsv": lambda rows: table(rows, "\t", csv.QUOTE_ALL),
    "nikl": lambda rows: json.dumps(
        {"id": "x", "document": [{"id": f"d.{n}", "paragraph": [{"form": row}]} for n, row in enumerate(rows)]},
        ensure_ascii=False,
    ),
    "namuwiki": lambda rows: json.dumps(
        [{"namespace": "0", "title": "t", "text": row} for row in rows], indent=1, ensure_ascii=False
    ),
    "warc": lambda rows: b"".join(record(row.encode()) for row in rows).decode(),
    "mediawiki": lambda rows: "<mediawiki>\n" + "".join(page(n, row) for n, row in enumerate(rows)) + "</mediawiki>",
    "html": lambda rows: "<html><body>" + "".join(f"<p>{escaped(row)}</p>" for row in rows),
    "markdown": "\n\n".join,
}


def test_every_format_of_text_is_here():
    assert {name for name, reader in READERS.items() if reader.cut} == set(MAKE)


@pytest.mark.parametrize("format", MAKE)
@given(rows=LINES, block_bytes=st.integers(1, 300), read_bytes=st.integers(100, 400))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_of_any_size_hold_the_same(tmp_path, format, rows, block_bytes, read_bytes):
    path = tmp_path / "a"
    path.write_text(MAKE[format](rows), encoding="utf-8")
    whole = read(path, format=format, encoding="utf-8")
    assert read_in_pieces(path, block_bytes, read_bytes, format=format, encoding="utf-8") == whole
    assert len(set(ids(whole))) == len(texts(whole))


@pytest.mark.parametrize("format", MAKE)
@given(rows=LINES, place=st.integers(0, 24), block_bytes=st.integers(1, 300), read_bytes=st.integers(100, 200))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_record_that_is_too_long_is_one_reject_wherever_it_stands(
    tmp_path, format, rows, place, block_bytes, read_bytes
):
    path = tmp_path / "a"
    rows = [*rows[:place], "긴 글 " * 300, *rows[place:]]
    path.write_text(MAKE[format](rows), encoding="utf-8")
    whole = read_in_pieces(path, 1, 100, limit=2000, format=format, encoding="utf-8")
    assert "longer than 0.002 MB" in [reason for _, reason in rejects(whole)]
    assert not any("긴 글 긴 글" in text for text in texts(whole))
    again = read_in_pieces(path, block_bytes, read_bytes, limit=2000, format=format, encoding="utf-8")
    assert sorted(map(repr, again)) == sorted(map(repr, whole))


@pytest.mark.parametrize("format", MAKE)
@given(noise=st.binary(max_size=12), place=st.floats(0, 1), cut=st.booleans(), rows=LINES)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_noise_in_a_file_or_an_early_end_is_no_traceback(tmp_path, format, noise, place, cut, rows):
    path = tmp_path / "a"
    content = MAKE[format](rows).encode()
    middle = int(len(content) * place)
    path.write_bytes(content[:middle] + noise + (b"" if cut else content[middle:]))
    try:
        assert len(read(path, format=format)) <= 2 * len(rows) + 1 + len(noise)
    except UserError as error:
        assert str(path) in str(error)


@pytest.mark.parametrize("format", MAKE)
def test_an_empty_file_holds_nothing(tmp_path, format):
    path = tmp_path / "a"
    path.write_bytes(b"")
    if format == "nikl":
        with pytest.raises(UserError, match='holds no "document"'):
            read(path, format=format)
    else:
        assert read(path, format=format) == []


@pytest.mark.parametrize("format", ["parquet", "sqlite"])
def test_an_empty_or_foreign_file_is_no_table(tmp_path, format):
    path = tmp_path / "a"
    for content in (b"", b"no table at all " * 99):
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"cannot be read as|has no table"):
            read(path, format=format)


@pytest.mark.parametrize("format", [name for name in MAKE if name not in ("html", "markdown", "warc")])
def test_lines_that_cannot_be_decoded_are_rejects_and_the_others_stay(tmp_path, format):
    path = tmp_path / "a"
    content = MAKE[format](["첫째", "둘째 ☠ 글", "셋째"]).encode()
    path.write_bytes(content.replace("☠".encode(), b"\xff\xfe"))
    items = read(path, format=format)
    assert [reason for _, reason in rejects(items)] == ["not UTF-8"]
    assert any("셋째" in text for text in texts(items)) and not any("둘째" in text for text in texts(items))


@pytest.mark.parametrize("format", READERS)
def test_what_cannot_be_opened_is_one_clear_error(tmp_path, format):
    if format == "hf":
        return
    folder = tmp_path / "a.jsonl"
    folder.mkdir()
    with pytest.raises(UserError, match="nothing found"):
        read(folder, format=format)
    file = InputFile(str(folder), "a", SourceSettings(path=str(folder), format=format))
    with pytest.raises(UserError, match="cannot"):
        list(read_blocks(file, 100))


def test_an_error_while_reading_is_one_clear_error(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}')

    def fail(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("data.readers.formats.read_full", fail)
    with pytest.raises(UserError, match=r"cannot read .*Permission denied"):
        read(path)


@given(
    rows=st.lists(st.one_of(WORDS, st.none()), min_size=1, max_size=60),
    group=st.integers(1, 20),
    block_bytes=st.integers(1, 3000),
)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tables_read_by_reference_hold_the_same_in_blocks_of_any_size(tmp_path, rows, group, block_bytes):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": range(len(rows)), "text": pa.array(rows, pa.string())}), path, row_group_size=group)
    whole = read(path, 1 << 30)
    assert read(path, block_bytes) == whole
    assert texts(whole) == [row for row in rows if row is not None]
    path = tmp_path / "a.db"
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (text TEXT)")
        database.executemany("INSERT INTO t (rowid, text) VALUES (?, ?)", [(7 * n, row) for n, row in enumerate(rows)])
    database.close()
    assert read(path, block_bytes) == read(path, 1 << 30)
    assert texts(read(path, block_bytes)) == texts(whole)
