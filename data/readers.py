"""Readers: input files as blocks of whole lines, and a block as documents and rejects.

A file is read once, in order, by one process (`read_blocks`); what a block holds is parsed where the work is done
(`parse_block`). A block is a number of bytes cut at a line end, so blocks depend on the content alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import orjson

from common.errors import UserError
from common.files import decompression_errors, expand, open_bytes
from common.settings import Settings
from data.clean_settings import CleanSettings

Format = Literal["auto", "jsonl", "text", "paragraphs"]

READ_BYTES = 1 << 20
SNIFF_BYTES = 4096
"""Beginning of a file by which its format is told."""
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
BY_NAME: dict[str, Format] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "text"}
NOT_READ = {".parquet", ".csv", ".tsv", ".xml", ".html", ".zip", ".tar", ".tgz", ".7z", ".sqlite", ".xlsx", ".pdf"}
BOM = b"\xef\xbb\xbf"

_LOOKS_JSON = re.compile(rb"\s*\{\s*[\"}]")
_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")


class SourceSettings(Settings):
    """One named corpus among the inputs."""

    path: str
    """File, folder, glob or URL; compressed files (.gz .bz2 .xz .zst) are read as they are."""
    name: str | None = None
    """Name written into the `source` column; None takes the record's own source field, else the file's name."""
    format: Format = "auto"
    """jsonl: an object a line; text: a document a line; paragraphs: documents separated by blank lines (as CC-100);
    auto: by the file's name, else by its first bytes (never paragraphs)."""
    text_field: str = "text"
    """Field of a JSON Lines record that holds the document."""
    id_field: str = "id"
    """Field with the document's id; where it is missing the id is made of source and line."""
    source_field: str = "source"
    """Field with the record's own source, used when `name` is not given."""
    licence_field: str = "licence"
    """Field with the record's own licence, used when `licence` is not given."""
    licence: str | None = None
    """Licence of every document of this source."""
    clean: CleanSettings | None = None
    """Cleaning rules for this source in place of the corpus-wide ones (web and news: `{min_sentence_chars: 200}`)."""


@dataclass(frozen=True)
class InputFile:
    """One file to read: `label` is unique among the inputs and begins the ids made for its documents."""

    path: str
    label: str
    settings: SourceSettings


@dataclass(frozen=True)
class Block:
    """Whole lines of one file. `first_line` is the number (from 1) of the first of them in the file."""

    number: int
    first_line: int
    data: bytes


@dataclass(frozen=True)
class Document:
    """One text of the corpus."""

    id: str
    source: str
    licence: str
    text: str


@dataclass(frozen=True)
class Reject:
    """A line that holds no document, and why; never its text."""

    line: int
    reason: str


def list_files(inputs: list[str | SourceSettings]) -> list[InputFile]:
    """Return the files of all inputs, in the order given and sorted within an input.

    Raises:
        UserError: an input stands for no file, or for a file of a format that is not read.
    """
    found: list[InputFile] = []
    taken: dict[str, int] = {}
    for entry in inputs:
        source = SourceSettings(path=entry) if isinstance(entry, str) else entry
        for path in expand(source.path):
            _refuse_unread(path, source)
            label = source.name or stem(path)
            taken[label] = taken.get(label, 0) + 1
            label = label if taken[label] == 1 else f"{label}~{taken[label]}"
            found.append(InputFile(path, label, source))
    return found


def stem(path: str) -> str:
    """Return a file's name without its folder, compression suffix and format suffix."""
    name = path.rstrip("/").rsplit("/", 1)[-1]
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    return name.rsplit(".", 1)[0] if "." in name[1:] else name


def _suffix(path: str) -> str:
    name = path.lower()
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    return Path(name).suffix


def _refuse_unread(path: str, source: SourceSettings) -> None:
    if source.format == "auto" and _suffix(path) in NOT_READ:
        raise UserError(
            f"{path}: {_suffix(path)} files are not read",
            "inputs are JSON Lines (.jsonl) or plain text (.txt), compressed or not",
            "convert the file, name the files to read with a glob, or give the source's format",
        )


def resolve_format(file: InputFile, head: bytes) -> Format:
    """Return the format of a file from its settings, its name, or its first bytes `head`.

    Raises:
        UserError: the content is binary, UTF-16, or one JSON array.
    """
    if b"\0" in head[:SNIFF_BYTES]:
        raise UserError(
            f"{file.path} is not UTF-8 text (it begins with binary data or UTF-16)",
            "inputs are UTF-8 text",
            "convert the file, or take it out of the inputs",
        )
    if file.settings.format != "auto":
        return file.settings.format
    known = BY_NAME.get(_suffix(file.path))
    if known:
        return known
    if _suffix(file.path) == ".json" and head.lstrip()[:1] == b"[":
        raise UserError(
            f"{file.path} holds one JSON array",
            "a JSON input holds one object a line (JSON Lines)",
            f"convert it: jq -c '.[]' {stem(file.path)}.json > {stem(file.path)}.jsonl",
        )
    return "jsonl" if _LOOKS_JSON.match(head) else "text"


def read_blocks(file: InputFile, block_bytes: int) -> Iterator[tuple[Format, Block]]:
    """Yield a file's format and its content in blocks of about `block_bytes` decompressed bytes, cut at line ends.

    A line (or, for paragraphs, a document) that is longer than a block is kept whole.

    Raises:
        UserError: the file cannot be opened, is a damaged or truncated archive, or is not text.
    """
    with decompression_errors(file.path), open_bytes(file.path) as stream:
        step = min(READ_BYTES, max(block_bytes, SNIFF_BYTES))
        buffered = stream.read(step)
        buffered = buffered.removeprefix(BOM)
        format = resolve_format(file, buffered)
        pieces, size = [buffered], len(buffered)
        number, line = 0, 1
        while True:
            piece = stream.read(step)
            if piece:
                pieces.append(piece)
                size += len(piece)
                if size < block_bytes:
                    continue
            data = b"".join(pieces)
            cut = len(data) if not piece else _last_border(data, format)
            if cut:
                yield format, Block(number, line, data[:cut])
                number, line = number + 1, line + data.count(b"\n", 0, cut)
            if not piece:
                return
            # nothing to cut at yet: the next look is after as many bytes again, so a huge line costs linear time
            rest = data[cut:]
            pieces, size = [rest], len(rest) if cut else 0


def _last_border(data: bytes, format: Format) -> int:
    if format != "paragraphs":
        return data.rfind(b"\n") + 1
    last = 0
    for match in _BLANK_LINE.finditer(data):
        last = match.end()
    return last


def parse_block(file: InputFile, format: Format, block: Block) -> Iterator[Document | Reject]:
    """Yield the documents and rejects of a block in the order of its lines; blank lines are neither."""
    if format == "jsonl":
        yield from _parse_json_lines(file, block)
    elif format == "text":
        for number, line in _lines(block):
            yield _text_document(file, number, line)
    else:
        yield from _parse_paragraphs(file, block)


def _lines(block: Block) -> Iterator[tuple[int, bytes]]:
    for offset, line in enumerate(block.data.split(b"\n")):
        line = line.strip(b"\r \t")
        if line:
            yield block.first_line + offset, line


def _parse_json_lines(file: InputFile, block: Block) -> Iterator[Document | Reject]:
    source = file.settings
    for number, line in _lines(block):
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            yield Reject(number, "not JSON" if is_utf8(line) else "not UTF-8")
            continue
        if not isinstance(record, dict):
            yield Reject(number, "not a JSON object")
            continue
        text = record.get(source.text_field)
        if not isinstance(text, str):
            missing = source.text_field not in record
            yield Reject(number, f"no field '{source.text_field}'" if missing else "text is not a string")
            continue
        identity = record.get(source.id_field)
        own_source = record.get(source.source_field)
        own_licence = record.get(source.licence_field)
        yield Document(
            f"{file.label}-{number}" if identity is None or isinstance(identity, (dict, list)) else str(identity),
            source.name or (own_source if isinstance(own_source, str) and own_source else file.label),
            source.licence or (own_licence if isinstance(own_licence, str) else ""),
            text,
        )


def _parse_paragraphs(file: InputFile, block: Block) -> Iterator[Document | Reject]:
    line, start = block.first_line, 0
    borders = [*((m.start(), m.end()) for m in _BLANK_LINE.finditer(block.data)), (len(block.data),) * 2]
    for end, following in borders:
        body = block.data[start:end]
        stripped = body.lstrip(b"\r\n \t")
        skipped = body.count(b"\n", 0, len(body) - len(stripped))
        if stripped:
            yield _text_document(file, line + skipped, stripped.rstrip())
        line += block.data.count(b"\n", start, following)
        start = following


def _text_document(file: InputFile, number: int, raw: bytes) -> Document | Reject:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return Reject(number, "not UTF-8")
    return Document(f"{file.label}-{number}", file.settings.name or file.label, file.settings.licence or "", text)


def is_utf8(raw: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
