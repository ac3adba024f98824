"""Wikitext to plain text over the nodes of mwparserfromhell.

Templates, tables, references, files, categories, galleries and formulas go; links, headings and lists keep their text.
"""

from __future__ import annotations

import re

import mwparserfromhell
from mwparserfromhell.nodes import ExternalLink, Heading, HTMLEntity, Tag, Text, Wikilink
from mwparserfromhell.wikicode import Wikicode

GONE_TAGS = {
    *("ref", "references", "table", "gallery", "math", "chem", "ce", "timeline", "score", "graph", "hiero"),
    *("imagemap", "mapframe", "maplink", "templatedata", "templatestyles", "syntaxhighlight", "source", "pre"),
    *("script", "style", "categorytree", "inputbox", "section", "indicator"),
}
LINE_TAGS = {"br", "hr", "p", "div", "li", "dt", "dd", "blockquote", "poem", "center", "ul", "ol", "dl"}
_NAMESPACE = re.compile(
    r"\s*(?:파일|그림|이미지|분류|file|image|media|category|[a-z]{2,3}|[a-z]{2,8}-[a-z-]{2,12}):", re.I
)
"""Links that show no text: files, categories, and the same page in another language."""
_BLANKS = re.compile(r"[ \t]+")
_SWITCH = re.compile(r"__[A-Z가-힣]+__")


def wikicode_to_text(source: str) -> str:
    """Return the text of a page, a line for each line of it that holds any."""
    pieces: list[str] = []
    _collect(mwparserfromhell.parse(source, skip_style_tags=True), pieces)
    lines = "".join(pieces).replace("'''", "").replace("''", "").split("\n")
    return "\n".join(filter(None, (_BLANKS.sub(" ", _SWITCH.sub("", line)).strip(" *#:;") for line in lines)))


def _collect(code: Wikicode | None, pieces: list[str]) -> None:
    for node in code.nodes if code is not None else ():
        if isinstance(node, Text):
            pieces.append(node.value)
        elif isinstance(node, Wikilink):
            _collect_link(node, pieces)
        elif isinstance(node, Tag):
            _collect_tag(node, pieces)
        elif isinstance(node, ExternalLink):
            _collect(node.title, pieces)
        elif isinstance(node, Heading):
            pieces.append("\n")
            _collect(node.title, pieces)
            pieces.append("\n")
        elif isinstance(node, HTMLEntity):
            pieces.append(_character(node))


def _collect_link(link: Wikilink, pieces: list[str]) -> None:
    title = str(link.title)
    if _NAMESPACE.match(title):
        return
    if link.text is not None:
        _collect(link.text, pieces)
    else:
        pieces.append(title.strip().removeprefix(":").split("#", 1)[0])


def _collect_tag(tag: Tag, pieces: list[str]) -> None:
    name = str(tag.tag).strip().lower()
    if name in GONE_TAGS:
        return
    line = name in LINE_TAGS and not tag.wiki_markup
    if line:
        pieces.append("\n")
    _collect(tag.contents, pieces)
    if line:
        pieces.append("\n")


def _character(entity: HTMLEntity) -> str:
    try:
        return str(entity.normalize())
    except (ValueError, OverflowError):
        return ""
