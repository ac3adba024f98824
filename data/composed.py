"""Pseudonyms in text of any form of Unicode: macOS and PDFs decompose Hangul, and patterns are of composed text."""

from __future__ import annotations

import unicodedata

from data.nfc import composed
from data.pii import Pseudonymizer, Replacement


def pseudonymize(pseudonymizer: Pseudonymizer, texts: list[str]) -> list[tuple[str, list[Replacement]]]:
    """Return what `pseudonymizer.apply_many` does of texts in any form; places are those in the texts as given."""
    apart = {place: composed(text) for place, text in enumerate(texts) if not unicodedata.is_normalized("NFC", text)}
    results = pseudonymizer.apply_many([apart[n].text if n in apart else text for n, text in enumerate(texts)])
    for place, whole in apart.items():
        given = [(one, whole.given(one.start, one.end)) for one in results[place][1]]
        found = [one._replace(start=start, end=end) for one, (start, end) in given]
        results[place] = _replaced(texts[place], found), found
    return results


def _replaced(text: str, replacements: list[Replacement]) -> str:
    pieces, done = [], 0
    for one in replacements:
        pieces += [text[done : one.start], one.surrogate]
        done = one.end
    return "".join([*pieces, text[done:]])
