"""CSV and TSV: rows under a first row that names the columns; fields quoted as RFC 4180 says, or not at all."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from functools import cache

from common.errors import UserError, nearest
from data.readers import records
from data.readers.blocks import LINES, Borders, count_lines, cut, numbered
from data.readers.encoding import TextStream, utf8_lines
from data.readers.lines import is_utf8
from data.readers.records import NOT_UTF8, Block, FieldMap, InputFile, Item, Reject

DELIMITERS = {"csv": ",", "tsv": "\t"}
QUOTED, PLAIN = "quoted", "plain"


def cut_csv(file: InputFile, stream: TextStream, block_bytes: int) -> Iterator[Block]:
    """Yield the rows of a CSV file in blocks."""
    return _cut(file, stream, block_bytes, ",", True)


def cut_tsv(file: InputFile, stream: TextStream, block_bytes: int) -> Iterator[Block]:
    """Yield the rows of a TSV file in blocks."""
    quoting = file.settings.quoting
    return _cut(file, stream, block_bytes, "\t", is_quoted_tsv(stream.head) if quoting is None else quoting)


def _cut(file: InputFile, stream: TextStream, block_bytes: int, delimiter: str, quoted: bool) -> Iterator[Block]:
    borders = quoted_borders(delimiter) if quoted else LINES
    head = stream.head
    if not head.strip():
        return iter(())
    end = borders.first(head) or len(head)
    columns = _columns(file, utf8_lines(head[:end], stream.encoding), delimiter, quoted)
    _, missing = FieldMap(file).columns(columns)
    if missing:
        raise unknown_columns(file, missing, columns)
    return numbered(cut(stream, borders, block_bytes), (delimiter, QUOTED if quoted else PLAIN, *columns))


def _columns(file: InputFile, raw: bytes, delimiter: str, quoted: bool) -> list[str]:
    try:
        line = raw.decode("utf-8").rstrip("\r\n")
        row = next(csv.reader([line], delimiter=delimiter), []) if quoted else line.split(delimiter)
    except (UnicodeDecodeError, csv.Error):
        raise UserError(
            f"the first row of {file.path} cannot be read",
            "the first row of a table names its columns",
            "give the source's format and encoding",
        ) from None
    return [name.strip() for name in row]


def unknown_columns(file: InputFile, missing: list[str], columns: list[str]) -> UserError:
    """Return the error of a table without the text columns asked for."""
    return UserError(
        f"{file.path} has no column '{missing[0]}'{nearest(missing[0], columns)}",
        "text_field names the column with the documents; the file's columns are " + ", ".join(columns[:20]),
        "set the source's text_field to one of them (or a list of them)",
    )


@cache
def quoted_borders(delimiter: str) -> Borders:
    """Return the borders of rows whose fields may be quoted: line ends that are in no quoted field."""
    field = re.compile(rb'(?:^|[\n%b])("[^"]*(?:""[^"]*)*("|\Z))' % re.escape(delimiter.encode()))

    def last(data: bytes) -> int:
        starts, ends = [], []
        for match in field.finditer(data):
            starts.append(match.start(1))
            ends.append(match.end())
        end = len(data)
        for start, finish in zip(reversed(starts), reversed(ends), strict=True):
            if (place := data.rfind(b"\n", finish, end) + 1) > 0:
                return place
            end = start
        return data.rfind(b"\n", 0, end) + 1

    def first(data: bytes) -> int:
        place = 0
        for match in field.finditer(data):
            if (found := data.find(b"\n", place, match.start(1)) + 1) > 0:
                return found
            place = match.end()
        return data.find(b"\n", place) + 1

    return Borders(last, first, count_lines)


_TSV_FIELD = re.compile(rb'(?:^|[\n\t])"([^"]*(?:""[^"]*)*)"(?=[\t\r\n]|\Z)')
_TSV_QUOTE = re.compile(rb'(?:^|[\n\t])"')


def is_quoted_tsv(head: bytes) -> bool:
    """Return whether a TSV file quotes fields, by its first bytes.

    A field that begins with a quote and has no fitting end shows that quotes are text. Otherwise a quoted first row, a
    quote doubled in a field, or rows that have as many columns as the first only if line ends and tabs may be quoted
    show that they are quoted.
    """
    if head.startswith(b'"'):
        return bool(_TSV_FIELD.match(head))
    fields = _TSV_FIELD.findall(head)
    # the last field may be cut by the end of the head
    if not fields or len(_TSV_QUOTE.findall(_TSV_FIELD.sub(b"", head))) > 1:
        return False
    lines = head[: head.rfind(b"\n")].decode("latin-1").split("\n")
    quoted, plain = _misfits(_quoted_rows(lines, "\t")), _misfits(_plain_rows(lines, "\t"))
    return quoted < plain or (quoted == plain and any(b'""' in field for field in fields))


def _misfits(rows: Iterator[tuple[int, list[str] | None]]) -> int:
    """Return how many rows have another number of columns than the first."""
    counts = [len(row) for _, row in rows if row]
    return sum(count != counts[0] for count in counts)


def parse_table(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield a document or reject for each row under the first."""
    delimiter, quoting, *columns = block.context
    fields = FieldMap(file)
    text = block.data.decode("utf-8", "surrogateescape")
    sound = is_utf8(block.data)
    lines = text.split("\n")
    rows = _quoted_rows(lines, delimiter) if quoting == QUOTED else _plain_rows(lines, delimiter)
    for offset, row in rows:
        number = block.first_line + offset
        if row is None:
            yield Reject(number, "not a row of a table")
        elif number == 1 or not row:
            continue
        elif len(row) != len(columns):
            yield Reject(number, "another number of columns than the first row")
        elif not sound and any(map(_is_broken, row)):
            yield Reject(number, NOT_UTF8)
        else:
            yield fields.document(dict(zip(columns, row, strict=True)), number)


def _plain_rows(lines: list[str], delimiter: str) -> Iterator[tuple[int, list[str] | None]]:
    for offset, line in enumerate(lines):
        line = line.removesuffix("\r")
        yield offset, line.split(delimiter) if line else []


def _quoted_rows(lines: list[str], delimiter: str) -> Iterator[tuple[int, list[str] | None]]:
    csv.field_size_limit(records.MAX_RECORD_BYTES)
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter)
    while True:
        offset = reader.line_num
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield offset, None
            continue
        yield offset, row


def _is_broken(field: str) -> bool:
    if field.isascii():
        return False
    try:
        field.encode()
    except UnicodeEncodeError:
        return True
    return False
