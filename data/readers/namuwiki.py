"""The Namuwiki dump: one JSON array of {namespace, title, text, …}; pages of the main namespace, namumark to text."""

from __future__ import annotations

from collections.abc import Iterator

from common.bounded import UnreadableError, load_json
from data.readers.holes import MISSING_VALUE
from data.readers.namumark import is_redirect, namumark_to_text
from data.readers.records import InputFile, Item, Skipped, made_document

MAIN_NAMESPACE = ("0", "", "문서")
"""Dumps before 2021 number the namespaces (as strings or numbers), later ones may name them."""


def parse_page(file: InputFile, number: int, raw: bytes) -> Iterator[Item]:
    """Yield a page, and a skipped record for each of its sentences that went; of redirects and other namespaces one.

    Raises:
        UnreadableError: it is no page.
    """
    page = load_json(raw)
    if not isinstance(page, dict) or not isinstance(page.get("text"), str):
        raise UnreadableError("no field 'text'")
    if str(page.get("namespace", "0")) not in MAIN_NAMESPACE:
        yield Skipped(number, "other namespace")
    elif is_redirect(page["text"]):
        yield Skipped(number, "redirect")
    else:
        text, dropped = namumark_to_text(page["text"])
        yield made_document(file, number, text)
        yield from [Skipped(number, MISSING_VALUE)] * dropped
