"""Find personal data in texts: the gate first, then the patterns and their checks on the lines that it let through.

A line is looked at as it stands; where its gate says so, also folded to plain characters (fold.py) and for values
that are written in another way (obfuscated.py); and where it may end within a number, together with the next lines
(line_wrapped.py). What covers more of the text wins: a value is taken whole or not at all.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from data.pii.beside_label import LABEL_FINDERS, labelled_cells
from data.pii.fold import View, fold, is_folded_sign
from data.pii.gate import WORDED, Gate, Parts, Window, gate
from data.pii.line_wrapped import BREAK_TAG_BEGINS, line_wrapped, may_continue
from data.pii.obfuscated import FINDERS, FOLD
from data.pii.type_names import PII_TYPES
from data.pii.types import BY_NAME
from data.pii.types.base import Found, accepted

_AROUND = 64
"""Characters before and after a line that a folded view shows, too: labels may stand there."""

_LONGEST = 176
"""Characters of a value that is looked for near what its gate matches, at most (see `gate.REACH`)."""
_NEAR = frozenset((*BY_NAME, "run")) - WORDED
"""What is looked for so: values that are shorter, and no lists."""
_ANYWHERE: Mapping[str, None] = MappingProxyType({})


class Span(NamedTuple):
    """A piece of personal data: characters start..end (end not included) and the type's name."""

    start: int
    end: int
    type: str


def find_spans(text: str, on_request: bool = False) -> list[Span]:
    """Return the personal data in a text, sorted and without overlaps; a number may run over a line end.

    Args:
        on_request: whether to look for the types, too, that are replaced only where settings name them.
    """
    return find_many([text], on_request)[0]


def find_many(texts: list[str], on_request: bool = False) -> list[list[Span]]:
    """Return `find_spans` of every text; much faster than one by one, because the gate runs over all at once."""
    spans: list[list[Span]] = [[] for _ in texts]
    for index, located in find_values(texts, on_request).items():
        spans[index] = [Span(start, end, kind) for start, end, kind, _ in located]
    return spans


def find_values(texts: list[str], on_request: bool = False) -> dict[int, list[Found]]:
    """Return index of a text → its personal data with the values in plain characters, for the texts that hold any."""
    used = gate(on_request)
    located: dict[int, list[Found]] = {}
    for window in used.windows(texts):
        pieces = _in_line(texts[window.text], window, used)
        if not pieces:
            continue
        here = located.setdefault(window.text, [])
        # a value of a line before may end in this one: only the last of all are looked at again
        first = len(here)
        while first and here[first - 1].end > pieces[0].start:
            first -= 1
        here[first:] = _settled(here[first:], pieces)
    return located


def _in_line(text: str, window: Window, used: Gate) -> list[Found]:
    _, start, end, types = window
    kinds = [name for name in types if name in BY_NAME]
    pieces = [Found(*span, text[span.start : span.end]) for span in scan(text, start, end, kinds, types)]
    if FOLD in types:
        pieces = [piece for piece in pieces if _stands_alone(text, piece)]
        pieces = _settled(pieces, _folded(text, start, end, used))
    for name, parts in types.items():
        if name in FINDERS:
            pieces = _settled(pieces, _obfuscated(name, text, start, end, parts), name in LABEL_FINDERS)
    for name, cell in labelled_cells(text, start, end, types) if types else ():
        below = chain(*_in_view(cell, 0, len(cell.text), used))
        pieces = _settled(pieces, sorted(piece for piece in below if piece.type == name))
    if may_continue(text, end) or BREAK_TAG_BEGINS.search(text, start, end):
        more = line_wrapped(text, start, end, lambda view: chain(*_in_view(view, 0, len(view.text), used)))
        pieces = _settled(pieces, sorted(more))
    return pieces


def _stands_alone(text: str, piece: Found) -> bool:
    return not (
        is_folded_sign(text[max(0, piece.start - 1) : piece.start]) or is_folded_sign(text[piece.end : piece.end + 1])
    )


def _folded(text: str, start: int, end: int, used: Gate) -> list[Found]:
    begin = max(0, start - _AROUND)
    view = fold(text, begin, min(len(text), end + _AROUND))
    first = bisect_left(view.places, start)
    last = bisect_left(view.places, end)
    pieces: list[Found] = []
    for more in _in_view(view, first, last, used):
        pieces = _settled(pieces, more)
    return pieces


def _in_view(view: View, start: int, end: int, used: Gate) -> Iterator[list[Found]]:
    """Yield what is found in characters start..end of a view, by its places in the original: a list a way, sorted."""
    types = used.line_types(view.text, start, end)
    spans = scan(view.text, start, end, [name for name in types if name in BY_NAME], types)
    yield [Found(*view.extent(s.start, s.end), s.type, view.text[s.start : s.end]) for s in spans]
    for name, parts in types.items():
        if name in FINDERS:
            obfuscated = _obfuscated(name, view.text, start, end, parts)
            yield [Found(*view.extent(first, last), kind, value) for first, last, kind, value in obfuscated]


def _parts(name: str, start: int, end: int, parts: Parts | None) -> Parts:
    return [(start, end)] if parts is None or name not in _NEAR else parts


def _obfuscated(name: str, text: str, start: int, end: int, parts: Parts | None) -> Iterator[Found]:
    for begin, stop in _parts(name, start, end, parts):
        for piece in FINDERS[name][1](text, begin, stop):
            if stop == end or piece.start <= stop - _LONGEST:
                yield piece


def _settled(pieces: list[Found], more: Iterable[Found], surer: bool = False) -> list[Found]:
    """Return both without overlaps: one of `more` takes the place of what it covers, and gives way to what it cuts.

    Args:
        pieces: sorted, without overlaps.
        more: sorted by their beginnings. Both are gone through once: a line may hold any number of values.
        surer: whether the type of `more` holds where both have one value.
    """
    settled: list[Found] = []
    next_ = 0
    for piece in more:
        while next_ < len(pieces) and pieces[next_].end <= piece.start:
            settled.append(pieces[next_])
            next_ += 1
        before = len(settled)
        while before and settled[before - 1].end > piece.start:
            before -= 1
        after = next_
        while after < len(pieces) and pieces[after].start < piece.end:
            after += 1
        met = settled[before:] + pieces[next_:after]
        if any(other.start < piece.start or piece.end < other.end for other in met):
            continue
        if len(met) == 1 and met[0][:2] == piece[:2] and not surer:
            continue
        settled[before:] = [piece]
        next_ = after
    return settled + pieces[next_:]


def scan(
    text: str, start: int, end: int, types: Iterable[str] = PII_TYPES, near: Mapping[str, Parts | None] = _ANYWHERE
) -> list[Span]:
    """Return the personal data in text[start:end] by the patterns and checks alone (the gate's yardstick).

    The range begins and ends at line ends; `types` stand in the order in which they claim text.

    Args:
        near: in which parts of the range a type is looked for (see `Gate.line_types`).
    """
    spans: list[Span] = []
    claimed = bytearray(0)
    for name in types:
        kind = BY_NAME[name]
        search = kind.pattern.search
        exact = kind.exact
        for position, stop in _parts(name, start, end, near.get(name)):
            while (match := search(text, position, stop)) is not None:
                if stop < end and match.start() > stop - _LONGEST:
                    break
                if exact and spans and claimed[match.start() - start]:
                    free = claimed.find(0, match.start() - start)
                    if free < 0:
                        break
                    position = start + free
                    continue
                extent = accepted(kind, text, match)
                if extent is None:
                    position = match.start() + 1
                    continue
                first, last = extent
                if spans and claimed.find(1, first - start, last - start) >= 0:
                    position = match.start() + 1
                    continue
                if not spans:
                    claimed = bytearray(end - start)
                claimed[first - start : last - start] = b"\1" * (last - first)
                spans.append(Span(first, last, name))
                position = last
    return sorted(spans)
