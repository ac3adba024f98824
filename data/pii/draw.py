"""The keyed choices that a pseudonym is made of, and laying digits into a value's own form."""

from __future__ import annotations

import hmac
from collections.abc import Sequence

_SYLLABLES = [consonant + vowel for vowel in "aeiou" for consonant in "bdghjkmnprstyw"]


class Draw:
    """A stream of choices that is a function of the key, the type and the normalised original.

    `attempt` is more than 0 where the pseudonym before came out equal to the original.
    """

    def __init__(self, key: bytes, kind: str, normal: str, attempt: int = 0) -> None:
        self.key = key
        self.attempt = attempt
        message = f"{kind}\0{attempt}\0{normal}".encode("utf-8", "surrogatepass")
        self._pool = int.from_bytes(hmac.digest(key, message, "sha256"), "big")

    def below(self, bound: int) -> int:
        """Return a number in 0..bound-1."""
        self._pool, value = divmod(self._pool, bound)
        return value

    def choice(self, options: Sequence[str]) -> str:
        """Return one of the options."""
        return options[self.below(len(options))]

    def digits(self, length: int) -> str:
        """Return that many decimal digits."""
        return f"{self.below(10**length):0{length}d}" if length else ""

    def name(self, syllables: int) -> str:
        """Return an invented lower-case name of two letters a syllable."""
        return "".join([_SYLLABLES[self.below(70)] for _ in range(syllables)])


def lay(value: str, digits: str) -> str:
    """Return `value` with its last len(digits) digits replaced in order."""
    positions = [i for i, c in enumerate(value) if c in "0123456789"][-len(digits) :]
    characters = list(value)
    for position, digit in zip(positions, digits, strict=True):
        characters[position] = digit
    return "".join(characters)
