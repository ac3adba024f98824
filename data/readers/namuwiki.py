"""The Namuwiki dump: one JSON array of {namespace, title, text, …}; pages of the main namespace, namumark to text."""

from __future__ import annotations

from collections.abc import Iterator

from data.readers.holes import MISSING_VALUE
from data.readers.lines import UnreadableError, load_json
from data.readers.namumark import is_redirect, namumark_to_text
from data.readers.records import InputFile, Item, Reject, Skipped, made_document

MAIN_NAMESPACE = ("0", "", "문서")
"""Dumps before 2021 number the namespaces (as strings or numbers), later ones may name them."""


def parse_page(file: InputFile, number: int, raw: bytes) -> Iterator[Item]:
    """Yield a page, and a skipped record for each of its sentences that went; of redirects and other namespaces one."""
    source = _source(number, raw)
    if not isinstance(source, str):
        yield source
        return
    text, dropped = namumark_to_text(source)
    yield made_document(file, number, text)
    yield from [Skipped(number, MISSING_VALUE)] * dropped


def _source(number: int, raw: bytes) -> str | Reject | Skipped:
    """Return the namumark of a page, or why it is none that is read."""
    try:
        page = load_json(raw)
    except UnreadableError as error:
        return Reject(number, str(error))
    if not isinstance(page, dict) or not isinstance(page.get("text"), str):
        return Reject(number, "no field 'text'")
    if str(page.get("namespace", "0")) not in MAIN_NAMESPACE:
        return Skipped(number, "other namespace")
    if is_redirect(page["text"]):
        return Skipped(number, "redirect")
    return str(page["text"])
