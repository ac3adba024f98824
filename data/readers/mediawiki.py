"""MediaWiki XML dumps (pages-articles): the pages of namespace 0 that are no redirects, wikitext to text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

from common.bounded import TOO_MANY, UnreadableError, decoded
from data.readers.blocks import Borders
from data.readers.holes import MISSING_VALUE
from data.readers.records import Block, InputFile, Item, Reject, Skipped, made_document, parse_each

MOST_ELEMENTS = 1_000_000
"""Tags in one page, each of which takes some hundred bytes of memory; the wikitext in it has none."""
_REDIRECT = re.compile(r"\s*#(?:redirect|넘겨주기)\b", re.I)
_END = b"</page>"
_PAGE = re.compile(rb"<page>.*?</page>", re.DOTALL)
PAGES = Borders(
    lambda data: data.rfind(_END) + len(_END) if _END in data else 0,
    lambda data: data.find(_END) + len(_END) if _END in data else 0,
    lambda data: data.count(_END),
)


def parse_mediawiki(file: InputFile, block: Block) -> Iterator[Item]:
    """Yield the pages of a block; redirects, other namespaces and other content than wikitext are skipped."""
    return parse_each(file, _pages(block), _page)


def _pages(block: Block) -> Iterator[tuple[int, bytes] | Reject]:
    number, done = block.first_line, 0
    for match in _PAGE.finditer(block.data):
        yield number, match.group()
        number, done = number + 1, match.end()
    if b"<page>" in block.data[done:]:
        yield Reject(number, "cut short")


def _page(file: InputFile, number: int, raw: bytes) -> Iterator[Item]:
    from data.readers.wikicode import wikicode_to_text

    if raw.count(b"<") > MOST_ELEMENTS:
        raise UnreadableError(TOO_MANY)
    try:
        page = ElementTree.fromstring(raw)
    except ElementTree.ParseError:
        decoded(raw)
        raise UnreadableError("not well-formed XML") from None
    revisions = page.findall("revision")
    if not revisions:
        raise UnreadableError("a page without revision")
    source = revisions[-1].findtext("text") or ""
    if page.findtext("ns", "0").strip() != "0":
        yield Skipped(number, "other namespace")
    elif page.find("redirect") is not None:
        yield Skipped(number, "redirect")
    elif revisions[-1].findtext("model", "wikitext") != "wikitext":
        yield Skipped(number, "no wikitext")
    elif _REDIRECT.match(source):
        yield Skipped(number, "redirect")
    else:
        text, dropped = wikicode_to_text(source)
        yield made_document(file, (page.findtext("id") or "").strip() or number, text)
        yield from [Skipped(number, MISSING_VALUE)] * dropped
