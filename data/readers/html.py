"""HTML to text: what surrounds the text (scripts, navigation, buttons, code) goes, blocks become lines."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from common.bounded import TOO_DEEP, TOO_MANY, UnreadableError
from data.cleaning.joints import join, run_together
from data.cleaning.markup import with_exponents

GONE_TAGS = [
    *("script", "style", "noscript", "template", "nav", "footer", "aside", "button", "select", "textarea"),
    *("iframe", "svg", "math", "canvas", "object", "video", "audio"),
]
BLOCK_TAGS = {
    *("body", "div", "main", "article", "section", "header", "hgroup", "address", "center", "details", "summary"),
    *("p", "blockquote", "figure", "figcaption", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "fieldset", "dialog"),
    *("form", "pre"),
    *("ul", "ol", "menu", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th"),
}
_BLANKS = re.compile(r"\s+")
_HANGUL = re.compile("[가-힣ㄱ-ㅣ]")
_SOLID = re.compile(r"\S")
_GONE = -2
MOST_NESTED = 4096
"""Browsers stop at 512; the parser's time grows with the square of the depth."""
MOST_ELEMENTS = 1_000_000
"""Tags in one page; each takes some hundred bytes of memory. The longest pages have half as many."""
_NESTING = re.compile(
    "<(/)?(?:address|article|aside|blockquote|center|details|dialog|div|dl|fieldset|figure|footer|form|header|hgroup"
    r"|main|menu|nav|ol|pre|section|summary|ul)(?=[\s/>])",
    re.I,
)
"""Tags of the elements that stay open until their end tag; others end with what follows them."""


def html_to_text(source: str) -> str:
    """Return the text of a page or a piece of one, a line for each block of it that holds any.

    A form is a block like others (whole pages stand in one); preformatted text goes when it is code. Numbers that only
    a tag parts get a blank between them.

    Raises:
        UnreadableError: it is nested more deeply than `MOST_NESTED`, or has more than `MOST_ELEMENTS` tags.
    """
    if source.count("<") > MOST_ELEMENTS:
        raise UnreadableError(TOO_MANY)
    if _nested_too_deeply(source):
        raise UnreadableError(TOO_DEEP)
    body = LexborHTMLParser(with_exponents(source)).body
    if body is None:
        return ""
    body.strip_tags(GONE_TAGS, recursive=True)
    blocks: dict[int, int] = {body.mem_id: body.mem_id}
    """Element → the block it is in (itself if it is one), or _GONE; parents come before children."""
    preformatted: set[int] = set()
    lines: list[list[str]] = []
    current = last = opened = -1  # block, parent of the text before, parent of the first element since
    for node in body.traverse(include_text=True):
        parent = node.parent
        inside = parent.mem_id if parent else -1
        block = blocks.get(inside, -1)
        if node.is_text_node:
            if block == _GONE:
                continue
            pieces = [node.text_content or ""]
            if inside in preformatted:
                pieces = pieces[0].split("\n")
            if block != current:
                lines.append([])
                current = block
            elif lines[-1] and opened not in (-1, last) and run_together(lines[-1][-1], pieces[0], letters=True):
                lines[-1].append(" ")  # one element ended and another began: two values and no word
            lines[-1].append(pieces[0])
            lines += [[piece] for piece in pieces[1:]]
            last = inside
            opened = -1
        elif node.tag == "br":
            current = -1
        elif node.is_element_node and node.mem_id not in blocks:
            opened = inside if opened < 0 else opened
            if block != _GONE and node.tag == "pre" and inside not in preformatted and _is_code(node):
                block = _GONE
            elif block != _GONE and node.tag in BLOCK_TAGS:
                block = node.mem_id
            blocks[node.mem_id] = block
            if node.tag == "pre" or inside in preformatted:
                preformatted.add(node.mem_id)
    return "\n".join(filter(None, (_BLANKS.sub(" ", join(line)).strip() for line in lines)))


def _nested_too_deeply(source: str) -> bool:
    if source.count("<") <= MOST_NESTED:
        return False
    depth = 0
    for match in _NESTING.finditer(source):
        depth = max(depth - 1, 0) if match[1] else depth + 1
        if depth > MOST_NESTED:
            return True
    return False


def _is_code(node: LexborNode) -> bool:
    return node.css_first("code") is not None or not is_prose(node.text())


def is_prose(text: str) -> bool:
    """Return whether preformatted text is prose: half of its characters, or more, are Hangul."""
    return 2 * len(_HANGUL.findall(text)) >= len(_SOLID.findall(text))
