"""Pages as web servers send them: HTTP answers to text, in whatever encoding they are."""

from __future__ import annotations

import codecs
import re
import zlib
from typing import NamedTuple

import zstandard

from common.bounded import UnreadableError
from data.readers import records
from data.readers.encoding import BOMS, detect, shifted_encoding

_STATUS = re.compile(rb"HTTP/\d(?:\.\d)? +(\d{3})\b[^\n]*\n")
_HEADER_END = re.compile(rb"\n\r?\n")
_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,2000}?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.I)
_META = re.compile(
    rb"<meta\s[^>]{0,300}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})|<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]{2,40})",
    re.I,
)
META_BYTES = 4096
"""Beginning of a page in which it may say its encoding."""
_CODECS = ("utf-8", "utf-16", "utf-32", "cp", "euc", "iso", "johab", "shift_jis", "gb", "big5", "koi8", "latin", "hz")
"""How the names of Python's codecs of text begin."""
_KOREAN = dict.fromkeys(
    ("euc-kr", "euc_kr", "ks_c_5601-1987", "ksc5601", "korean", "windows-949", "x-windows-949"), "cp949"
)
"""What browsers take for CP949, which has more syllables than EUC-KR."""
MOST_REPLACED = 0.01
"""Share of the characters of a page that may be broken; crawlers cut pages, and pages are put together of others."""
UNKNOWN_ENCODING = "in no known encoding"
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\n]{0,200})?\r?\n")


class Passed(NamedTuple):
    """Why what was sent holds no document, by its nature."""

    reason: str


def header_fields(raw: bytes) -> dict[str, str]:
    """Return the fields of a header, the first of each name, by their names in small letters."""
    fields: dict[str, str] = {}
    name = ""
    for line in raw.decode("utf-8", "replace").split("\n"):
        if line[:1] in (" ", "\t") and name:
            fields[name] += f" {line.strip()}"
            continue
        key, colon, value = line.partition(":")
        name = key.strip().lower() if colon else ""
        if name in fields:
            name = ""
        elif name:
            fields[name] = value.strip()
    return fields


def answer_text(raw: bytes, identified: str = "") -> str | Passed:
    """Return the text of an HTTP answer, as a server sent it, or why it holds no document.

    Args:
        identified: media type that a crawler found the content to have.

    Raises:
        UnreadableError: it is no answer of HTTP, or its content cannot be decoded.
    """
    status = _STATUS.match(raw)
    end = _HEADER_END.search(raw, status.end() - 1) if status else None
    if status is None or end is None:
        raise UnreadableError("no answer of HTTP")
    if not status[1].startswith(b"2"):
        return Passed(f"HTTP status {status[1].decode()}")
    fields = header_fields(raw[status.end() : end.start() + 1])
    content = raw[end.end() :]
    if "chunked" in fields.get("transfer-encoding", "").lower():
        content = _unchunked(content)
    for encoding in reversed(fields.get("content-encoding", "").lower().split(",")):
        content = _unpacked(content, encoding.strip())
    media = fields.get("content-type", "")
    known = any(name in media.lower() for name in ("html", "text/plain"))
    return content_text(content, media if known or not identified else identified)


def content_text(raw: bytes, media: str) -> str | Passed:
    """Return the text of a page of HTML or of plain text, or that it is neither.

    Args:
        media: its media type with its charset, as it was sent; without one the first bytes tell.

    Raises:
        UnreadableError: it is in no known encoding, nested too deeply, or has too many tags.
    """
    kind = media.partition(";")[0].strip().lower()
    is_html = kind in ("text/html", "application/xhtml+xml") or (not kind and _HTML.match(raw[:META_BYTES]) is not None)
    if not is_html and kind != "text/plain":
        return Passed("neither HTML nor plain text")
    if not raw.strip():
        return Passed("no text")
    sent = _CHARSET.search(media)
    text = _decoded(raw, sent[1] if sent else "", is_html)
    if not is_html:
        return text
    from data.readers.html import html_to_text

    return html_to_text(text)


def _unchunked(raw: bytes) -> bytes:
    """Return what was sent in chunks; crawlers put some pages together and keep the field that says so."""
    pieces = []
    place = 0
    while (size := _CHUNK_SIZE.match(raw, place)) and int(size[1], 16):
        end = size.end() + int(size[1], 16)
        pieces.append(raw[size.end() : end])
        place = end + (2 if raw[end : end + 2] == b"\r\n" else raw[end : end + 1] == b"\n")
    return b"".join(pieces) if pieces else raw


def _unpacked(raw: bytes, encoding: str) -> bytes:
    """Return the content behind a content encoding; what is not in it was unpacked by the crawler."""
    limit = records.MAX_RECORD_BYTES + 1
    content = raw
    try:
        if encoding in ("gzip", "x-gzip") and raw.startswith(b"\x1f\x8b"):
            content = zlib.decompressobj(31).decompress(raw, limit)
        elif encoding == "deflate" and raw[:1] == b"\x78":
            content = zlib.decompressobj().decompress(raw, limit)
        elif encoding == "zstd" and raw.startswith(b"\x28\xb5\x2f\xfd"):
            content = zstandard.ZstdDecompressor().decompress(raw, max_output_size=limit, allow_extra_data=True)
        elif encoding in ("br", "compress", "deflate") and not _HTML.match(raw[:META_BYTES]):
            raise UnreadableError("a content encoding that is not read")
    except (zlib.error, zstandard.ZstdError):
        raise UnreadableError("a content encoding that is damaged") from None
    if len(content) >= limit:
        raise UnreadableError(records.too_long(0).reason)
    return content


def _decoded(raw: bytes, sent: str, is_html: bool) -> str:
    """Return the text of a page: by its mark, as UTF-8 or Korean where it is that, else as it says it is."""
    mark = next(filter(raw.startswith, BOMS), b"")
    if mark:
        names = [BOMS[mark]]
    else:
        meta = _META.search(raw[:META_BYTES]) if is_html else None
        said = [(meta[1] or meta[2]).decode("ascii", "replace") if meta else "", sent]
        korean = [name for name in (shifted_encoding(raw), "utf-8") if name]
        names = [*korean, *([detect(raw)] if not raw.isascii() else []), *map(_codec, said), "cp949"]
    texts = []
    for name in dict.fromkeys(filter(None, names)):
        text = raw[len(mark) :].decode(name, "replace")
        broken = text.count("\ufffd")
        if not broken:
            return text
        texts.append((broken, text))
    broken, text = min(texts, key=lambda candidate: candidate[0])
    if broken > MOST_REPLACED * len(text):
        raise UnreadableError(UNKNOWN_ENCODING)
    return text


def _codec(name: str) -> str:
    name = name.lower()
    if name in _KOREAN:
        return _KOREAN[name]
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        return ""
    return codec if codec.startswith(_CODECS) else ""
