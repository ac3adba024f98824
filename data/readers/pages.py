"""Formats in which a file is one document: HTML and Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from common.bounded import decoded
from data.readers.records import Block, InputFile, Item, made_document, parse_each

FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
"""YAML between lines of three hyphens at the beginning of a page, as site generators keep it."""


def parse_html(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield an HTML file as one document."""
    from data.readers.html import html_to_text

    return _page(file, block, html_to_text)


def parse_markdown(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield a Markdown file as one document."""
    from data.readers.markdown import markdown_to_text

    return _page(file, block, markdown_to_text)


def _page(file: InputFile, block: Block, convert: Callable[[str], str]) -> Iterator[Item]:
    def parse(file: InputFile, number: int, raw: bytes) -> Iterator[Item]:
        source = decoded(raw)
        if source.strip():
            yield made_document(file, number, convert(FRONT_MATTER.sub("", source, count=1)))

    return parse_each(file, [(block.first_line, block.data)], parse)
