"""MediaWiki XML dumps (pages-articles): the pages of namespace 0 that are no redirects, wikitext to text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

from data.readers.blocks import Borders
from data.readers.holes import MISSING_VALUE
from data.readers.lines import TOO_MANY, UnreadableError, is_utf8
from data.readers.records import NOT_UTF8, Block, InputFile, Item, Reject, Skipped, made_document

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
    number, done = block.first_line, 0
    for match in _PAGE.finditer(block.data):
        yield from _page(file, number, match.group())
        number, done = number + 1, match.end()
    if b"<page>" in block.data[done:]:
        yield Reject(number, "cut short")


def _page(file: InputFile, number: int, raw: bytes) -> Iterator[Item]:
    """Yield a page, and a skipped record for each of its sentences that went."""
    from data.readers.wikicode import wikicode_to_text

    page = _source(number, raw)
    if not isinstance(page, tuple):
        yield page
        return
    identity, source = page
    try:
        text, dropped = wikicode_to_text(source)
    except UnreadableError as error:
        yield Reject(number, str(error))
        return
    yield made_document(file, identity or number, text)
    yield from [Skipped(number, MISSING_VALUE)] * dropped


def _source(number: int, raw: bytes) -> tuple[str, str] | Reject | Skipped:
    """Return id and wikitext of a page, or why it is none that is read."""
    if raw.count(b"<") > MOST_ELEMENTS:
        return Reject(number, TOO_MANY)
    try:
        page = ElementTree.fromstring(raw)
    except ElementTree.ParseError:
        return Reject(number, "not well-formed XML" if is_utf8(raw) else NOT_UTF8)
    revisions = page.findall("revision")
    if not revisions:
        return Reject(number, "a page without revision")
    if page.findtext("ns", "0").strip() != "0":
        return Skipped(number, "other namespace")
    if page.find("redirect") is not None:
        return Skipped(number, "redirect")
    if revisions[-1].findtext("model", "wikitext") != "wikitext":
        return Skipped(number, "no wikitext")
    source = revisions[-1].findtext("text") or ""
    if _REDIRECT.match(source):
        return Skipped(number, "redirect")
    return (page.findtext("id") or "").strip(), source
