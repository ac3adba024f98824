"""Resident and foreign registration numbers, driver licence, passport and health insurance."""

from __future__ import annotations

import re

from data.pii.checks import (
    ean13_ok,
    frn_check_digits,
    registration_born,
    registration_check_ok,
    registration_date_ok,
    rrn_check_digit,
)
from data.pii.places import OLD_LICENCE_REGIONS
from data.pii.types.base import (
    APART_AFTER,
    APART_BEFORE,
    BEFORE,
    BESIDE,
    DASH,
    GATE_GAP,
    NOT_AFTER,
    NOT_BEFORE,
    Check,
    Draw,
    Extent,
    Maker,
    PiiType,
    digits_of,
    labelled,
    lay,
)

BIRTH = "[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
_DOTTED_BIRTH = r"[0-9]{2}(?P<dot>[./])(?:0[1-9]|1[0-2])(?P=dot)(?:0[1-9]|[12][0-9]|3[01])"
_EARLIEST_BIRTH, _LATEST_BIRTH = 1920, 2035
"""Years of birth of bare digits without a label. Fixed: what is found must not depend on the day of the run."""
_OTHER_NUMBER = re.compile(
    r"(?:바코드|상품|제품|품번|모델|주문|송장|등기|우편|일련|시리얼|접수|예약|승인|거래|문서|코드|키|값|해시|포인트"
    r"|계좌|통장|은행|뱅크|카뱅|금고|농협|수협|신협"
    r"|(?<![a-z])(?:isbn|ean|jan|upc|gtin|timestamp|time|order|tracking|invoice|serial|code|key|id|hash|seed|version))"
    r"(?:\s?번호|(?:코드)?[;,|\t][가-힣]{1,6})?[^0-9가-힣]{0,4}(?:[은는이가을를])?\s?$",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\s?(?:[(]?[가-힣]{1,4}(?:은행|뱅크|금고)|이?\s?밀리초|나노초|원|달러|개|건|회|명|톤|바이트|번째|초|ms|MB|GB|KB|%)"
)
_CORPORATION = re.compile(
    r"법인\s?(?:등록)?\s?(?:번호)?[^0-9가-힣]{0,4}[은는이가]?\s?$|법인\s?등록\s?번호(?:(?!주민|외국인)[^0-9]){0,24}$"
    r"|(?:주식회사|㈜|\(주\)|유한회사)\s?[가-힣A-Za-z]{1,12}\s?[(]?$"
)
"""Before the number of a company in the register, which has the form of a person's."""
_RRN_LABEL = re.compile(r"주민|민증|(?<![a-z])(?:rrn|resident)", re.IGNORECASE)
_FRN_LABEL = re.compile(r"외국인|거소|등록번호|(?<![a-z])(?:frn|arn|alien)", re.IGNORECASE)
_LICENCE_LABEL = re.compile(r"면허|licen[cs]e", re.IGNORECASE)
PASSPORT_LABEL = re.compile(r"여권|passport|(?<![a-z])pp ?no", re.IGNORECASE)
_REGION_NUMBERS = dict(
    zip(
        OLD_LICENCE_REGIONS.split("|"),
        ["11", "12", "22", "23", "24", "25", "26", "13", "14", "15", "16", "17", "18", "19", "20", "21"],
        strict=True,
    )
)
_YEAR = re.compile("(?:19[5-9]|20[0-3])[0-9]{5}")
_PARTS = re.compile(
    r"모델|부품|제품|품번|품목|상품|시리얼|일련|주문|접수|자재|도면|문서|사건|기종|학번|사번|코드|(?<![a-z])(?:model|part|serial|order|sku|code|no)(?![a-z])",
    re.IGNORECASE,
)
_HEALTH_LABEL = re.compile(r"건강\s?보험|건보|의료\s?보험|보험증|증\s?번호|health insurance", re.IGNORECASE)
_TOLL_FREE = re.compile(f"1[{DASH}]8(?:00|33|44|55|66|77|88)")


def _registration(centuries: str) -> re.Pattern[str]:
    number = f"{centuries}[0-9]{{6}}"
    return re.compile(
        rf"(?=[0-9])(?:{APART_BEFORE}(?P<century>19|20)?{BIRTH}(?P<dash> ?[{DASH}] ?){number}{APART_AFTER}"
        rf"|{APART_BEFORE}(?<![0-9A-Za-z/]/)(?<![0-9A-Za-z]){BIRTH}(?P<slash> ?[/~_*:.] ?){number}{APART_AFTER}"
        rf"(?![/~_*:][0-9A-Za-z])"
        rf"|{APART_BEFORE}(?<![0-9A-Za-z]){_DOTTED_BIRTH}(?P<dotted> ?[{DASH}] ?){number}{APART_AFTER}"
        rf"|(?:{NOT_BEFORE}|(?<=[0-9]{{13}}[,/])){BIRTH} ?{number}(?:{NOT_AFTER}|(?=,[0-9]{{13}}(?![0-9]))))"
    )


def _registered(label: re.Pattern[str]) -> Check:
    """Return the check for RRN or FRN: a day that exists; bare digits need a label or nothing that speaks against it.

    Numbers given since October 2020 have no check digit: one that fits is evidence, one that does not is none.
    """

    def check(text: str, match: re.Match[str]) -> Extent | None:
        start, end = match.span()
        digits = digits_of(match[0])[-13:]
        if not registration_date_ok(digits) or _CORPORATION.search(text[max(0, start - BEFORE) : start]):
            return None
        if match["century"] is not None and not str(registration_born(digits)).startswith(match["century"]):
            return None
        decimal = (match["slash"] or "").strip() == "."
        if (match["dash"] or match["slash"] or match["dotted"]) and not decimal and digits[6] not in "09":
            return start, end
        if labelled(label, text, start, end):
            return start, end
        article = digits.startswith("880") and ean13_ok(digits)  # Korean bar codes
        if digits[6] in "09" or article or decimal:
            return None
        # a check digit that fits makes up for a blank, or for the check of another number that fits too; not for words
        # that say what else it is, nor for a birth that is still to come
        is_other_number = _OTHER_NUMBER.search(text[max(0, start - BESIDE) : start]) or _COUNTED.match(text, end)
        if is_other_number or not _EARLIEST_BIRTH <= registration_born(digits) <= _LATEST_BIRTH:
            return None
        if registration_check_ok(digits):
            return start, end
        return (start, end) if len(match[0]) == 13 and not ean13_ok(digits) else None

    return check


def _make_registration(first_century: int) -> Maker:
    def make(value: str, normal: str, draw: Draw) -> str:
        digits = (
            f"{draw.digits(2)}{13 + draw.below(7)}{32 + draw.below(8)}{first_century + draw.below(4)}{draw.digits(5)}"
        )
        valid = {rrn_check_digit(digits), *frn_check_digits(digits)}
        wrong = [d for d in range(10) if d not in valid]
        digits += str(wrong[draw.below(len(wrong))])
        length = len(digits_of(value))
        if length == 15:  # with the century written out
            digits = f"{'19' if digits[6] in '1256' else '20'}{digits}"
        return lay(value, digits[:length])  # the end may be masked

    return make


_DRIVER_LICENSE = (
    rf"{NOT_BEFORE}(?:1[1-9]|2[0-6]|28)(?P<sep> ?[{DASH}] ?|[ ./]|)"
    rf"[0-9]{{2}}(?P=sep)[0-9]{{6}}(?P=sep)[0-9]{{2}}{NOT_AFTER}"
    rf"|(?<![가-힣])(?P<region>{OLD_LICENCE_REGIONS})[ {DASH}]?[0-9]{{2}}(?P<joint> ?[{DASH}] ?| ?)[0-9]{{6}}"
    rf"(?P=joint)[0-9]{{2}}{NOT_AFTER}"
)
_PASSPORT = (
    r"(?:(?<![0-9A-Za-z_@#./=&-])|(?<=[^0-9A-Za-z_]__))(?:[MSRODmsrod] ?[0-9]{8}|[MSRODmsrod][0-9]{3}[A-Za-z][0-9]{4})"
    r"(?![0-9A-Za-z-]|_(?!_))(?!\.[0-9A-Za-z])"
    r"|(?<![0-9A-Za-z_@#./=&-])(?P<other>[A-Z]{1,2}[0-9]{7,9})(?![0-9A-Za-z_-])"
)
_HEALTH_INSURANCE = (
    rf"{NOT_BEFORE}[1-9](?:(?P<sep> ?[{DASH}] ?| |\.|)[0-9]{{10}}|(?P<apart>[ {DASH}])[0-9]{{7}}(?P=apart)[0-9]{{3}})"
    rf"{NOT_AFTER}"
)


def driver_license(text: str, match: re.Match[str]) -> Extent | None:
    """Accept separated numbers; an undashed one needs a label."""
    if (match["sep"] if match["region"] is None else match["joint"].strip()) in ("", ".", "/"):
        start, end = match.span()
        if not labelled(_LICENCE_LABEL, text, start, end):
            return None
    return match.span()


def passport(text: str, match: re.Match[str]) -> Extent | None:
    """Accept a capital letter and its digits; lower case, and the rare D and O, need a label (D12345678 is a part).

    So does what begins with a year (S20210001), and what stands beside a word for models, parts and the like, and the
    forms of former passports and of other countries' (JR1234567, G12345678, C1234567).
    """
    value = match[0]
    start, end = match.span()
    if labelled(PASSPORT_LABEL, text, start, end):
        return start, end
    if match["other"]:
        return None
    clear = value == value.upper() and (value[0] in "MSR" or value[4].isalpha()) and " " not in value
    serial = _YEAR.match(value, 1) or labelled(_PARTS, text, start, end, BESIDE)
    return (start, end) if clear and not serial else None


def health_insurance(text: str, match: re.Match[str]) -> Extent | None:
    """Accept the dashed form unless it is a North American toll-free number; eleven bare digits need a label."""
    toll_free = _TOLL_FREE.match(match[0]) is not None
    own = match["sep"] and not set(match["sep"]) & {" ", "."} and not toll_free
    return match.span() if own or labelled(_HEALTH_LABEL, text, *match.span()) else None


def _plain_licence(value: str) -> str:
    return _REGION_NUMBERS.get(value[:2], value[:2]) + re.sub("[^0-9]", "", value[2:])


def _make_driver_license(value: str, normal: str, draw: Draw) -> str:
    made = f"9{draw.digits(len(normal) - 1)}"
    return lay(value, made) if value[0] in "0123456789" else lay("세종" + value[2:], made[2:])


def _make_passport(value: str, normal: str, draw: Draw) -> str:
    """Return X for the letters that begin the number, and for its other signs others; 000 where no letter does."""
    letters = 0 if normal[0].isdigit() else 1 + normal[1].isalpha()
    signs = iter(
        (
            "x"
            if place < letters
            else "0"
            if not letters and place < 3
            else draw.digits(1)
            if sign.isdigit()
            else chr(ord("a") + draw.below(26))
        )
        for place, sign in enumerate(normal)
    )
    made = re.sub("[0-9A-Za-z]", lambda _: next(signs), value)
    return made.upper() if value != value.lower() else made


_REGISTRATION_GATE = (
    f"[0-9]{{6}}[/~_*:{GATE_GAP[1:]}{{0,3}}[0-9]{{7}}|[0-9][./][0-9]{{2}}[./][0-9]{{2}} ?[{DASH}] ?[0-9]{{7}}"
)


def _of_people(name: str, centuries: str, label: re.Pattern[str]) -> PiiType:
    return PiiType(
        name,
        _registration(centuries),
        _REGISTRATION_GATE,
        _make_registration(1 if name == "RRN" else 5),
        label=label,
        check=_registered(label),
        normalise=lambda value: digits_of(value)[-13:],
    )


RRN = _of_people("RRN", "[0-49]", _RRN_LABEL)
FRN = _of_people("FRN", "[5-8]", _FRN_LABEL)
DRIVER_LICENSE = PiiType(
    "DRIVER_LICENSE",
    re.compile(_DRIVER_LICENSE),
    f"[0-9]{{2}}[/{GATE_GAP[1:]}{{0,3}}[0-9]{{6}}[/{GATE_GAP[1:]}{{0,3}}[0-9]{{2}}",
    _make_driver_license,
    label=_LICENCE_LABEL,
    check=driver_license,
    any_name=True,
    normalise=_plain_licence,
)
PASSPORT = PiiType(
    "PASSPORT",
    re.compile(_PASSPORT),
    "[MSRODmsrod] ?[0-9]{3}[0-9A-Za-z][0-9]{4}|[A-Z][0-9]{7}",
    _make_passport,
    label=PASSPORT_LABEL,
    check=passport,
    any_name=True,
    normalise=lambda value: re.sub("[^0-9a-z]", "", value.lower()),
)
HEALTH_INSURANCE = PiiType(
    "HEALTH_INSURANCE",
    re.compile(f"(?=[0-9]){_HEALTH_INSURANCE}"),
    f"[1-9] ?[.{DASH}]? ?[0-9]{{10}}|[1-9][ {DASH}][0-9]{{7}}[ {DASH}][0-9]{{3}}",
    lambda value, normal, draw: lay(value, "0" + draw.digits(len(normal) - 1)),
    label=_HEALTH_LABEL,
    check=health_insurance,
    any_name=True,
)
