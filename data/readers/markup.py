"""The markup of text fields to plain text, whatever file holds them; and telling that a text holds wiki markup."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec

from common.bounded import UnreadableError
from common.errors import UserError
from data.readers.namuwiki import is_redirect, namumark_to_text
from data.readers.records import Reject, Skipped
from data.readers.settings import Markup

_WIKI = (
    re.compile(r"^={2,6}#? ?[^=\n]{1,200}?[^=\n] ?#?={2,6}[ \t]*$", re.MULTILINE),
    re.compile(r"\[\[[^\[\]\n]{1,300}\]\]"),
    re.compile(r"'''[^'\n]{1,300}'''"),
    re.compile(r"\{\{[^{}]{1,1000}\}\}|\{\{\{[^{}\n]{1,300}\}\}\}"),
    re.compile(r"^\|\|.{1,500}\|\|[ \t]*$|^\{\|", re.MULTILINE),
    re.compile(r"\[(?:목차|각주|include\(|br\])|\[\* |<ref[\s>/]"),
)
"""Headings, links, bold print, templates and boxes, tables, notes and macros of wikis."""
WIKIS = ("namuwiki", "mediawiki")
_FLAT_HEADING = re.compile(r"(?<!\S)(={2,6}) ?[^=\s](?:[^=\n]{0,98}[^=\s])? ?\1(?!\S)")
"""A heading in a page whose line ends were made blanks, as tables often hold them."""
_SIGNS = ("[[", "'''", "{{", "==", "||", "[*", "<ref", "[목차")
LEAST_KINDS = 2
"""Kinds of marks in a text that is taken for wiki markup; programs and texts on them hold one."""
_CHARS = 20_000
"""Beginning of a text in which marks are looked for."""


class MissingParserError(UserError):
    """The package that reads a markup is not installed."""


def without_markup(sources: list[str], number: int, markup: Markup) -> tuple[list[str], int] | Reject | Skipped:
    """Return texts without their markup and how many sentences went with it, or why they are no document."""
    if markup in WIKIS and any(map(is_redirect, sources)):
        return Skipped(number, "redirect")
    convert = converter_of(markup)
    texts = []
    dropped = 0
    for source in sources:
        if markup in WIKIS and "\n" not in source:
            source = _FLAT_HEADING.sub(r"\n\g<0>\n", source)
        try:
            text, count = convert(source)
        except UnreadableError as error:
            return Reject(number, str(error))
        texts.append(text)
        dropped += count
    return texts, dropped


def converter_of(markup: Markup) -> Callable[[str], tuple[str, int]]:
    """Return the function that takes a text in a markup to plain text and the number of sentences that went."""
    if markup == "namuwiki":
        return namumark_to_text
    if markup == "mediawiki":
        from data.readers.wikicode import wikicode_to_text

        return wikicode_to_text
    if markup == "html":
        from data.readers.html import html_to_text

        return lambda source: (html_to_text(source), 0)
    from data.readers.markdown import markdown_to_text

    return lambda source: (markdown_to_text(source), 0)


def require_parser(markup: Markup | None) -> None:
    """Raise a MissingParserError where the package that reads a markup is not installed; Python 3.14 has no wheel."""
    if markup == "mediawiki" and not find_spec("mwparserfromhell"):
        raise MissingParserError(
            "MediaWiki markup needs mwparserfromhell, which is not installed",
            "the package has no wheel for Python 3.14, and is installed with Hunmin on Python 3.10 to 3.13 only",
            "use one of these, or install it where there is a C compiler: pip install 'mwparserfromhell>=0.7'",
        )


def holds_wiki_markup(text: str) -> bool:
    """Return whether a text holds marks of a wiki of at least `LEAST_KINDS` kinds."""
    if not any(sign in text for sign in _SIGNS):
        return False
    begin = text[:_CHARS]
    return sum(kind.search(begin) is not None for kind in _WIKI) >= LEAST_KINDS
