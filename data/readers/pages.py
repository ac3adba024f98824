"""Formats in which a file is one document: HTML and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from common.bounded import decoded
from data.readers.markup import converter_of
from data.readers.records import Block, InputFile, Item, made_document, parse_each
from data.readers.settings import Markup

FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
"""YAML between lines of three hyphens at the beginning of a page, as site generators keep it."""


def parse_page(markup: Markup, file: InputFile, block: Block) -> Iterator[Item]:
    """Yield a file in a markup as one document."""

    def parse(file: InputFile, number: int, raw: bytes) -> Iterator[Item]:
        source = decoded(raw)
        if source.strip():
            text, _ = converter_of(markup)(FRONT_MATTER.sub("", source, count=1))
            yield made_document(file, number, text)

    return parse_each(file, [(block.first_line, block.data)], parse)
