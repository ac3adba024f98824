"""The formats by name: the functions that cut a file into blocks and parse a block, and the marks of its files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from data.readers import delimited, json_elements, lines, mediawiki, namuwiki, nikl, warc
from data.readers.blocks import BLANK_LINES, LINES, WHOLE, Borders, cut
from data.readers.encoding import TextStream
from data.readers.hub import cut_hub, parse_hub
from data.readers.json_elements import cut_under, cut_values, elements_of
from data.readers.pages import parse_page
from data.readers.parquet import cut_parquet, parse_parquet
from data.readers.records import Block, InputFile, Item, parse_each
from data.readers.settings import Format
from data.readers.sqlite import cut_sqlite, parse_sqlite

Cut = Callable[[InputFile, TextStream, int], Iterator[Block]]
CutReference = Callable[[InputFile, int], Iterator[Block]]
Parse = Callable[[InputFile, Block], Iterator[Item]]


@dataclass(frozen=True)
class Reader:
    """One format.

    Args:
        parse: a block → its documents, rejects and skipped records in order.
        cut: a stream of text → blocks of whole records.
        refer: a file that is no text → blocks that are references to parts of it.
        by_lines: whether a record is a line, so that a file can be read from any line on.
        suffixes: endings of names, before that of a compression, by which a file is recognised as this format.
        magic: first bytes of every file of a format that is no text.
        is_bytes: whether its stream is cut as it is, in no encoding.
    """

    parse: Parse
    cut: Cut | None = None
    refer: CutReference | None = None
    by_lines: bool = False
    suffixes: tuple[str, ...] = ()
    magic: re.Pattern[bytes] | None = None
    is_bytes: bool = False


def _at(borders: Borders) -> Cut:
    return lambda file, stream, block_bytes: cut(stream, borders, block_bytes)


def _elements(parse: Callable[[InputFile, int, bytes], Iterator[Item]]) -> Parse:
    return lambda file, block: parse_each(file, elements_of(block), parse)


READERS: dict[Format, Reader] = {
    "jsonl": Reader(lines.parse_json_lines, _at(LINES), by_lines=True, suffixes=(".jsonl", ".ndjson")),
    "json": Reader(json_elements.parse_json, json_elements.cut_json),
    "text": Reader(lines.parse_lines, _at(LINES), by_lines=True),
    "paragraphs": Reader(lines.parse_paragraphs, _at(BLANK_LINES)),
    "csv": Reader(delimited.parse_table, delimited.cut_csv, suffixes=(".csv",)),
    "tsv": Reader(delimited.parse_table, delimited.cut_tsv, suffixes=(".tsv", ".tab")),
    "parquet": Reader(parse_parquet, refer=cut_parquet, suffixes=(".parquet", ".pq"), magic=re.compile(rb"PAR1")),
    "sqlite": Reader(
        parse_sqlite, refer=cut_sqlite, suffixes=(".db", ".sqlite", ".sqlite3"), magic=re.compile(rb"SQLite format 3\0")
    ),
    "hf": Reader(parse_hub, refer=cut_hub),
    "warc": Reader(warc.parse_warc, warc.cut_warc, suffixes=(".warc", ".wet", ".wat"), magic=warc.MAGIC, is_bytes=True),
    "nikl": Reader(
        _elements(nikl.parse_document), lambda file, stream, size: cut_under(file, stream, "document", size)
    ),
    "namuwiki": Reader(_elements(namuwiki.parse_page), lambda file, stream, size: cut_values(stream, size)),
    "mediawiki": Reader(mediawiki.parse_mediawiki, _at(mediawiki.PAGES)),
    "html": Reader(partial(parse_page, "html"), _at(WHOLE), suffixes=(".html", ".htm", ".xhtml")),
    "markdown": Reader(partial(parse_page, "markdown"), _at(WHOLE), suffixes=(".md", ".markdown")),
}
"""Every format. Its name and what it means for people stand in `data.readers.settings`; what tells texts of several
formats apart by their first bytes, in `data.readers.sniff`."""

BY_SUFFIX: dict[str, Format] = {suffix: name for name, reader in READERS.items() for suffix in reader.suffixes}
"""Ending of a name → its format."""
