"""Formats in which a file is one document: HTML and Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from data.readers.lines import UnreadableError
from data.readers.records import NOT_UTF8, Block, InputFile, Item, Reject, made_document

FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
"""YAML between lines of three hyphens at the beginning of a page, as site generators keep it."""


def parse_html(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield an HTML file as one document."""
    from data.readers.html import html_to_text

    yield from _page(file, block, html_to_text)


def parse_markdown(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield a Markdown file as one document."""
    from data.readers.markdown import markdown_to_text

    yield from _page(file, block, markdown_to_text)


def _page(file: InputFile, block: Block, convert: Callable[[str], str]) -> Iterator[Item]:
    try:
        source = block.data.decode("utf-8")
    except UnicodeDecodeError:
        yield Reject(block.first_line, NOT_UTF8)
        return
    if not source.strip():
        return
    try:
        text = convert(FRONT_MATTER.sub("", source, count=1))
    except UnreadableError as error:
        yield Reject(block.first_line, str(error))
        return
    yield made_document(file, block.first_line, text)
