"""RE2 over one byte per character class instead of UTF-8: fewer states, and match positions are characters."""

from __future__ import annotations

import re
from itertools import accumulate

import numpy as np
import re2
from numpy.typing import NDArray

_CODES = 0x110000
_ASCII = [*range(9, 14), *range(32, 127)]
"""Codes that are their own byte: whitespace and printable ASCII, which RE2 case-folds."""
_CLASSES = np.setdiff1d(np.arange(256, dtype=np.uint8), _ASCII)
"""Bytes for the classes of all other characters."""
_CASE_FOLDED = {0x17F: ord("s"), 0x212A: ord("k")}
"""Characters that (?i:s) and (?i:k) match."""
_ESCAPE = r"\\x\{[0-9A-Fa-f]+\}|\\x[0-9A-Fa-f]{2}|\\."
_SIGN = re.compile(rf"\[\^?(?:{_ESCAPE}|[^\]\\])+\]|{_ESCAPE}|[^\x00-\x7f]", re.DOTALL)
"""What stands for characters in a pattern, but for ASCII literals: a class, an escape or a character."""
_RANGE = re.compile(rf"({_ESCAPE}|[^\\])(?:-({_ESCAPE}|[^\\]))?", re.DOTALL)
_CONTROLS = dict(zip("tnvfr", range(9, 14), strict=True))

_Ranges = tuple[tuple[int, int], ...]


def code_points(text: str) -> NDArray[np.uint32]:
    """Return the code point of each character."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


class Bytewise:
    """A pattern (RE2 syntax) that matches in `encode` of a text wherever the original matches in the text.

    A pattern with more character classes than there are bytes matches more: some classes share a byte.
    """

    def __init__(self, pattern: str, options: re2.Options) -> None:
        signs = {sign: _ranges(sign) for sign in set(_SIGN.findall(pattern))}
        self._bytes = _byte_table(sorted(set(signs.values())))
        options.encoding = re2.Options.Encoding.LATIN1
        self.compiled = re2.compile(_SIGN.sub(lambda m: self._class(signs[m[0]]) or m[0], pattern).encode(), options)

    def encode(self, codes: NDArray[np.uint32]) -> bytes:
        """Return one byte per code point."""
        return self._bytes.take(codes).tobytes()

    def _class(self, ranges: _Ranges) -> str:
        used = sorted({byte for first, last in ranges for byte in np.unique(self._bytes[first : last + 1]).tolist()})
        return "[" + "".join(f"\\x{byte:02x}" for byte in used) + "]" if used else ""


def _ranges(sign: str) -> _Ranges:
    if sign[0] != "[":
        return () if sign[1:] in ("A", "z") else ((_code(sign), _code(sign)),)
    negated = sign[1] == "^"
    ranges = sorted((_code(match[1]), _code(match[2] or match[1])) for match in _RANGE.finditer(sign[1 + negated : -1]))
    if not negated:
        return tuple(ranges)
    before = accumulate((last for _, last in ranges), max, initial=-1)
    after = [*(first for first, _ in ranges), _CODES]
    return tuple((last + 1, first - 1) for last, first in zip(before, after, strict=True) if last + 1 < first)


def _code(sign: str) -> int:
    if len(sign) == 1:
        return ord(sign)
    if sign[1] == "x":
        return int(sign.strip("\\x{}"), 16)
    if sign[1].isalnum() and sign[1] not in _CONTROLS:
        raise ValueError(f"unsupported escape in a pattern: {sign}")
    return _CONTROLS.get(sign[1], ord(sign[1]))


def _byte_table(sets: list[_Ranges]) -> NDArray[np.uint8]:
    edges = np.unique([0, _CODES, *(edge for ranges in sets for first, last in ranges for edge in (first, last + 1))])
    member = np.zeros((len(sets), len(edges) - 1), bool)
    for row, ranges in zip(member, sets, strict=True):
        for first, last in ranges:
            row[edges.searchsorted(first) : edges.searchsorted(last + 1)] = True
    classes = np.unique(member, axis=1, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(classes, np.diff(edges) * (edges[:-1] > _ASCII[-1]))
    place = np.empty(len(sizes), int)
    place[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    # the classes of the most characters have a byte each; what is left over shares the last bytes
    place = np.where(place < len(_CLASSES), place, 2 * len(_CLASSES) - 1 - place)
    table = np.repeat(_CLASSES[place[classes]], np.diff(edges))
    table[_ASCII] = _ASCII
    table[list(_CASE_FOLDED)] = list(_CASE_FOLDED.values())
    return table
