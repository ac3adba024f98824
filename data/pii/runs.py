"""Numbers whose digits stand apart, in boxes or brackets, have letters among them or are joined in unusual ways.

A run of such signs is read as the number that is meant, and the patterns and checks of the types decide on it between
its neighbours: a number in boxes needs what the same number in plain characters needs, and a word for it where its
writing could be a row of something else. A whole value is taken or nothing.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate, pairwise

from data.pii.types.base import BEFORE, DASH, DATE, Found, PiiType, accepted, labelled
from data.pii.types.identity import DRIVER_LICENSE, FRN, HEALTH_INSURANCE, RRN
from data.pii.types.money import BANK_ACCOUNT, BRN, CARD
from data.pii.types.telephone import TEL
from data.pii.written import LOOKALIKES

_LETTERS = "oOоОㅇ○◯〇lIㅣ∣"
_MOBILE_LETTERS = "SsZB"
"""Typed for digits in mobile numbers alone."""
_SIGN = f"[0-9{_LETTERS}{_MOBILE_LETTERS}]"
_OTHER = rf"[^0-9A-Za-z가-힣\n\t{_LETTERS}]"
_WORD = "(?: {0,2}(?:다시|대시|하이픈|국?에|국?의) {0,2})"
_NEXT_SIGN = rf"(?:(?:{_OTHER}{{0,4}}|{_WORD}){_SIGN})"
_WHITE = r"[^!-~가-힣\n\t]{0,4}"
RUN_GATE = (
    rf"(?:(?m:^)|[^\n0-9A-Za-z.=-]|to=)(?:[0oOоОㅇ○◯〇]{_NEXT_SIGN}{{8}}|[8B](?:{_OTHER}{{0,4}}|{_WORD})[2Z]{_NEXT_SIGN}{{8}}"
    rf"|[1lIㅣ∣]{_WHITE}[568SsB](?:{_WHITE}{_SIGN}){{2}}{_NEXT_SIGN}(?:{_WHITE}{_SIGN}){{3}}|{_SIGN}{_NEXT_SIGN}{{9}})"
)
"""What a value begins with: telephone numbers have nine digits and more behind a zero, ten behind the country's code,
or four and four of a service; any other number has ten."""
_RUN = re.compile(
    rf"{_SIGN}(?:(?<![0-9A-Za-z.,/=_-].)(?<![0-9]:.)|(?<=[^0-9A-Za-z_]__.)|(?<=to=.))(?<![0-9] .)"
    rf"(?:(?:{_OTHER}{{0,4}}|{_WORD}){_SIGN}){{7,48}}"
    rf"(?![0-9A-Za-z]|[{DASH}.,:/~*][0-9]| [0-9](?! ?종)| ?종)"
)
_GROUP = re.compile(f"{_SIGN}+")
_MASKED = re.compile(rf"([{_LETTERS}])\1{{2}}")
_ZEROS = re.compile("(?=.*[Oo])(?:[1-9O]+|[1-9o]+)")
"""A number whose writer types O for each zero: OOO is no mask in it, beside a label."""
_PLAIN = re.compile(rf"[{DASH}. )]")
"""Joints that the patterns of the types know."""
_DECIDED = re.compile(
    rf"(?!010[^0-9])(?=.*[0-9]{{2}})(?:[0-9]+(?:(?P<joint>[{DASH}.)])[0-9]+(?:(?P=joint)[0-9]+)*)?"
    "|[0-9]{1,7} [0-9]{1,7})"
    "|(?!.*(?<![0-9])01)[0-9]{1,7}(?: ?, ?[0-9]{1,7})+",
    re.DOTALL,
)
"""Most runs in text: digits with one such joint (dates, versions, network addresses), two short numbers, and lists of
short numbers. `_read` takes none of them, nor any part."""
_LISTED = (",", "/", "·", "|", "→", "")
"""What stands between the values of a list, with blanks or not."""
_NEXT = re.compile(r" ?(?:[,/·→]|및|또는|\((?:[가-힣]{1,4} ){1,2}) ?")
"""Between a value and the next of a list, for which the label of the first speaks."""
_BRACKET = re.compile(r"[()\[\]{}<>\"'`”’】〉」』]")
_BRACKETS = dict(zip("([{<", ")]}>", strict=True))
NUMBER_TYPES = (CARD, RRN, FRN, DRIVER_LICENSE, BRN, TEL, BANK_ACCOUNT, HEALTH_INSURANCE)
"""Types whose values are numbers alone, in the order in which a run of digits is tried as one."""
_MOBILE = re.compile("01[016789][0-9]{7,8}")
_DASHES = frozenset("-‐‑‒–—―−ㅡ")
_AS_DIGITS = str.maketrans(LOOKALIKES)
_DIGITS = range(8, 17)

Group = tuple[int, int]


def run(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield numbers whose digits stand apart, in boxes or brackets, or among letters and signs that are typed for them.

    0 1 0 - 1 2 3 4 - 5 6 7 8, [0][1][0]…, (010)-(1234)-(5678), O2-345-6789, 010/1234/5678, 02  345 6789.
    """
    position = start
    previous: Found | None = None
    while (match := _RUN.search(text, position, end)) is not None:
        position = match.start() + 1
        if previous is None and _DECIDED.fullmatch(match[0]):
            position = _GROUP.match(text, position - 1).end()  # type: ignore[union-attr]
            continue
        groups = [group.span() for group in _GROUP.finditer(text, *match.span())]
        values: list[Found] = []
        for some in _windows(text, groups):
            if any(value.start < some[-1][1] and some[0][0] < value.end for value in values):
                continue
            if (value := _read(text, some, len(some) == len(groups), previous)) is not None:
                values.append(value)
                previous = value
        yield from sorted(values)
        position = match.end() if values else groups[0][1]


def _windows(text: str, groups: list[Group]) -> Iterator[list[Group]]:
    """Yield the groups of a run, all of them first, then those between the signs of a list, then any beside others."""
    number = len(groups)
    digits = [0, *accumulate(right - left for left, right in groups)]
    # the sign of a list before each group, and behind the last
    signs = [",", *(_listed(text[left:right]) for (_, left), (right, _) in pairwise(groups)), ","]
    seen = {(0, number): None}
    for sign in (sign for sign in _LISTED if sign in signs):
        edges = [0, *(place for place in range(1, number) if signs[place] == sign), number]
        if len(edges) > 2:
            seen |= dict.fromkeys(pairwise(edges))
    if number <= 8:
        edges = [place for place, sign in enumerate(signs) if sign is not None]
        for length in range(number - 1, 0, -1):
            seen |= dict.fromkeys((first, first + length) for first in edges if first + length in edges)
    for first, last in seen:
        if digits[last] - digits[first] in _DIGITS and signs[first] is not None and signs[last] is not None:
            yield groups[first:last]


@functools.lru_cache(4096)
def _listed(joint: str) -> str | None:
    """Return the sign of a list that a joint is, "" for blanks; None for any other."""
    sign = _BRACKET.sub("", joint).strip(" ")
    return sign if sign in _LISTED and (sign or joint.isspace()) else None


@functools.lru_cache(4096)
def _core(joint: str) -> str:
    return _BRACKET.sub("", joint).strip()


def _read(text: str, groups: list[Group], alone: bool, previous: Found | None) -> Found | None:
    if DATE.match(text, groups[0][0]):
        return None
    written = [text[first:last] for first, last in groups]
    signs = "".join(written)
    letters = 0 if signs.isdecimal() else len(signs) - sum(sign in "0123456789" for sign in signs)
    zeros = _ZEROS.fullmatch(signs) is not None and len(signs) - letters >= 4
    if letters and not zeros and (_MASKED.search(signs) or len(signs) - letters < 6):
        return None
    digits = [group.translate(_AS_DIGITS) for group in written] if letters else written
    joints = [text[left:right] for (_, left), (right, _) in pairwise(groups)]
    cores = set(map(_core, joints)) - {""}
    mixed = len(cores) > 1
    if (
        len({" /" in joint for joint in joints}) > 1  # a list
        or (mixed and cores > {"/", "-"})
        or len(cores) > 2
        or (cores == {","} and not written[0].startswith("01"))
    ):
        return None
    sizes = tuple(map(len, digits))
    known = not letters and len(set(joints)) < 2 and all(map(_PLAIN.fullmatch, joints)) and max(sizes) > 1
    if known and alone and not (digits[0] == "010" and sizes != (3, 4, 4)):
        return None  # the patterns have decided
    start, end = groups[0][0], groups[-1][1]
    if joints and _BRACKETS.get(text[start - 1 : start]) == joints[0].strip()[:1]:
        start -= 1
    if joints and text[end : end + 1] == _BRACKETS.get(joints[-1].strip()[-1:]):
        end += 1
    if "".join(digits) in "01234567890123456789":
        return None
    for plain in dict.fromkeys(_readings(digits, joints)):
        # what else a list holds does not speak against a value
        view = f"{text[max(0, start - BEFORE) : start]} {plain} {text[end : end + 24]}"
        at = min(start, BEFORE) + 1
        joined = "-" not in plain and 1 < len(groups) <= 8
        for kind in (TEL,) if joined or mixed else NUMBER_TYPES:
            match = kind.pattern.match(view, at)
            if match is None or match.end() != at + len(plain):
                continue
            listed = previous is not None and previous.type == kind.name and _NEXT.fullmatch(text, previous.end, start)
            if not listed and accepted(kind, view, match) != (at, at + len(plain)):
                continue
            has_label = listed or (kind.label is not None and labelled(kind.label, view, at, at + len(plain)))
            grouped = kind is TEL and (len(joints) > 8 or (digits[0] == "010" and sizes == (3, 4, 4)))
            born = kind in (RRN, FRN) and len(joints) == 1 and joints[0] in _DASHES
            if has_label or (
                (born or not zeros)
                and (alone or cores or grouped)
                and not mixed
                and (born or _own(kind, signs, plain, joints))
            ):
                return Found(start, end, kind.name, plain)
    return None


def _readings(digits: list[str], joints: list[str]) -> Iterator[str]:
    """Yield what groups of digits can mean: as they stand, without blanks, digits apart in groups."""
    if len(digits) > 8:
        apart, _ = Counter(joints).most_common(1)[0]
        yield _joined(digits, [joint != apart for joint in joints])
        return
    yield "-".join(digits)
    if any(marked := [joint.strip() != "" for joint in joints]):
        yield _joined(digits, marked)
    if digits[0].startswith("010"):
        yield "".join(digits)


def _joined(digits: list[str], marked: list[bool]) -> str:
    return digits[0] + "".join("-" * dash + more for dash, more in zip(marked, digits[1:], strict=True))


def _own(kind: PiiType, signs: str, plain: str, joints: list[str]) -> bool:
    number = signs.translate(_AS_DIGITS)
    apart = len(joints) > 8
    if kind is TEL and _MOBILE.fullmatch(number):
        return len(set(number)) > (4 if apart and "-" not in plain else 2) and (apart or "-" in plain)
    if kind is TEL:
        joined = [joint for joint in joints if joint.strip(" ") in ("_", *_DASHES)]
        return signs == number and len(joined) == 2
    return signs == number and kind not in (BANK_ACCOUNT, HEALTH_INSURANCE)
