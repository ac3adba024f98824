"""CSV and TSV: rows under a first row that names the columns; fields quoted as RFC 4180 says, or not at all.

Not by pyarrow.csv: it ends at the first row of another width, and tells neither the line of a row nor what was wrong
with one that it skips.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import cache
from itertools import islice

from common.bounded import NOT_UTF8
from data.readers import records
from data.readers.blocks import LINES, Borders, count_lines, cut
from data.readers.columns import needed_columns
from data.readers.damage import UnfitInputError
from data.readers.encoding import TextStream, utf8_lines
from data.readers.fields import FieldMap
from data.readers.lines import is_utf8
from data.readers.records import Block, InputFile, Item, Reject

QUOTED, PLAIN = "quoted", "plain"
MAX_FIELD_LINES = 1000
"""A quote with more line ends before the next fitting one is not closed; the longest articles have some hundreds."""
NOT_A_ROW = "not a row of a table"
UNCLOSED = "a quote that is not closed"
DELIMITERS = (",", ";", "\t")
"""What spreadsheets save CSV files with, according to the language they are in; the first where none stands there."""
_BROKEN = re.compile("[\udc80-\udcff]")
"""What decoding leaves of bytes that are no UTF-8 (surrogateescape)."""


SEPARATOR_LINE = re.compile(rb"\"?sep=(?P<separator>\\t|[^\w\s\"\x80-\xff]|\t)\"?[,;\t ]{0,100}\r?\n", re.I)
"""A first line by which spreadsheets tell each other what stands between the fields: sep=;"""


def cut_csv(file: InputFile, stream: TextStream, block_bytes: int) -> Iterator[Block]:
    """Yield the rows of a CSV file in blocks; the first line or the names of the columns tell the separator."""
    separator = _pass_separator(stream)
    names = re.sub(rb'"[^"]*"', b"", stream.head.lstrip().partition(b"\n")[0])
    delimiter = separator or max(DELIMITERS, key=lambda candidate: names.count(candidate.encode()))
    return _cut(file, stream, block_bytes, delimiter, True, 2 if separator else 1)


def cut_tsv(file: InputFile, stream: TextStream, block_bytes: int) -> Iterator[Block]:
    """Yield the rows of a TSV file in blocks."""
    separator = _pass_separator(stream)
    quoting = file.settings.quoting
    quoted = is_quoted_tsv(stream.head) if quoting is None else quoting
    return _cut(file, stream, block_bytes, separator or "\t", quoted, 2 if separator else 1)


def _pass_separator(stream: TextStream) -> str:
    line = SEPARATOR_LINE.match(stream.head)
    if line is None:
        return ""
    stream.head = stream.head[line.end() :]
    return "\t" if line["separator"] == b"\\t" else line["separator"].decode()


def _cut(
    file: InputFile, stream: TextStream, block_bytes: int, delimiter: str, quoted: bool, header: int
) -> Iterator[Block]:
    borders = quoted_borders(delimiter) if quoted else LINES
    head = stream.head
    if not head.strip():
        return iter(())
    end = borders.first(head) or len(head)
    columns = _columns(file, utf8_lines(head[:end], stream.encoding), delimiter, quoted)
    needed_columns(file, columns)
    context = (delimiter, QUOTED if quoted else PLAIN, str(header), *columns)
    return (replace(block, context=context) for block in cut(stream, borders, block_bytes, header))


def _columns(file: InputFile, raw: bytes, delimiter: str, quoted: bool) -> list[str]:
    try:
        line = raw.decode("utf-8").rstrip("\r\n")
        row = next(csv.reader([line], delimiter=delimiter), []) if quoted else line.split(delimiter)
    except UnicodeDecodeError:
        encoding = file.settings.encoding
        raise UnfitInputError(
            file.path,
            "has a first row that cannot be decoded" + (f" as {encoding}" if encoding != "auto" else ""),
            "give the source's encoding (cp949, utf-16 …)" + (", or leave it out" if encoding != "auto" else ""),
            "the first row of a table names its columns",
        ) from None
    except csv.Error:
        row = None
    unclosed = quoted and _unclosed_line(raw, delimiter) is not None
    if row is None or unclosed or not any(name.strip() for name in row):
        why = " (a quote is not closed)" if unclosed else "" if row is None else " (the line is blank)"
        raise UnfitInputError(
            file.path,
            f"has a first row that cannot be read{why}",
            "mend the first row, or give the source's format and encoding",
            "the first row of a table names its columns",
        )
    return [name.strip() for name in row]


@cache
def _field(delimiter: str) -> re.Pattern[bytes]:
    return re.compile(rb'(?:^|[\n%b])("[^"]*(?:""[^"]*)*("|\Z))' % re.escape(delimiter.encode()))


def _fields(data: bytes, delimiter: str) -> Iterator[tuple[int, int, bool]]:
    """Yield begin and end of the quoted fields in rows, and whether they are closed.

    A field over too many lines ends with its first line; one that is open at the end of the data, with the data.
    """
    place = 0
    while place >= 0:
        matches = _field(delimiter).finditer(data, place)
        place = -1
        for match in matches:
            start, end = match.span(1)
            if end - start > MAX_FIELD_LINES and data.count(b"\n", start, end) > MAX_FIELD_LINES:
                place = data.find(b"\n", start)
                yield start, place, False
                break
            yield start, end, match.end(2) > match.start(2)


def _unclosed_line(row: bytes, delimiter: str) -> int | None:
    for start, _, closed in _fields(row, delimiter):
        if not closed:
            return row.count(b"\n", 0, start)
    return None


@cache
def quoted_borders(delimiter: str) -> Borders:
    """Return the borders of rows whose fields may be quoted: line ends that are in no quoted field."""

    def last(data: bytes) -> int:
        end = len(data)
        for start, finish, _ in reversed(list(_fields(data, delimiter))):
            if (place := data.rfind(b"\n", finish, end) + 1) > 0:
                return place
            end = start
        return data.rfind(b"\n", 0, end) + 1

    def first(data: bytes) -> int:
        place = 0
        for start, finish, _ in _fields(data, delimiter):
            if (border := data.find(b"\n", place, start) + 1) > 0:
                return border
            place = finish
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
    quoted = _misfits(_quoted_rows(lines, "\t"))
    plain = _misfits(_plain_rows(lines, "\t"))
    return quoted < plain or (quoted == plain and any(b'""' in field for field in fields))


def _misfits(rows: Iterator[tuple[int, list[str] | str]]) -> int:
    counts: list[int] = []
    for _, row in rows:
        if row == UNCLOSED:
            counts.append(0)
            break
        if row and row != NOT_A_ROW:
            counts.append(len(row))
    return sum(count != counts[0] for count in counts)


def parse_table(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield a document or reject for each row under the first."""
    delimiter, quoting, header, *columns = block.context
    fields = FieldMap(file)
    text = block.data.decode("utf-8", "surrogateescape").replace("\n\ufeff", "\n").removeprefix("\ufeff")
    sound = is_utf8(block.data)
    lines = text.split("\n")
    rows = _quoted_rows(lines, delimiter) if quoting == QUOTED else _plain_rows(lines, delimiter)
    for offset, row in rows:
        number = block.first_line + offset
        if isinstance(row, str):
            yield Reject(number, row)
        elif number == int(header) or not row:
            continue
        elif len(row) != len(columns):
            yield Reject(number, "another number of columns than the first row")
        elif not sound and any(map(_BROKEN.search, row)):
            yield Reject(number, NOT_UTF8)
        else:
            yield from fields.items(dict(zip(columns, row, strict=True)), number)


def _plain_rows(lines: list[str], delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    for offset, line in enumerate(lines):
        line = line.removesuffix("\r")
        yield offset, line.split(delimiter) if line else []


def _quoted_rows(lines: list[str], delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    """Yield the line (from 0) at which each row begins, and its fields or why it has none."""
    csv.field_size_limit(records.MAX_RECORD_BYTES)
    begin = 0
    while begin < len(lines):
        begin = yield from _rows_from(lines, begin, delimiter)


def _rows_from(lines: list[str], begin: int, delimiter: str) -> Generator[tuple[int, list[str] | str], None, int]:
    """Yield rows up to one that is not closed, and return the line after its quote."""
    reader = csv.reader((line + "\n" for line in islice(lines, begin, None)), delimiter=delimiter)
    while True:
        offset = begin + reader.line_num
        try:
            row = next(reader)
        except StopIteration:
            return len(lines)
        except csv.Error:
            yield offset, NOT_A_ROW
            continue
        end = begin + reader.line_num
        if end - offset > MAX_FIELD_LINES or end == len(lines):
            text = "\n".join(lines[offset:end])
            place = _unclosed_line(text.encode("utf-8", "surrogateescape"), delimiter)
            if place is not None:
                yield offset, UNCLOSED
                return offset + place + 1
        yield offset, row
