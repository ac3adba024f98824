"""Keyed pseudonyms: HMAC-SHA256 of (type, normalised original) under the key decides every character.

The normalised original is the value without what varies between spellings (separators, +82, letter case, full width,
digits written out), so one number written in several ways keeps one pseudonym, laid into each spelling (written.py).
The form and the separators stay. A pseudonym is an invented number where the type allows it:

| type | pseudonym | why it is invented |
|---|---|---|
| URL | host under example.com/.org/.net, invented path | names reserved for documentation (RFC 2606) |
| EMAIL | invented name at example.com/.org/.net | the same |
| MAC | random, locally administered bit set, no group bit | no maker's device has it (phones draw such ones anew) |
| IP | 192.0.2.0/24, 198.51.100.0/24, 203.0.113.0/24; 2001:db8::/32 | documentation ranges (RFC 5737, 3849) |
| CARD | first digit kept, the rest random | fails the Luhn check |
| RRN, FRN | month 13-19, day 32-39, G of the type | no such day, and the check digit fails in every form in use |
| DRIVER_LICENSE | region code 90-99; 세종 in the old form | codes end at 28; 세종 had no licences of that form |
| BRN | random | the check digit fails |
| TEL | prefix kept, then 0 and random digits; 15xx, 16xx, 18xx become 1500 | exchanges begin with 2-9, 1500 is free |
| BANK_ACCOUNT | first three digits 000 | no bank has branch or product 000 |
| PASSPORT | X and random digits (letter) | no passport type has X |
| HEALTH_INSURANCE | first digit 0 | certificates begin with 1-9 |
| VEHICLE_PLATE | class 00 or 000, letter of its group, other region, district; mission 000 | classes begin at 01 |
| ADDRESS | other province, invented district, town and road, as many digits | no such district; 세종 gets one too |
| MENTION | invented handle of twelve letters | not avoidable; an accidental hit has a chance below 1e-9 |
| NAME | invented surname and given name | no such surname |
| NICKNAME | invented name of Latin letters | not avoidable: any word can be a nickname |

Different originals can meet in one pseudonym where the form leaves little room: 762 IPv4 addresses, 10^4 plates per
letter, 10^6 to 10^7 telephone numbers per prefix.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from data.nfc import nfc_places
from data.pii.detect import find_values
from data.pii.type_names import ON_REQUEST, PII_TYPES
from data.pii.types import BY_NAME
from data.pii.types.base import Draw, Found
from data.pii.written import written_like


def surrogate(key: bytes, kind: str, value: str) -> str:
    """Return the pseudonym of a value in plain characters, in its own format and never equal to it."""
    record = BY_NAME[kind]
    normal = record.normalise(value)
    attempt = 0
    while True:
        made = record.make(value, normal, Draw(key, kind, normal, attempt))
        if record.normalise(made) != normal:
            return made
        attempt += 1


class Replacement(NamedTuple):
    """A replaced span: characters start..end of the *input*, the type's name and the pseudonym put there."""

    start: int
    end: int
    type: str
    surrogate: str


class Pseudonymizer:
    """Replaces personal data by keyed pseudonyms: the same original, key and type give the same pseudonym.

    It holds nothing but the key, so any number of workers give the same text. Run it once over a text: a second run
    with the same key is well defined and deterministic, but it replaces again those pseudonyms that still have a form
    it detects (telephone numbers, mail and network addresses, addresses, handles), giving pseudonyms of pseudonyms.

    Args:
        types: names of the types to replace. The 16 are recognised whatever this says, those on request where named.
    """

    def __init__(self, key: bytes, types: Iterable[str] = PII_TYPES) -> None:
        self._key = key
        self._types = frozenset(types)
        self._on_request = not set(ON_REQUEST).isdisjoint(self._types)

    def apply(self, text: str) -> tuple[str, list[Replacement]]:
        """Return the text with its personal data replaced, and the replacements in order."""
        return self.apply_many([text])[0]

    def apply_many(self, texts: list[str]) -> list[tuple[str, list[Replacement]]]:
        """Return `apply` of every text; much faster than one by one, because clean texts are passed over together."""
        results: list[tuple[str, list[Replacement]]] = [(text, []) for text in texts]
        for index, located in find_values(texts, self._on_request).items():
            replacements = [
                Replacement(piece.start, piece.end, piece.type, self._pseudonym(texts[index], piece))
                for piece in located
                if piece.type in self._types
            ]
            results[index] = replaced(texts[index], replacements), replacements
        return results

    def _pseudonym(self, text: str, piece: Found) -> str:
        made = surrogate(self._key, piece.type, piece.value)
        return written_like(text[piece.start : piece.end], piece.value, made)


def replaced(text: str, replacements: list[Replacement]) -> str:
    """Return a text with pseudonyms in their places, which are sorted and without overlaps."""
    pieces = []
    position = 0
    for start, end, _, pseudonym in replacements:
        pieces += [text[position:start], pseudonym]
        position = end
    pieces.append(text[position:])
    return "".join(pieces)


def pseudonymize(pseudonymizer: Pseudonymizer, texts: list[str]) -> list[tuple[str, list[Replacement]]]:
    """Return the result of `pseudonymizer.apply_many` for texts in any form; offsets are those in the texts as given.

    Its patterns are of composed text; macOS and PDFs decompose Hangul.
    """
    apart = {place: nfc_places(text) for place, text in enumerate(texts) if not unicodedata.is_normalized("NFC", text)}
    results = pseudonymizer.apply_many([apart[n].text if n in apart else text for n, text in enumerate(texts)])
    for place, whole in apart.items():
        spans = [whole.original_span(span.start, span.end) for span in results[place][1]]
        replacements = [span._replace(start=a, end=b) for span, (a, b) in zip(results[place][1], spans, strict=True)]
        results[place] = replaced(texts[place], replacements), replacements
    return results
