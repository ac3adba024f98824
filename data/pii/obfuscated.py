"""Values written so that no number and no address stands there: in words, in circles, with look-alikes, cut apart.

Each finder gets plain (folded) text, looks for one way of writing, and gives what is meant. A finder runs only on lines
that its gate let through, and takes a whole value or nothing: words such as 이사 and 오구 are words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from data.pii.beside_label import LABEL_FINDERS, LABEL_GATE
from data.pii.checks import brn_ok, card_prefix_ok, registration_date_ok
from data.pii.fold import CIRCLED, FOLD_GATE
from data.pii.runs import RUN_GATE, run
from data.pii.separated import SEPARATED, Finder
from data.pii.types.base import BEFORE, DASH, Found, PiiType, digits_of, labelled
from data.pii.types.identity import DRIVER_LICENSE, HEALTH_INSURANCE
from data.pii.types.money import BANK_ACCOUNT, BRN, CARD
from data.pii.types.telephone import TEL_LABEL, WHOLE_NUMBER
from data.pii.written import HANGUL_DIGITS
from data.pii.written_mail import WRITTEN_MAIL_GATE, written_mail

_WRITTEN = "".join(HANGUL_DIGITS)
_AS_DIGITS = str.maketrans({**HANGUL_DIGITS, **CIRCLED})

_CIRCLED = "".join(CIRCLED)
_PAUSE = f"(?:[ ,.·~/{DASH}]{{1,3}}| {{0,2}}(?:다시|대시|하이픈|국?에|국?의|국) {{0,2}})?"
_SPOKEN = re.compile(
    rf"(?<![{_WRITTEN}{_CIRCLED}0-9])(?=[{_WRITTEN}{_CIRCLED}0-9])(?:(?<![가-힣])|(?![가-힣] ))"
    rf"(?:[{_WRITTEN}{_CIRCLED}0-9]{_PAUSE}){{7,15}}[{_WRITTEN}{_CIRCLED}0-9]"
)
_SPOKEN_GATE = (
    rf"[공영빵0][ .,{DASH}]?[{_WRITTEN}][ .,{DASH}]?[{_WRITTEN}0-9][ .,{DASH}]?[{_WRITTEN}0-9]"
    rf"|일[오육륙팔][{_WRITTEN}][{_WRITTEN}]|[{_WRITTEN}][{_WRITTEN}][{DASH}][{_WRITTEN}][{_WRITTEN}]"
    rf"|01[016789][ .{DASH}]?(?:[0-9]{{3,4}}[ .{DASH}]?)?[0-9]{{0,2}}[{_WRITTEN}][{_WRITTEN}0-9]"
    rf"|01[016789][ .{DASH}]?[0-9]{{0,3}}[{_WRITTEN}][0-9{_WRITTEN}]{{0,2}}[ .{DASH}]?[0-9]{{0,3}}[{_WRITTEN}]"
    rf"|0[0-9]{{1,2}}[ .{DASH}][{_WRITTEN}]{{3}}|[공영빵][{_WRITTEN}]{{1,2}}[ .{DASH}][0-9]{{3}}"
    rf"|[공영빵][일1][공영빵육칠팔구0]|0일[0공영빵]|01[공영빵]"
    rf"|[공영빵][이삼사오육칠][{_WRITTEN}]?(?:에|의) ?[{_WRITTEN}][{_WRITTEN}]"
    rf"|[{_WRITTEN}]{{4}}|[〇零][一1][〇零]|[{_CIRCLED}][{_CIRCLED}][{_CIRCLED}]"
)
_CLEAR = re.compile(_SPOKEN_GATE)
"""A value holds it itself: digits with a few syllables behind them are none."""
_OF_BUSINESS = re.compile("[0-9]{3}-[0-9]{2}-[0-9]{5}")
_RUN_BEFORE = re.compile(rf"[{_WRITTEN}{_CIRCLED}0-9]{_PAUSE}\Z")
_LISTED = re.compile(" ?(?:[,/·→]|및|또는) ?")
"""Between a value and the next of a list, for which the label of the first speaks."""
_REGISTERED = re.compile("[0-9]{6}-?[0-9]{7}|(?:[0-9]-){12}[0-9]")
_CONTINUES = re.compile(f"{_PAUSE}[{_WRITTEN}{_CIRCLED}0-9]")
_PAUSE_WORDS = re.compile("다시|대시|하이픈|[에의국]")
_COPULA = re.compile(rf"[^{DASH}시] 이(?:[가-힣]| ?(?:번호|계좌|카드|거|게|분)|\\Z)")
"""… 이고, … 이 번호로: no digit stands there by itself."""
_NO_DIGITS = re.compile(f"[{_WRITTEN}{_CIRCLED}]")
_NEXT_VALUE = re.compile(" ?[,/~·]")


def spoken(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield telephone and registration numbers with digits written out (공일공 일이삼사 오육칠팔) or in circles."""
    position = start
    last_found: Found | None = None
    while (match := _SPOKEN.search(text, position, end)) is not None:
        first, last = match.span()
        position = first + 1  # what begins after a pause may be whole
        for stop in sorted(_stops(text, first, last), key=lambda stop: not _is_number(text, first, stop)):
            written = _PAUSE_WORDS.sub(" ", text[first:stop])
            digits = written.translate(_AS_DIGITS)
            groups = re.sub("[^0-9]+", "-", digits.strip())
            listed_type = last_found.type if last_found and _LISTED.fullmatch(text, last_found.end, first) else None
            value = _whole(digits_of(digits))
            if value is None or (value[0] != "TEL" and not _REGISTERED.fullmatch(groups)):
                value = _of_money(groups, text, first, stop, listed_type) or value
            said = len(_NO_DIGITS.findall(written))
            if (
                value
                and _CLEAR.search(text, first, stop)
                and (
                    said >= 3
                    or (said >= 2 and labelled(TEL_LABEL, text, first, stop))
                    or (said and _NO_DIGITS.search(written[:3]) and value[1].startswith("010"))
                )
            ):
                last_found = Found(first, stop, *value)
                yield last_found
                position = stop
                break


def _stops(text: str, first: int, last: int) -> list[int]:
    """Return where a run of digits may end: at its end, before the copula (…팔이에요: a digit, too), at a comma."""
    nexts = [match.start() for match in _NEXT_VALUE.finditer(text, first, last)]
    if nexts and _CONTINUES.match(text, last):
        return nexts  # the run is longer than any value: a list
    last = first + len(text[first:last].rstrip(" ,.·~/"))
    alone = _COPULA.match(text, last - 3) is not None
    copula = [last - 2] if alone else [last - 1] if text[last - 1] == "이" else []
    copula = [first + len(text[first:stop].rstrip(" ,.·~/")) for stop in copula]
    return [*([] if alone else [last]), *copula, *nexts]


def _is_number(text: str, first: int, stop: int) -> bool:
    digits = _PAUSE_WORDS.sub(" ", text[first:stop]).translate(_AS_DIGITS)
    last = re.split("[^0-9]+", digits)[-1]
    return WHOLE_NUMBER.fullmatch(digits_of(digits)) is not None and (len(last) == 4 or last == digits)


def _whole(digits: str) -> tuple[str, str] | None:
    number = WHOLE_NUMBER.fullmatch(digits)
    if number and not (digits.startswith("010") and len(digits) != 11) and len(set(digits[3:])) > 1:
        if number["service"]:
            return "TEL", f"{number['service']}-{number['serial']}"
        return "TEL", f"{number['head']}-{number['middle']}-{number['last']}"
    if len(digits) == 13 and digits[6] in "12345678" and registration_date_ok(digits):
        return "RRN" if digits[6] in "1234" else "FRN", f"{digits[:6]}-{digits[6:]}"
    return None


def _of_money(value: str, text: str, start: int, end: int, listed_type: str | None) -> tuple[str, str] | None:
    digits = digits_of(value)
    if listed_type is None and _RUN_BEFORE.search(text, max(0, start - 8), start):
        return None  # a part of a longer number
    fits = (
        (CARD, len(digits) == 16 and card_prefix_ok(digits)),
        (BRN, len(digits) == 10 and (brn_ok(digits) or _OF_BUSINESS.fullmatch(value) is not None)),
        (HEALTH_INSURANCE, len(digits) == 11),
        (DRIVER_LICENSE, len(digits) == 12),
        (BANK_ACCOUNT, 10 <= len(digits) <= 16),
    )
    kinds = [kind for kind, possible in fits if possible and kind.label]
    listed = [kind for kind in kinds if kind.name == listed_type]
    named = listed or [kind for kind in kinds if kind.label and labelled(kind.label, text, start, end)]
    return (min(named, key=lambda kind: _distance(kind, text, start)).name, value) if named else None


def _distance(kind: PiiType, text: str, start: int) -> int:
    ends = [match.end() for match in kind.label.finditer(text, max(0, start - BEFORE), start)] if kind.label else []
    return start - max(ends, default=start - BEFORE)


FOLD = "fold"
FINDERS: dict[str, tuple[str, Finder]] = {
    "spoken": (_SPOKEN_GATE, spoken),
    "run": (RUN_GATE, run),
    "written_mail": (WRITTEN_MAIL_GATE, written_mail),
    **SEPARATED,
    **LABEL_FINDERS,
}
"""Finder → its gate (as those of types: a relaxation in RE2 syntax) and what it runs."""
OBFUSCATED_GATES: dict[str, str] = {
    FOLD: FOLD_GATE,
    "labels": LABEL_GATE,
    **{name: gate for name, (gate, _) in FINDERS.items()},
}
