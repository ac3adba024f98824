"""Replace personal data by pseudonyms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from data.pii.detect import find_values
from data.pii.surrogate import surrogate
from data.pii.type_names import ON_REQUEST, PII_TYPES
from data.pii.types.base import Found
from data.pii.written import written_like


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
    pieces, position = [], 0
    for start, end, _, pseudonym in replacements:
        pieces += [text[position:start], pseudonym]
        position = end
    pieces.append(text[position:])
    return "".join(pieces)
