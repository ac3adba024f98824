"""Encodings: a file's bytes in chunks of fixed size with the encoding they turn out to have.

What is decided depends on the content alone: chunks are always `READ_BYTES` long, and while a file has shown only ASCII
nothing is decided. CP949 is left to the workers. Other encodings become UTF-8 at once: no byte of UTF-16 is safe to cut
at, and bytes of ISO-2022-KR and Johab look like ASCII.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import IO

from data.readers.damage import UntilDamage

Stream = IO[bytes] | UntilDamage

READ_BYTES = 1 << 20
BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",  # it begins like that of UTF-16
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
SNIFF_BYTES = 4096
"""Beginning of a file in which zero bytes are looked for: those of UTF-16, of binary data, or single ones in a text."""
SAMPLED_LINES = 1000
"""Lines in which Johab is looked for."""
KOREAN_SHARE = 0.5
"""Share of Hangul among the characters beyond ASCII from which bytes are believed to be CP949 (or UTF-16)."""
UNDECODABLE = b"\xff"
"""Stands, in data made UTF-8, for a line that could not be decoded: it is never valid UTF-8."""


_DESIGNATOR, _SHIFT_OUT = b"\x1b$)C", b"\x0e"
"""ISO-2022-KR (RFC 1557): a mark, and behind it Hangul as ASCII behind shifts."""
BROKEN = "hunmin.broken"
"""Error handler of decoding: bytes become a character that is no UTF-8, so that their line is a reject."""


def _broken(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    # where half a character is taken with the line end behind it, the line ends all the same
    line_end = 0 if error.encoding.startswith("utf") else error.object.find(b"\n", error.start + 1, error.end)
    return "\udcff", line_end if line_end > 0 else error.end


codecs.register_error(BROKEN, _broken)


def read_full(stream: Stream, count: int) -> bytes:
    """Return `count` bytes of a stream, fewer only at its end."""
    pieces = []
    left = count
    while left and (piece := stream.read(left)):
        pieces.append(piece)
        left -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


class TextStream:
    """A binary stream as chunks of text in UTF-8 or CP949; `encoding` says which, once a chunk has shown it.

    `head` is its first `READ_BYTES`, already read; `declared` what the source's settings say, or auto.
    """

    def __init__(self, head: bytes, stream: Stream, declared: str) -> None:
        self._stream = stream
        mark = next(filter(head.startswith, BOMS), b"")
        marked = BOMS.get(mark)
        fixed = declared if declared != "auto" else marked or _zeros(head) or shifted_encoding(head) or _johab(head)
        if fixed in ("utf-16", "utf-32"):
            fixed = marked if marked and marked.startswith(fixed) else f"{fixed}-le"
        if marked and marked == fixed:
            head = head.removeprefix(mark)
        self.known_encoding = "cp949" if fixed == "euc-kr" else fixed
        """The encoding of the file where it is known by now, such as utf-8, cp949 or utf-16-le."""
        converts = self.known_encoding not in (None, "utf-8", "cp949")
        self._decoder = codecs.getincrementaldecoder(str(fixed))(BROKEN) if converts else None
        self.head = self._as_text(head)
        """The first chunk, in the encoding `encoding`."""

    @property
    def converted(self) -> bool:
        """Return whether the chunks are made UTF-8 as they are read, so that none can be read without those before."""
        return self._decoder is not None

    @property
    def damaged(self) -> bool:
        """Return whether the stream has ended where it is damaged, so that its last record may be cut."""
        return isinstance(self._stream, UntilDamage) and self._stream.damage is not None

    @property
    def encoding(self) -> str:
        """Return utf-8 or cp949: how to read every chunk up to now."""
        return "cp949" if self.known_encoding == "cp949" else "utf-8"

    def __iter__(self) -> Iterator[bytes]:
        if self.head:
            yield self.head
        while chunk := read_full(self._stream, READ_BYTES):
            yield self._as_text(chunk)
        if self._decoder and self._decoder.getstate()[0]:
            yield UNDECODABLE

    def _as_text(self, chunk: bytes) -> bytes:
        if self._decoder:
            return self._decoder.decode(chunk).encode("utf-8", "surrogatepass")
        self.known_encoding = self.known_encoding or told_by(chunk)
        return chunk


def told_by(chunk: bytes) -> str | None:
    """Return the encoding, cp949 or utf-8, that a chunk of a file shows; None where it shows only ASCII."""
    # of a character that the end of a read cuts, no encoding can be told
    return None if chunk[: -3 if len(chunk) == READ_BYTES else None].isascii() else detect(chunk)


def detect(data: bytes) -> str:
    """Return cp949 if the bytes are Korean in it and more of their lines are broken in UTF-8, else utf-8."""
    broken = _broken_lines(data, "utf-8")
    if not broken or _broken_lines(data, "cp949") >= broken:
        return "utf-8"
    return "cp949" if _is_korean(data.decode("cp949", "ignore")) else "utf-8"


def shifted_encoding(data: bytes) -> str | None:
    """Return iso2022_kr where data is in it; None where it is not."""
    mark = data.find(_DESIGNATOR)
    return "iso2022_kr" if mark >= 0 and data.find(_SHIFT_OUT, mark) >= 0 and data.isascii() else None


def _johab(head: bytes) -> str | None:
    if head.isascii():
        return None
    lines = [line for line in head.split(b"\n", SAMPLED_LINES)[:SAMPLED_LINES] if not line.isascii()]
    if not lines or any(_begins_well(line, "utf-8") for line in lines):
        return None
    sample = b"\n".join(lines)
    if 2 * _broken_lines(sample, "cp949") < len(lines) or not _begins_well(sample, "johab"):
        return None
    return "johab" if _is_korean(sample.decode("johab", "ignore")) else None


def utf8_lines(data: bytes, encoding: str) -> bytes:
    """Return a block's data in UTF-8, line by line the same; a line that cannot be decoded becomes `UNDECODABLE`."""
    if encoding == "utf-8":
        return data
    try:
        return data.decode(encoding).encode()
    except UnicodeDecodeError:
        return b"\n".join(_line(line, encoding) for line in data.split(b"\n"))


def _line(line: bytes, encoding: str) -> bytes:
    try:
        return line.decode(encoding).encode()
    except UnicodeDecodeError:
        return UNDECODABLE


def _zeros(head: bytes) -> str | None:
    """Return the UTF-16 that a beginning without a mark is in, if it is: ASCII in it has zeros on one side only."""
    sample = head[: min(SNIFF_BYTES, len(head)) // 2 * 2]
    if b"\0" not in sample:
        return None
    for encoding in ("utf-16-le", "utf-16-be"):
        try:
            text = sample.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text and _is_korean(text):
            return encoding
    return None


def _is_korean(text: str) -> bool:
    beyond = [character for character in text if character > "\x7f"]
    return bool(beyond) and sum("가" <= character <= "힣" for character in beyond) >= KOREAN_SHARE * len(beyond)


def _broken_lines(data: bytes, encoding: str) -> int:
    """Return how many lines cannot be decoded; a character cut by the end of the data is no fault."""
    if _begins_well(data, encoding):
        return 0
    *lines, last = data.split(b"\n")
    return sum(_line(line, encoding) is UNDECODABLE for line in lines) + (not _begins_well(last, encoding))


def _begins_well(data: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(data, final=False)
    except UnicodeDecodeError:
        return False
    return True
