"""Web archives (WARC, and the WET files of CommonCrawl): a document per record, without the archive's headers.

A record says how long it is, so a page that quotes another record's header stays one. Where the length is wrong, the
record is a reject, and reading continues at the next line that begins a record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from common.bounded import UnreadableError, decoded
from data.readers import records
from data.readers.blocks import filled
from data.readers.encoding import TextStream
from data.readers.records import Block, InputFile, Item, Reject, Skipped, made_document
from data.readers.web_pages import Passed, answer_text, content_text, header_fields

MAGIC = re.compile(rb"WARC/[01]\.\d{1,2}[ \t]{0,4}\r?\n")
_START = re.compile(b"^" + MAGIC.pattern, re.MULTILINE)
_HEADER_END = re.compile(rb"\n\r?\n")
_BEHIND = re.compile(rb"\r\n\r\n|\n\n|[\r\n]{0,8}(?:WARC/|\Z)")
"""The end of a record: two line ends; some programs write one, or none."""
HEADER_BYTES = 1 << 16
"""The longest header of a record; they have some hundred bytes."""
BEHIND_BYTES = 32
"""Bytes looked at behind a record: blank lines and the next record's beginning. No line that begins a record is as
long."""
CUT_SHORT, DAMAGED = "cut short", "a damaged record"
_MARK = b"WARC/1.0\r\n%b\r\n"
"""Stands in a block for a record that is damaged or too long."""
PASSED_OVER = ("warcinfo", "request", "metadata", "revisit", "continuation")
"""Kinds of records that hold no document."""


class Record(NamedTuple):
    """A record of an archive: the fields of its header by their names in small letters, and its content."""

    fields: dict[str, str]
    content: bytes


class _Window:
    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._ended = False
        self.data, self.at = b"", 0

    @property
    def size(self) -> int:
        return len(self.data) - self.at

    def hold(self, count: int) -> bool:
        """Hold at least `count` bytes, fewer only at the end of the stream; return whether there are as many."""
        if self.size >= count or self._ended:
            return self.size >= count
        pieces = [self.data[self.at :]]
        size = self.size
        while size < count and not self._ended:
            piece = next(self._chunks, None)
            self._ended = piece is None
            pieces.append(piece or b"")
            size += len(piece or b"")
        self.data, self.at = b"".join(pieces), 0
        return size >= count

    def pass_blank_lines(self) -> bool:
        while self.hold(1):
            behind = self.data[self.at : self.at + BEHIND_BYTES].lstrip(b"\r\n")
            self.at += min(self.size, BEHIND_BYTES) - len(behind)
            if behind:
                return True
        return False

    def to_next(self) -> None:
        self.at += 1
        while True:
            match = _START.search(self.data, self.at)
            if match:
                self.at = match.start()
                return
            # such a line may lie over the end of what is held, and the byte before it says whether it begins there
            self.at = max(self.at, len(self.data) - BEHIND_BYTES)
            before = self.data[self.at - 1 : self.at]
            size = self.size
            if not self.hold(size + 1):
                self.at = len(self.data)
                return
            self.data, self.at = before + self.data[self.at :], len(before)


def records_of(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, Record | str]]:
    """Yield the records of an archive, or the reason why one cannot be read.

    Yields:
        Bytes of which, put together, this function yields the same records, and the record or the reason.
    """
    window = _Window(chunks)
    while window.pass_blank_lines():
        yield _next(window)


def _next(window: _Window) -> tuple[bytes, Record | str]:
    window.hold(HEADER_BYTES)
    start = MAGIC.match(window.data, window.at)
    end = _HEADER_END.search(window.data, start.end() - 1, window.at + HEADER_BYTES) if start else None
    if start is None or end is None:
        return _failed(window, DAMAGED)
    fields = header_fields(window.data[start.end() : end.start()])
    length = fields.get("content-length", "")
    if not (length.isascii() and length.isdecimal()):
        return _failed(window, DAMAGED)
    count = int(length[:20])
    if count > records.MAX_RECORD_BYTES:
        return _failed(window, records.too_long(0).reason, b"Content-Length: %d\r\n" % (records.MAX_RECORD_BYTES + 1))
    header = end.end() - window.at
    window.hold(header + count + BEHIND_BYTES)
    if window.size < header + count:
        raw, reason = _failed(window, DAMAGED)
        return (raw, reason) if window.size else (_MARK % b"Content-Length: 1\r\n", CUT_SHORT)
    behind = window.at + header + count
    if not _BEHIND.match(window.data, behind):
        return _failed(window, DAMAGED)
    raw = window.data[window.at : behind]
    window.at = behind
    return raw + b"\r\n\r\n", Record(fields, raw[header:])


def _failed(window: _Window, reason: str, field: bytes = b"") -> tuple[bytes, str]:
    window.to_next()
    return _MARK % field, reason


def cut_warc(file: InputFile, stream: TextStream, block_bytes: int) -> Iterator[Block]:
    """Yield the records of an archive in blocks of about `block_bytes`, numbered from 1."""
    first = 1
    for number, raw in enumerate(filled(_whole(stream), len, block_bytes)):
        yield Block(number, first, b"".join(raw))
        first += len(raw)


def _whole(stream: TextStream) -> Iterator[bytes]:
    records = records_of(stream)
    record = next(records, None)
    while record is not None:
        raw, content = record
        record = next(records, None)
        if record is None and isinstance(content, str) and stream.damaged:
            return  # the file ends here, and is listed
        yield raw


def parse_warc(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield the records of a block: conversions and answers with text as documents, others as skipped."""
    for number, (_, record) in enumerate(records_of([block.data]), block.first_line):
        if isinstance(record, str):
            yield Reject(number, record)
            continue
        try:
            text = _text_of(record)
        except UnreadableError as error:
            yield Reject(number, str(error))
            continue
        yield Skipped(number, text.reason) if isinstance(text, Passed) else made_document(file, number, text)


def _text_of(record: Record) -> str | Passed:
    kind = record.fields.get("warc-type", "").lower()
    media = record.fields.get("content-type", "")
    if kind == "response" and media.lower().startswith("application/http"):
        return answer_text(record.content, record.fields.get("warc-identified-payload-type", ""))
    if kind == "conversion" and (not media or media.lower().startswith("text/plain")):
        return decoded(record.content).strip("\r\n")  # made by whoever wrote the archive, in UTF-8
    if kind in ("conversion", "resource"):
        return content_text(record.content, media)
    return Passed(f"{kind} record" if kind in PASSED_OVER else "another kind of record")
