"""Text files of wiki articles as WikiText has them: an article under each line `= Title =`, `= = Part = =` inside."""

from __future__ import annotations

import re
from collections.abc import Iterator

from data.readers.blocks import before
from data.readers.records import Block, InputFile, Item, decoded, made_document, parse_each

TITLE = re.compile(rb"^[ \t]*=[ \t](?![= ])[^\n]*[^=\s][ \t]=[ \t]*\r?\n", re.MULTILINE)
ARTICLES = before(TITLE)


def parse_wikitext(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield the articles of a block without their titles; what stands before the first title is one, too."""
    return parse_each(file, _articles(block), _article)


def _articles(block: Block) -> Iterator[tuple[int, bytes]]:
    starts = [match.start() for match in TITLE.finditer(block.data)]
    line, done = block.first_line, 0
    for end in [*(start for start in starts if start), len(block.data)]:
        body = block.data[done:end]
        title = TITLE.match(body)
        text = body[title.end() :] if title else body
        if text.strip():
            yield line, text
        line, done = line + body.count(b"\n"), end


def _article(file: InputFile, number: int, raw: bytes) -> Iterator[Item]:
    yield made_document(file, number, "\n".join(filter(None, map(_without_marks, decoded(raw).split("\n")))))


def _without_marks(line: str) -> str:
    line = line.strip()
    return line.strip("= \t") if line.startswith("=") and line.endswith("=") else line
