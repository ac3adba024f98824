"""Markdown (CommonMark with tables) to text over the tokens of markdown-it: images and code go, blocks become lines.

Indented text, and fenced text that names no language, is code only where less than half of it is Hangul.
"""

from __future__ import annotations

import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from common.bounded import TOO_MANY, UnreadableError
from data.cleaning.joints import join
from data.cleaning.markup import with_exponents
from data.readers.html import html_to_text, is_prose

_DIRECTIVE = re.compile(r"^[ \t]*:::[^\n]*$", re.MULTILINE)
"""Lines of layout (`:::row:::`) that documentation systems add."""
_CALLOUT = re.compile(r"^\[![A-Za-z]+\]\s*")
_NO_LANGUAGE = ("", "text", "txt")

NESTING = 64
"""Blocks and links in each other, of which a list takes two; what is deeper is lost. Time grows with it."""
MOST_MARKS = 250_000
"""Lines and marks in one page; each takes a kilobyte or two of memory."""


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"maxNesting": NESTING}).enable("table")


def markdown_to_text(source: str) -> str:
    """Return the text of a page, a line for each block that holds any; UnreadableError beyond `MOST_MARKS` marks."""
    if sum(map(source.count, "\n*_`[<")) > MOST_MARKS:
        raise UnreadableError(TOO_MANY)
    lines: list[str] = []
    for token in _parser().parse(with_exponents(_DIRECTIVE.sub("", source))):
        if token.type == "inline":
            lines += _inline(token).split("\n")
        elif token.type == "html_block":
            lines.append(html_to_text(token.content))
        elif token.type in ("code_block", "fence") and token.info.strip() in _NO_LANGUAGE and is_prose(token.content):
            lines += token.content.split("\n")
    return "\n".join(filter(None, (_CALLOUT.sub("", line.strip()) for line in lines)))


def _inline(token: Token) -> str:
    pieces = []
    for child in token.children or ():
        if child.type in ("text", "code_inline"):
            pieces.append(child.content)
        elif child.type == "softbreak":
            pieces.append(" ")
        elif child.type == "hardbreak":
            pieces.append("\n")
    return join(pieces)
