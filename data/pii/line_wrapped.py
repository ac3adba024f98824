"""Numbers wrapped over a line end, or by a <br>: put together again, and found as if they stood on one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from data.pii.fold import View
from data.pii.runs import NUMBER_TYPES
from data.pii.types import BY_NAME
from data.pii.types.address.head import HEAD_BREAK, OVER_LINE_END, on_one_line
from data.pii.types.base import BEFORE, DASH, Found, digits_of, labelled

_NUMBER_NAMES = frozenset(kind.name for kind in NUMBER_TYPES)
_BREAK = r"(?:\r?\n|<[bB][rR] ?/?>\r?\n?)"
_BROKEN = re.compile(
    rf"(?<![0-9A-Za-z])[0-9+(](?:[0-9+() .·{DASH}]{{0,24}} ?{_BREAK} ?(?=[0-9(.{DASH}])){{1,3}}"
    rf"[0-9() .·{DASH}]{{0,24}}[0-9]"
)
_BREAKS = re.compile(rf" ?{_BREAK} ?")
BREAK_TAG_BEGINS = re.compile("<[bB][rR]")
_BREAK_TAG = re.compile("<[bB][rR] ?/?>")
_TAIL = re.compile(r"[0-9+() .·\-‐‑‒–—−ㅡ]{1,30}\r?\Z")
_CONTINUES = re.compile(rf"[{DASH}] ?{_BREAK}|{_BREAK}[{DASH}][0-9]")
"""A dash at a line's end, or before the digits that begin the next: a number continues (a list's "- 7" does not)."""
_AT_A_DOT = re.compile(rf"[0-9]\. ?{_BREAK} ?[0-9]|[0-9] ?{_BREAK} ?\.[0-9]")
LINE_WRAPPED_GATE = (
    rf"[0-9][{DASH}] ?\r?\n ?[0-9(]|[0-9] ?\r?\n[{DASH}][0-9]"
    rf"|01[016789][ .{DASH}]?[0-9]*[ .{DASH}]?[0-9]* ?\r?\n ?[{DASH}]?[0-9]"
    r"|[0-9][-. )]{0,2}<[bB][rR]"
    r"|[0-9]\.[0-9]{1,3}\.?[0-9]{0,3} ?\r?\n ?\.?[0-9]{1,3}(?:\.[0-9]|[^0-9.]|\z)"
    r"|[0-9]{2} ?[가-힣] ?\r?\n ?[0-9]{4}|[MSRODmsrod][0-9]{1,7}\r?\n[0-9]"
    r"|[A-Za-z0-9_]@ ?\r?\n ?[A-Za-z0-9]"
    rf"|{OVER_LINE_END}"
)
"""In RE2 syntax, the only gate that looks past the end of a line."""
_ENDS = frozenset("0123456789-‐‑‒–—−ㅡ).")
_MOBILE = re.compile("(?<![0-9])0[^0-9]{0,5}1[^0-9]{0,5}0(?:[^0-9]{0,5}[0-9]){8}(?![0-9])")
"""Eleven digits of a mobile number, whatever stands between them."""
_FEWEST = 8
"""Digits of the shortest number without dots that is put together: 1588-1234."""
_BEGINS = frozenset("0123456789-‐‑‒–—−ㅡ(")
_MAIL = re.compile(
    rf"(?<![A-Za-z0-9._%+-])[A-Za-z0-9_][A-Za-z0-9._%+-]{{0,62}}@ ?{_BREAK} ?"
    r"[A-Za-z0-9-]{1,40}(?:\.[A-Za-z0-9-]{1,20}){0,2}\.[A-Za-z]{2,10}(?![A-Za-z0-9-])"
)
_CODE_BREAK = re.compile(
    r"[0-9]{2} ?[가-힣] ?\r?\n ?[0-9]{4}(?![0-9])|(?<![A-Za-z0-9])[MSRODmsrod][0-9]{1,7}\r?\n[0-9]{1,7}(?![0-9])"
)
_ADDRESS_BREAK = re.compile(OVER_LINE_END)
_MAY_BREAK = re.compile(r"\n(?<=[가-힣0-9 ,\r]\n) ?[가-힣0-9A-Z·][^\n]*(?<=[0-9])")
"""A relaxation of `_ADDRESS_BREAK` that begins with the line end, so that a search for it is several times faster."""
_HEAD_BREAK = re.compile(rf"[가-힣][ \t]?{HEAD_BREAK}[ \t]*[가-힣0-9A-Z]")
"""A line end between the words of a head, which Hangul stands before."""
_NEXT = 64
"""Characters after a line end that are looked at."""

_LONGEST = 160
"""Characters after its first break in which a line-wrapped number ends."""

Scan = Callable[[View], Iterator[Found]]


def may_continue(text: str, end: int) -> bool:
    """Return whether the line that ends at `end` may end within a number."""
    if end >= len(text):
        return False
    before = text[max(0, end - 3) : end].rstrip("\r ")[-1:]
    after = text[end + 1 : end + 4].lstrip(" ")[:1]
    if after in _BEGINS and (before in _ENDS or _code_continues(text, end)):
        return True
    return before == "@" or _address_continues(text, end)


def _code_continues(text: str, end: int) -> bool:
    return _CODE_BREAK.search(text, max(0, end - 10), end + 12) is not None


def _address_continues(text: str, end: int) -> bool:
    place = max(0, end - 4), end + _NEXT
    return _MAY_BREAK.search(text, *place) is not None and _ADDRESS_BREAK.search(text, *place) is not None


def line_wrapped(text: str, start: int, end: int, scan: Scan) -> Iterator[Found]:
    """Yield the numbers in text[start:end], or beginning there, that are broken apart; `scan` finds them in a view."""
    places = [extent for extent in [_number_before(text, start, end)] if extent and end < len(text)]
    at = text.find("<", start, end)
    while at >= 0:
        if text[at + 1 : at + 3].lower() == "br" and (extent := _number_before(text, start, at)):
            places.append(extent)
        at = text.find("<", at + 1, end)
    done = start
    for place, at in sorted(places):
        # what begins behind this break is looked for from its own
        match = _BROKEN.search(text, max(place, done), min(len(text), max(end, place) + _NEXT, at + _LONGEST))
        if match is None or match.start() >= min(end, at):
            continue
        done = match.end()
        yield from _joined(text, match, scan)
    if _address_continues(text, end) or _BREAK_TAG.search(text, start, end):
        yield from _address(text, start, end, scan)
    if _code_continues(text, end):
        yield from _code(text, start, end, scan)
    if text[max(start, end - 2) : end].rstrip("\r ")[-1:] == "@":
        yield from _mail(text, start, end)


def _number_before(text: str, start: int, at: int) -> tuple[int, int] | None:
    tail = _TAIL.search(text, max(start, at - 30), at)
    return (tail.start(), at) if tail else None


def _mail(text: str, start: int, end: int) -> Iterator[Found]:
    match = _MAIL.search(text, max(start, end - _NEXT - 2), min(len(text), end + _NEXT))
    if match is not None:
        yield Found(*match.span(), "EMAIL", _BREAKS.sub("", match[0]))


def _address(text: str, start: int, end: int, scan: Scan) -> Iterator[Found]:
    begin = max(0, start - _NEXT, end - 2 * _NEXT) if _BREAK_TAG.search(text, start, end) is None else start
    stop = min(len(text), end + 1 + 2 * _NEXT)
    line = on_one_line(text[begin:stop])
    if _HEAD_BREAK.search(line) is None:
        return
    for piece in scan(View(line, range(begin, stop))):
        if piece.type == "ADDRESS" and piece.start < end and HEAD_BREAK in piece.value:
            yield piece._replace(value=text[piece.start : piece.end])


def _code(text: str, start: int, end: int, scan: Scan) -> Iterator[Found]:
    begin = max(start, end - _NEXT)
    stop = min(len(text), end + 1 + _NEXT)
    first = text[begin:end].rstrip("\r")
    view = View(f"{first}{text[end + 1 : stop]}", [*range(begin, begin + len(first)), *range(end + 1, stop)])
    for piece in scan(view):
        label = BY_NAME[piece.type].label
        if (
            piece.type in ("VEHICLE_PLATE", "PASSPORT")
            and piece.start < end < piece.end
            and label
            and labelled(label, text, piece.start, piece.end)
        ):
            yield piece


def _joined(text: str, match: re.Match[str], scan: Scan) -> Iterator[Found]:
    first, last = match.span()
    begin, stop = max(0, first - BEFORE), min(len(text), last + 16)
    continues = _CONTINUES.search(match[0]) is not None
    dotted = match[0].count(".") >= 3
    at_a_dot = _AT_A_DOT.search(match[0]) is not None
    mobile_only = not continues and not (dotted and at_a_dot)
    digits = digits_of(match[0])
    if not dotted and (len(digits) < _FEWEST or (mobile_only and "010" not in digits)):
        return
    gaps = [gap.span() for gap in _BREAKS.finditer(text, first, last)]
    going = [_CONTINUES.search(text, max(first, left - 2), right + 2) is not None for left, right in gaps]
    if continues and True in going and False in going[going.index(True) :]:  # the next line is another number
        at = going.index(False, going.index(True))
        stop = gaps[at][0]
        gaps = gaps[:at]
    firsts = [begin, *(right for _, right in gaps)]
    lasts = [*(left for left, _ in gaps), stop]
    pieces = list(zip(firsts, lasts, strict=True))
    for joint in ("", " "):
        joined = joint.join([text[left:right] for left, right in pieces])
        if mobile_only and _MOBILE.search(joined) is None:
            continue
        places: list[int] = []
        for left, right in pieces:
            places += range(left, right + len(joint))  # the joint stands where the break begins
        whole = False
        for piece in scan(View(joined, places[: len(joined)])):
            crosses = any(piece.start < right and left < piece.end for left, right in gaps)
            number = digits_of(piece.value)
            mobile = piece.type == "TEL" and number.startswith("010") and len(number) == 11
            if crosses and (mobile or (piece.type == "IP" and at_a_dot) or (continues and piece.type in _NUMBER_NAMES)):
                whole = True
                yield piece
        if whole:
            return
