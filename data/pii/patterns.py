r"""One exact pattern for every type, and for every exact pattern a gate: a linear-time relaxation of it.

A gate matches a line wherever the exact pattern does, and more: it drops look-arounds, checks and alternatives. RE2
runs all gates at once over a whole buffer, so text without personal data costs almost nothing; the exact patterns run
only on the lines, and for the types, that a gate let through. tests/data/pii/test_gate.py holds both against each
other.

Rules for writing here: digits are [0-9] (`\d` takes other scripts' digits), never `\b` (Hangul letters are word
characters, so "010-1234-5678로" has no boundary), every repetition bounded, and a look-behind that keeps a search from
starting in the middle of a run, so that no input takes more than linear time.
"""

from __future__ import annotations

import re

from data.pii.places import ADDRESS, ADDRESS_GATE, OLD_LICENCE_REGIONS, PLATE_REGIONS

PII_TYPES = (
    "URL",
    "EMAIL",
    "MAC",
    "IP",
    "CARD",
    "RRN",
    "FRN",
    "DRIVER_LICENSE",
    "BRN",
    "TEL",
    "BANK_ACCOUNT",
    "PASSPORT",
    "HEALTH_INSURANCE",
    "VEHICLE_PLATE",
    "MENTION",
    "ADDRESS",
)
"""All types in the order in which they claim text: the first that takes a character keeps it."""

DASH = r"\-‐‑‒–—−ㅡ"
"""Dashes as they are typed between digit groups (inside a character class)."""

NOT_BEFORE = rf"(?<![0-9A-Za-z_])(?<![0-9A-Za-z][{DASH}.,_/=])(?<![가-힣][{DASH}])"
"""The number starts here: it is no tail of a longer number, of a version or of a code such as ABC-2021-0001."""

NOT_AFTER = rf"(?![0-9A-Za-z_])(?![{DASH}.,][0-9A-Za-z])"
"""The number ends here."""

APART_BEFORE = rf"(?<![0-9])(?<![0-9][{DASH}.])"
"""A number whose own separators are evidence starts here: after a comma, = or / and after a label's dash too."""

APART_AFTER = rf"(?![0-9])(?![{DASH}.][0-9])"
"""A number whose own separators are evidence ends here: cells of a row follow each other with a comma."""

USAGE = "[가나다라마거너더러머버서어저고노도로모보소오조구누두루무부수우주바사아자배하허호]"
"""Letters a vehicle plate may carry (private, commercial, parcel, rental)."""

_TLD_BARE = "(?:com|org|kr|co\\.kr|or\\.kr|go\\.kr|ac\\.kr|ne\\.kr|pe\\.kr|re\\.kr)"
_TLD_PATH = "(?:com|net|org|kr|io|me|info|biz|tv|gg|ly|gl|be|us|jp|cn|eu|de|uk|app|dev|co|example|shop|site|xyz)"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
_SEPARATED = rf"(?: ?[{DASH}.·)] ?| )"

_URL = (
    rf"(?<![A-Za-z0-9])(?P<scheme>(?i:https?|ftps?)://)(?P<host>(?:{_LABEL}\.){{0,10}}{_LABEL}|\[[0-9A-Fa-f:.]{{2,45}}\])"
    rf"|(?<![A-Za-z0-9@._/\\-])(?P<www>(?i:www)\.(?:{_LABEL}\.){{1,10}}[A-Za-z]{{2,18}})(?![A-Za-z0-9-])"
    rf"|(?<![A-Za-z0-9@._/\\$:-])(?P<site>(?:[a-z0-9](?:[a-z0-9-]{{0,61}}[a-z0-9])?\.){{1,5}}"
    rf"(?:{_TLD_BARE}(?![A-Za-z0-9_(@-]|\.[A-Za-z0-9])|{_TLD_PATH}(?=/[A-Za-z0-9~@_-])))"
)
_EMAIL = (
    r"(?<![A-Za-z0-9._%+-])(?P<local>[A-Za-z0-9_][A-Za-z0-9._%+-]{0,127})@"
    r"(?P<domain>(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}(?P<tld>[A-Za-z]{2,18}))(?![A-Za-z0-9]|-[A-Za-z0-9]|@)"
)
_MAC = (
    r"(?<![0-9A-Za-z_])(?<![0-9A-Za-z][:.-])"
    r"(?:[0-9A-Fa-f]{2}(?P<sep>[:-])(?:[0-9A-Fa-f]{2}(?P=sep)){4}[0-9A-Fa-f]{2}"
    r"|[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4})(?![0-9A-Za-z_])(?![:.-][0-9A-Za-z])"
)
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IP = (
    rf"(?<![0-9A-Za-z_])(?<![0-9A-Za-z][.,-])(?P<v4>{_OCTET}(?:\.{_OCTET}){{3}})(?![0-9A-Za-z_])(?![.-][0-9A-Za-z])"
    r"|(?<![0-9A-Za-z_:.])(?P<v6>[0-9A-Fa-f]{4}:[0-9A-Fa-f:]{1,34}(?<!:)|[0-9A-Fa-f]{4}:[0-9A-Fa-f:]{0,30}::)(?![0-9A-Za-z_:])"
)
_CARD = (
    rf"{APART_BEFORE}(?:[0-9]{{4}}(?P<sep> ?[{DASH}.] ?| )[0-9]{{4}}(?P=sep)[0-9]{{4}}(?P=sep)[0-9]{{4}}"
    rf"|3[47][0-9]{{2}}(?P<amex> ?[{DASH}] ?| )[0-9]{{6}}(?P=amex)[0-9]{{5}}){APART_AFTER}"
    rf"|{NOT_BEFORE}(?:[0-9]{{16}}|3[47][0-9]{{13}}){NOT_AFTER}"
)
_BIRTH = "[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"


def _registration(centuries: str) -> str:
    number = f"{centuries}[0-9]{{6}}"
    return (
        rf"{APART_BEFORE}{_BIRTH}(?P<dash> ?[{DASH}] ?){number}{APART_AFTER}"
        f"|{NOT_BEFORE}{_BIRTH} ?{number}{NOT_AFTER}"
    )


_RRN = _registration("[0-49]")
_FRN = _registration("[5-8]")
_DRIVER_LICENSE = (
    rf"{NOT_BEFORE}(?:1[1-9]|2[0-6]|28)(?P<sep>[{DASH}]| |)[0-9]{{2}}(?P=sep)[0-9]{{6}}(?P=sep)[0-9]{{2}}{NOT_AFTER}"
    rf"|(?<![가-힣])(?P<region>{OLD_LICENCE_REGIONS}) ?[0-9]{{2}}[{DASH}][0-9]{{6}}[{DASH}][0-9]{{2}}{NOT_AFTER}"
)
_BRN = rf"{NOT_BEFORE}[0-9]{{3}}(?P<sep> ?[{DASH}] ?| |)[0-9]{{2}}(?P=sep)[0-9]{{5}}{NOT_AFTER}"
_AREA = "(?:01[016789]|02|0[3-6][1-5]|0[678]0|050[0-9]?|0303)"
_SERVICE = "1(?:5(?:22|33|44|66|77|88|99)|6(?:00|11|44|60|61|66|68|70|88)|8(?:00|11|33|55|66|77|99))"
_BARE_BEFORE = rf"(?<![0-9_])(?<![0-9A-Za-z][{DASH}/=_])(?<![0-9][.,)(])"
_BARE_AFTER = rf"(?![0-9_])(?![{DASH}.,][0-9])"
"""Digits alone, and the eight of service numbers, are a number only where no sum, range of years or code goes on."""
_TEL = (
    rf"(?P<country>(?<![0-9])(?:\+ ?82|0082)|{APART_BEFORE}82(?=[{DASH}]))(?:{_SEPARATED}?(?:\(0\) ?|\(?0)?)"
    rf"(?:1[016789]|2|[3-6][1-5]|[78]0|50[0-9]?){_SEPARATED}?[0-9]{{3,4}}{_SEPARATED}?[0-9]{{4}}{APART_AFTER}"
    rf"|{APART_BEFORE}(?P<area>\({_AREA}\) ?|{_AREA}{_SEPARATED})[0-9]{{3,4}}(?P<last>{_SEPARATED})"
    rf"[0-9]{{4}}{APART_AFTER}"
    rf"|{APART_BEFORE}(?:01[016789](?:{_SEPARATED}[0-9]{{7,8}}|[0-9]{{3,4}}{_SEPARATED}[0-9]{{4}})){APART_AFTER}"
    rf"|(?P<plain>{NOT_BEFORE}(?:010[0-9]{{8}}|(?:01[16789]|02|0[3-6][1-5]|0[78]0|050[0-9]?)[0-9]{{7,8}})){_BARE_AFTER}"
    rf"|{_BARE_BEFORE}(?P<service>{_SERVICE}(?:[{DASH}]| [{DASH}] |\.|))(?P<serial>[0-9]{{4}}){_BARE_AFTER}"
)
_BANK_ACCOUNT = (
    rf"{NOT_BEFORE}(?:(?P<groups>(?=(?:[0-9][{DASH} ]?){{10}})"
    rf"[0-9]{{2,6}}(?P<sep>[{DASH}]| )[0-9]{{1,8}}(?:(?P=sep)[0-9]{{1,8}}){{0,2}})"
    rf"|(?P<plain>[0-9]{{10,14}})){NOT_AFTER}"
)
_PASSPORT = (
    r"(?<![0-9A-Za-z_@#./=&-])(?:[MSRODmsrod][0-9]{8}|[MSRODmsrod][0-9]{3}[A-Za-z][0-9]{4})"
    r"(?![0-9A-Za-z_-])(?!\.[0-9A-Za-z])"
)
_HEALTH_INSURANCE = rf"{NOT_BEFORE}[1-9](?P<sep>[{DASH}]|)[0-9]{{10}}{NOT_AFTER}"
_VEHICLE_PLATE = (
    rf"(?:(?<![가-힣])(?P<region>{PLATE_REGIONS}) ?[0-9]{{1,2}}|(?<![0-9A-Za-z_제.,])(?<![0-9][{DASH}/])[0-9]{{2,3}})"
    rf" ?(?P<usage>{USAGE})(?P<space> ?)(?P<serial>[0-9]{{4}})(?![0-9A-Za-z]|[.,{DASH}/~][0-9])"
    rf"|(?<![가-힣])(?P<mission>외교|영사|준외|준영|국기|협정|대표) ?[0-9]{{3}}[{DASH}][0-9]{{3}}(?![0-9{DASH}])"
)
_MENTION = (
    r"(?<![A-Za-z0-9_.@가-힣ㄱ-ㅎㅏ-ㅣ/\\`%+=$&{}<#-])@(?=[0-9_.]{0,28}[A-Za-z])"
    r"(?P<handle>[A-Za-z0-9_](?:[A-Za-z0-9_]|\.(?=[A-Za-z0-9_])){2,29})(?![A-Za-z0-9_@/(\[{`\\=#-]|\.[A-Za-z0-9_])"
)

EXACT: dict[str, re.Pattern[str]] = {
    "URL": re.compile(_URL),
    "EMAIL": re.compile(_EMAIL),
    "MAC": re.compile(_MAC),
    "IP": re.compile(_IP),
    "CARD": re.compile(_CARD),
    "RRN": re.compile(_RRN),
    "FRN": re.compile(_FRN),
    "DRIVER_LICENSE": re.compile(_DRIVER_LICENSE),
    "BRN": re.compile(_BRN),
    "TEL": re.compile(_TEL),
    "BANK_ACCOUNT": re.compile(_BANK_ACCOUNT),
    "PASSPORT": re.compile(_PASSPORT),
    "HEALTH_INSURANCE": re.compile(_HEALTH_INSURANCE),
    "VEHICLE_PLATE": re.compile(_VEHICLE_PLATE),
    "MENTION": re.compile(_MENTION),
    "ADDRESS": ADDRESS,
}
"""What a value looks like. Context and check digits are judged afterwards, in rules.py."""

_D = f"[ {DASH}.)·]"
_TEN_DIGITS = f"[0-9](?:{_D}{{0,3}}[0-9]){{9}}"

GATES: dict[str, str] = {
    "URL": rf"(?i:(?:http|ftp)s?://|www\.[a-z0-9])|[a-z0-9]\.(?:{_TLD_BARE}|{_TLD_PATH}/)",
    "EMAIL": r"[A-Za-z0-9._%+-]@[A-Za-z0-9]",
    "MAC": r"[0-9A-Fa-f]{2}[:-][0-9A-Fa-f]{2}[:-][0-9A-Fa-f]{2}[:-][0-9A-Fa-f]{2}|[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.",
    "IP": r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]|[0-9A-Fa-f]{4}:[0-9A-Fa-f]{0,4}:",
    "CARD": _TEN_DIGITS,
    "RRN": f"[0-9]{{6}}{_D}{{0,3}}[0-9]{{7}}",
    "FRN": f"[0-9]{{6}}{_D}{{0,3}}[0-9]{{7}}",
    "DRIVER_LICENSE": f"[0-9]{{2}}{_D}?[0-9]{{6}}{_D}?[0-9]{{2}}",
    "BRN": f"[0-9]{{3}}{_D}{{0,3}}[0-9]{{2}}{_D}{{0,3}}[0-9]{{5}}",
    "TEL": (
        f"0[0-9]{{1,3}}{_D}{{0,3}}[0-9]{{3,4}}{_D}{{0,3}}[0-9]{{4}}"
        rf"|82{_D}{{0,3}}\(?0?\)? ?[0-9]{{1,3}}{_D}{{0,3}}[0-9]{{3,4}}{_D}{{0,3}}[0-9]{{4}}"
        f"|{_SERVICE}{_D}{{0,3}}[0-9]{{4}}"
    ),
    "BANK_ACCOUNT": _TEN_DIGITS,
    "PASSPORT": "[MSRODmsrod][0-9]{3}[0-9A-Za-z][0-9]{4}",
    "HEALTH_INSURANCE": f"[1-9][{DASH}]?[0-9]{{10}}",
    "VEHICLE_PLATE": rf"[0-9] ?{USAGE} ?[0-9]{{4}}|[교사외영기정표] ?[0-9]{{3}}[{DASH}][0-9]{{3}}",
    "MENTION": "@[A-Za-z0-9_][A-Za-z0-9_.]{2}",
    "ADDRESS": ADDRESS_GATE,
}
"""For every type a pattern in RE2 syntax that is found on every line on which the exact one is found."""
