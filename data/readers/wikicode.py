"""Wikitext to plain text: what goes is cut out in one linear pass, what stays is read by mwparserfromhell.

Comments, tags, templates, tables, references, galleries and formulas are cut out, but for templates that show what they
are given (`templates`); of links, files and categories go, and other links, headings and lists keep their text.
Sentences that lack what a template or formula shows go, too (`holes`). The pass leaves no mark open: the parser's time
grows with the square (and more) of the marks that nobody closed.
"""

from __future__ import annotations

import re
from collections import Counter

import mwparserfromhell
from mwparserfromhell.nodes import ExternalLink, Heading, HTMLEntity, Text, Wikilink
from mwparserfromhell.wikicode import Wikicode

from common.bounded import TOO_MANY, UnreadableError
from data.cleaning.markup import with_exponents
from data.readers.holes import HOLE, without_holes
from data.readers.templates import shown

GONE_TAGS = {
    *("ref", "references", "table", "gallery", "math", "chem", "ce", "timeline", "score", "graph", "hiero"),
    *("imagemap", "mapframe", "maplink", "templatedata", "templatestyles", "syntaxhighlight", "source", "pre"),
    *("script", "style", "categorytree", "inputbox", "section", "indicator"),
}
_VALUE_TAGS = {"math", "chem", "ce", "hiero"}
"""Those of them that sentences are made with."""
LINE_TAGS = {"br", "hr", "p", "div", "li", "dt", "dd", "blockquote", "poem", "center", "ul", "ol", "dl"}
_VOID_TAGS = {"br", "hr", "wbr"}
_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<end>/?)(?P<tag>[A-Za-z][A-Za-z0-9]*)(?=[\s/>])[^<>]*?(?P<whole>/?)>"
    r"|\{\{|\}\}|^[ :*]*\{\||^\|\}|\[\[|\]\]|\[(?=(?:https?:|ftp:)?//)(?![^\[\]\n]{1,2000}\])",
    re.DOTALL | re.MULTILINE,
)
TEMPLATE = "{{"
TABLE = "{|"
LINK = "[["
_CLOSED_BY = {"}}": TEMPLATE, "|}": TABLE, "]]": LINK}
MAX_LINK_DEPTH = 4
"""Links nested deeper lose their brackets: captions of files hold links, and nothing else nests."""
_NAMESPACE = re.compile(
    r"\s*(?:파일|그림|이미지|분류|file|image|media|category|[a-z]{2,3}|[a-z]{2,8}-[a-z-]{2,12}):", re.I
)
"""Links that show no text: files, categories, and the same page in another language."""
_BLANKS = re.compile(r"[ \t]+")
_SWITCH = re.compile(r"__[A-Z가-힣]+__")


MOST_VALUE = 5000
"""Characters of a template in a sentence; longer ones are boxes."""
MOST_MARKS = 250_000
"""Links and entities in a page; each takes a kilobyte or two of memory. MediaWiki's own limit is 2 MB a page."""
_NOWIKI = re.compile(r"</nowiki\s*>", re.I)
_LITERAL = {ord(mark): f"&#{ord(mark)};" for mark in "[]{}|='"}


def wikicode_to_text(source: str) -> tuple[str, int]:
    """Return the text of a page, a line for each line of it that holds any, and how many sentences went with holes.

    Raises:
        UnreadableError: it has more than `MOST_MARKS` marks.
    """
    cut = _Cutter().run(with_exponents(source.replace(HOLE, "")))
    if sum(map(cut.count, ("[[", "&", "[http"))) > MOST_MARKS:
        raise UnreadableError(TOO_MANY)
    pieces: list[str] = []
    _collect(mwparserfromhell.parse(cut, skip_style_tags=True), pieces)
    lines = "".join(pieces).split("\n")
    return without_holes("\n".join(filter(None, map(_line, lines))))


def _line(line: str) -> str:
    return _BLANKS.sub(" ", _SWITCH.sub("", line)).strip(" *#:;")


class _Cutter:
    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._opened: list[tuple[str, int]] = []
        """Each open mark or tag, and how many pieces stood before it."""
        self._counts: Counter[str] = Counter()
        self._nowiki_over = False
        """Whether no tag `nowiki` is closed from here on."""

    def run(self, source: str) -> str:
        done = 0
        while match := _TOKEN.search(source, done):
            self._pieces.append(source[done : match.start()])
            done = match.end()
            if match["tag"] and match["tag"].lower() == "nowiki":
                done = self._literal(source, done, bool(match["end"] or match["whole"]))
            elif match["tag"]:
                self._tag(match["tag"].lower(), bool(match["end"]), bool(match["whole"]))
            else:
                self._mark(match.group().lstrip(" :*"))
        self._pieces.append(source[done:])
        # what is left of "<" begins no tag, and the parser need not look for its end
        return "".join(self._pieces).replace("<", "&lt;")

    def _literal(self, source: str, start: int, alone: bool) -> int:
        closing = None if alone or self._nowiki_over else _NOWIKI.search(source, start)
        if closing is None:
            self._nowiki_over = self._nowiki_over or not alone
            return start
        self._pieces.append(source[start : closing.start()].translate(_LITERAL))
        return closing.end()

    def _tag(self, name: str, end: bool, whole: bool) -> None:
        if name in LINE_TAGS:
            self._pieces.append("\n")
        if name in _VOID_TAGS or whole:
            return
        if not end:
            self._open(name)
        elif self._counts[name]:
            start = self._close(name)
            if name in GONE_TAGS:
                del self._pieces[start:]
                self._pieces += [HOLE] if name in _VALUE_TAGS else []

    def _mark(self, mark: str) -> None:
        if mark in (TEMPLATE, TABLE) or (mark == LINK and self._counts[LINK] < MAX_LINK_DEPTH):
            self._open(mark)
        elif self._counts[_CLOSED_BY.get(mark, "")]:
            start = self._close(_CLOSED_BY[mark])
            if mark == "]]":
                self._pieces[start] = LINK
                self._pieces.append("]]")
            elif mark == "}}":
                inside = "".join(self._pieces[start:])
                self._pieces[start:] = [shown(inside) if len(inside) <= MOST_VALUE else HOLE]
            else:
                del self._pieces[start:]

    def _open(self, name: str) -> None:
        self._opened.append((name, len(self._pieces)))
        # the place of a link's brackets, which are put there when they close
        self._pieces.append("")
        self._counts[name] += 1

    def _close(self, name: str) -> int:
        while True:
            inner, start = self._opened.pop()
            self._counts[inner] -= 1
            if inner == name:
                return start


def _collect(code: Wikicode | None, pieces: list[str]) -> None:
    for node in code.nodes if code is not None else ():
        if isinstance(node, Text):
            pieces.append(node.value.replace("'''", "").replace("''", ""))
        elif isinstance(node, Wikilink):
            _collect_link(node, pieces)
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


def _character(entity: HTMLEntity) -> str:
    try:
        character = str(entity.normalize())
        character.encode()
    except (ValueError, OverflowError):  # beyond Unicode, or half a character
        return ""
    return character
