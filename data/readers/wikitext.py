"""Text files of wiki articles as WikiText has them: an article under each line `= Title =`, `= = Part = =` inside."""

from __future__ import annotations

import re
from collections.abc import Iterator

from data.readers.blocks import before
from data.readers.records import NOT_UTF8, Block, InputFile, Item, Reject, made_document

TITLE = re.compile(rb"^[ \t]*=[ \t](?![= ])[^\n]*[^=\s][ \t]=[ \t]*\r?\n", re.MULTILINE)
ARTICLES = before(TITLE)


def parse_wikitext(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield the articles of a block without their titles; what stands before the first title is one, too."""
    starts = [match.start() for match in TITLE.finditer(block.data)]
    line, done = block.first_line, 0
    for end in [*(start for start in starts if start), len(block.data)]:
        body = block.data[done:end]
        title = TITLE.match(body)
        if body[title.end() if title else 0 :].strip():
            yield _article(file, line, body[title.end() if title else 0 :])
        line, done = line + body.count(b"\n"), end


def _article(file: InputFile, number: int, raw: bytes) -> Item:
    try:
        lines = raw.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return Reject(number, NOT_UTF8)
    return made_document(file, number, "\n".join(filter(None, map(_without_marks, lines))))


def _without_marks(line: str) -> str:
    line = line.strip()
    return line.strip("= \t") if line.startswith("=") and line.endswith("=") else line
