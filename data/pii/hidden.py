"""Values written so that no number and no address stands there: in words, in circles, with look-alikes, cut apart.

Each finder gets plain (folded) text, looks for one way of writing, and gives what is meant. A finder runs only on lines
that its gate let through, and takes a whole value or nothing: words such as 이사 and 오구 are words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from data.pii.apart import APART, Finder
from data.pii.beside_label import LABEL_FINDERS, LABEL_GATE
from data.pii.checks import brn_ok, card_prefix_ok, luhn_ok, registration_date_ok
from data.pii.fold import CIRCLED, FOLD_GATE
from data.pii.types.base import DASH, Found, digits_of, labelled
from data.pii.types.money import BANK_ACCOUNT, BRN, CARD, CARD_LABEL
from data.pii.types.telephone import TEL_LABEL, WHOLE_NUMBER
from data.pii.written_mail import WRITTEN_MAIL_GATE, written_mail

_WRITTEN = "공영빵일이삼사오육륙칠팔구〇零一二三四五六七八九"
_SYLLABLES = dict(zip(_WRITTEN, "000123456678900123456789", strict=True))
_ALIKE = {
    **dict.fromkeys("oOоОㅇ○◯〇", "0"),
    **dict.fromkeys("lI|ㅣ∣", "1"),
    **dict.fromkeys("Ss", "5"),
    "Z": "2",
    "B": "8",
}
_AS_DIGITS = str.maketrans({**_SYLLABLES, **CIRCLED})
_AS_DIGITS_ALIKE = str.maketrans(_ALIKE)

_CIRCLED = "⓪⓿①-⑨❶-❾➀-➈➊-➒⓵-⓽"
_PAUSE = f"(?:[ ,.·~/{DASH}]{{1,3}}| {{0,2}}(?:다시|대시|하이픈|국?에|국?의|국) {{0,2}})?"
_SPOKEN = re.compile(
    rf"(?<![{_WRITTEN}{_CIRCLED}0-9])(?=[{_WRITTEN}{_CIRCLED}0-9])(?:[{_WRITTEN}{_CIRCLED}0-9]{_PAUSE}){{7,15}}[{_WRITTEN}{_CIRCLED}0-9]"
)
_SPOKEN_GATE = (
    rf"[공영빵0][ .,{DASH}]?[{_WRITTEN}][ .,{DASH}]?[{_WRITTEN}0-9][ .,{DASH}]?[{_WRITTEN}0-9]"
    rf"|일[오육륙팔][{_WRITTEN}][{_WRITTEN}]|[{_WRITTEN}][{_WRITTEN}][{DASH}][{_WRITTEN}][{_WRITTEN}]"
    rf"|01[016789][ .{DASH}]?(?:[0-9]{{3,4}}[ .{DASH}]?)?[{_WRITTEN}][{_WRITTEN}0-9]"
    rf"|[공영빵][일1][공영빵육칠팔구0]|0일[0공영빵]|01[공영빵]"
    rf"|[공영빵][이삼사오육칠][{_WRITTEN}]?(?:에|의) ?[{_WRITTEN}][{_WRITTEN}]"
    rf"|[{_WRITTEN}]{{4}}|[〇零][一1][〇零]|[{_CIRCLED}][{_CIRCLED}][{_CIRCLED}]"
)
_CLEAR = re.compile(_SPOKEN_GATE)
"""A value holds it itself: digits with a few syllables behind them are none."""
_OF_BUSINESS = re.compile("[0-9]{3}-[0-9]{2}-[0-9]{5}")
_RUN_BEFORE = re.compile(rf"[{_WRITTEN}{_CIRCLED}0-9]{_PAUSE}\Z")
_PAUSE_WORDS = re.compile("다시|대시|하이픈|[에의국]")
_NO_DIGITS = re.compile(f"[{_WRITTEN}{_CIRCLED}]")
_NEXT_VALUE = re.compile(" ?[,/~]")


def spoken(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield telephone and registration numbers with digits written out (공일공 일이삼사 오육칠팔) or in circles."""
    position = start
    while (match := _SPOKEN.search(text, position, end)) is not None:
        first, last = match.span()
        position = first + 1  # what begins after a pause may be whole
        for stop in _stops(text, first, last):
            written = _PAUSE_WORDS.sub(" ", text[first:stop])
            digits = written.translate(_AS_DIGITS)
            value = _whole(digits_of(digits)) or _of_money(re.sub("[^0-9]+", "-", digits.strip()), text, first, stop)
            said = len(_NO_DIGITS.findall(written))
            if (
                value
                and _CLEAR.search(text, first, stop)
                and (said >= 3 or (said and _NO_DIGITS.search(written[:3]) and value[1].startswith("010")))
            ):
                yield Found(first, stop, *value)
                position = stop
                break


def _stops(text: str, first: int, last: int) -> list[int]:
    """Return where a run of digits may end: at its end, before the copula (…팔이에요: a digit, too), at a comma."""
    last = first + len(text[first:last].rstrip(" ,.·~/"))
    alone = text[last - 2 : last] == " 이"  # … 이고: no digit stands there by itself
    copula = [last - 2] if alone else [last - 1] if text[last - 1] == "이" else []
    return [*([] if alone else [last]), *copula, *(match.start() for match in _NEXT_VALUE.finditer(text, first, last))]


def _whole(digits: str) -> tuple[str, str] | None:
    """Return type and value of digits that are a whole telephone or registration number."""
    number = WHOLE_NUMBER.fullmatch(digits)
    if number and not (digits.startswith("010") and len(digits) != 11) and len(set(digits[3:])) > 1:
        if number["service"]:
            return "TEL", f"{number['service']}-{number['serial']}"
        return "TEL", f"{number['head']}-{number['middle']}-{number['last']}"
    if len(digits) == 13 and digits[6] in "12345678" and registration_date_ok(digits):
        return "RRN" if digits[6] in "1234" else "FRN", f"{digits[:6]}-{digits[6:]}"
    return None


def _of_money(value: str, text: str, start: int, end: int) -> tuple[str, str] | None:
    """Return type and value of the digits of a card, a business or an account, beside the word for it."""
    digits = digits_of(value)
    if _RUN_BEFORE.search(text, max(0, start - 8), start):
        return None  # a part of a longer number
    fits = (
        (CARD, len(digits) == 16 and card_prefix_ok(digits)),
        (BRN, len(digits) == 10 and (brn_ok(digits) or _OF_BUSINESS.fullmatch(value) is not None)),
        (BANK_ACCOUNT, 10 <= len(digits) <= 16),
    )
    for kind, possible in fits:
        if possible and kind.label and labelled(kind.label, text, start, end):
            return kind.name, value
    return None


_O, _I, _LIKE = "[0oOоОㅇ○◯〇]", "[1lI|ㅣ∣]", "[0-9oOоОㅇ○◯〇lI|ㅣ∣SsZB]"
_LOOKALIKE = re.compile(
    rf"(?<![0-9A-Za-z]){_O}{_I}{_O}[ .{DASH}]{{0,3}}{_LIKE}{{4}}[ .{DASH}]{{0,3}}{_LIKE}{{4}}(?![0-9A-Za-z])"
)


def lookalike(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield mobile numbers with letters for digits (O1O-l234-5678)."""
    for match in _LOOKALIKE.finditer(text, start, end):
        value = match[0].translate(_AS_DIGITS_ALIKE)
        true = sum(character in "0123456789" for character in match[0])
        if value != match[0] and true >= 6:
            yield Found(*match.span(), "TEL", value)


_ODD_JOINT = r"(?:  +| ?[)\]}] ?[(\[{] ?| ?[^0-9A-Za-z가-힣\s(\[]{1,3} ?| ?(?:다시|대시|하이픈|에|의) ?|…)"
_ODD = re.compile(
    rf"(?=[0(\[{{])(?<![0-9A-Za-z.,:/])(?<![0-9][{DASH}_~*|])(?P<open>[(\[{{])?(?P<head>01[016789]|02|0[3-6][1-5]|0[78]0|050[0-9]?)"
    rf"(?P<first>{_ODD_JOINT}|[)\]}}] ?)(?P<middle>[0-9]{{3,4}})"
    rf"(?P<second>{_ODD_JOINT})(?P<last>[0-9]{{4}})(?![0-9]|[-.,:/~*][0-9])"
)
_CLOSING = (")", "]", "}")
_PLAIN_JOINT = re.compile(f"[{DASH}.·)]?")
_ODD_GATE = (
    rf"010[0-9]{{4}}[/_][0-9]{{4}}|010[{DASH}.][0-9]{{2,5}}[{DASH}.][0-9]{{3,6}}|"
    r"(?:01[016789]|02|0[3-8][0-5]|050[0-9]?)"
    r"(?:[^0-9A-Za-z가-힣]{1,5}|[^0-9A-Za-z가-힣]{0,2}(?:다시|대시|하이픈|에|의) ?)[0-9]{3,4}"
    r"(?:[^0-9A-Za-z가-힣]{1,5}|[^0-9A-Za-z가-힣]{0,2}(?:다시|대시|하이픈|에|의) ?)[0-9]{4}"
)


_OTHER_GROUPS = re.compile(
    rf"(?=0)(?<![0-9A-Za-z])(?<![0-9][{DASH}.])010(?:[0-9]{{4}}[/_][0-9]{{4}}|[{DASH}.][0-9]{{2}}[{DASH}.][0-9]{{6}}"
    rf"|[{DASH}.][0-9]{{3}}[{DASH}.][0-9]{{5}}|[{DASH}.][0-9]{{5}}[{DASH}.][0-9]{{3}})(?![0-9A-Za-z]|[{DASH}.,][0-9])"
)


def odd_joints(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield mobile numbers whose groups are joined in an unusual way (010/1234/5678, 010에 1234에 5678)."""
    for match in _ODD.finditer(text, start, end):
        first, second = (match[name].strip() or " " * (len(match[name]) > 1) for name in ("first", "second"))
        if _PLAIN_JOINT.fullmatch(first) and _PLAIN_JOINT.fullmatch(second):
            continue  # the telephone's own pattern has decided
        area = not match["head"].startswith("01")
        if area and not (first == second == "_" or labelled(TEL_LABEL, text, *match.span())):
            continue
        if first == second or match["open"] or first in (")", "]"):
            last = match.end() + (second[:1] in _CLOSING and text[match.end() : match.end() + 1] in _CLOSING)
            yield Found(match.start(), last, "TEL", f"{match['head']}-{match['middle']}-{match['last']}")
    for match in _OTHER_GROUPS.finditer(text, start, end):
        if labelled(TEL_LABEL, text, *match.span()):
            yield Found(*match.span(), "TEL", match[0])


_CUT = re.compile(
    rf"(?<![0-9A-Za-z.,_/])(?<![0-9] )(?:[0-9](?: ?[{DASH}] ?| {{1,2}})?){{8,18}}[0-9]"
    rf"(?![0-9A-Za-z]|[.,{DASH}][0-9]| [0-9])"
)
_DOTTED = re.compile(r"(?<![0-9A-Za-z.])0\.1\.0(?:\.[0-9]){8}(?!\.?[0-9A-Za-z])")
_CUT_MOBILE = re.compile(rf"010[{DASH}]?[0-9]{{4}}[{DASH}]?[0-9]{{4}}")
_CUT_LANDLINE = re.compile(rf"(?:02|0[3-6][1-5]|0[78]0|050[0-9])[{DASH}][0-9]{{3,4}}[{DASH}][0-9]{{4}}")
_CUT_LICENCE = re.compile(rf"(?:1[1-9]|2[0-6]|28)([{DASH}])[0-9]{{2}}\1[0-9]{{6}}\1[0-9]{{2}}")
_CUT_BUSINESS = re.compile(rf"[0-9]{{3}}([{DASH}])[0-9]{{2}}\1[0-9]{{5}}")
_CUT_REGISTERED = re.compile(rf"[0-9]{{6}}[{DASH}][1-8][0-9]{{6}}")
_CUT_CARD = re.compile(rf"[0-9]{{4}}([{DASH}])[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{4}}")


def cut_apart(text: str, start: int, end: int) -> Iterator[Found]:
    """Yield numbers whose digits stand apart (0 1 0 - 1 2 3 4 - 5 6 7 8, 900101-12 34567, 0.1.0.1.2.3.4.5.6.7.8)."""
    for match in _DOTTED.finditer(text, start, end):
        yield Found(*match.span(), "TEL", match[0].replace(".", ""))
    for match in _CUT.finditer(text, start, end):
        if " " not in match[0]:
            continue
        plain = match[0].replace(" ", "")
        if _CUT_MOBILE.fullmatch(plain):
            alone = len(match[0]) == 21 and len(set(plain)) >= 5  # a digit, a blank, a digit …: no row of a table
            if len(plain) > 11 or alone or (not set(plain) <= {"0", "1"} and labelled(TEL_LABEL, text, *match.span())):
                yield Found(*match.span(), "TEL", plain)
        elif _CUT_LANDLINE.fullmatch(plain):
            yield Found(*match.span(), "TEL", plain)
        elif _CUT_LICENCE.fullmatch(plain):
            yield Found(*match.span(), "DRIVER_LICENSE", plain)
        elif _CUT_BUSINESS.fullmatch(plain) and brn_ok(re.sub("[^0-9]", "", plain)):
            yield Found(*match.span(), "BRN", plain)
        elif _CUT_REGISTERED.fullmatch(plain) and registration_date_ok(plain[:6] + plain[7:]):
            yield Found(*match.span(), "RRN" if plain[7] in "1234" else "FRN", plain)
        elif _CUT_CARD.fullmatch(plain) or (len(plain) == 16 and plain.isdigit() and match[0].count(" ") > 8):
            digits = re.sub("[^0-9]", "", plain)
            told = plain.isdigit() and labelled(CARD_LABEL, text, *match.span())
            if told or (luhn_ok(digits) and card_prefix_ok(digits)):
                yield Found(*match.span(), "CARD", plain)


FOLD = "fold"
FINDERS: dict[str, tuple[str, Finder]] = {
    "spoken": (_SPOKEN_GATE, spoken),
    "lookalike": (
        rf"{_O}{_I}{_O}[ .{DASH}]{{0,3}}{_LIKE}{{4}}[ .{DASH}]{{0,3}}{_LIKE}{{4}}",
        lookalike,
    ),
    "odd_joints": (_ODD_GATE, odd_joints),
    "cut_apart": (
        rf"[0-9] (?:[{DASH}] ?)?(?:[0-9]{{1,6}}[ {DASH}]{{1,3}}){{2,}}[0-9]"
        rf"|[0-9](?:\.[0-9]){{10}}|[0-9]{{1,5}}[{DASH}][0-9]{{1,5}} [0-9]",
        cut_apart,
    ),
    "written_mail": (WRITTEN_MAIL_GATE, written_mail),
    **APART,
    **LABEL_FINDERS,
}
"""Finder → its gate (as those of types: a relaxation in RE2 syntax) and what it runs."""
HIDDEN_GATES: dict[str, str] = {
    FOLD: FOLD_GATE,
    "labels": LABEL_GATE,
    **{name: gate for name, (gate, _) in FINDERS.items()},
}
