"""Telephone numbers: mobile, landline, internet and service numbers, at home or with +82; others after a plus sign."""

from __future__ import annotations

import re

from data.pii.types.base import (
    APART_AFTER,
    APART_BEFORE,
    BEFORE,
    DASH,
    GATE_GAP,
    NOT_BEFORE,
    Draw,
    Extent,
    PiiType,
    digits_of,
    in_a_row,
    labelled,
    lay,
)

_SEPARATED = rf"(?: ?[{DASH}.·)] ?| )"
_AREA = "(?:01[016789]|02|0[3-6][1-5]|0[678]0|050[0-9]?|0303)"
_SERVICE = "1(?:5(?:22|33|44|66|77|88|99)|6(?:00|11|44|60|61|66|68|70|88)|8(?:00|11|33|55|66|77|99))"
_FORMER = "0[3-6][1-9][0-9]"
"""Area codes of before July 2000, a county each (0431, 0343)."""
_BARE_BEFORE = (
    rf"(?:(?<![0-9_])|(?<=[^0-9A-Za-z_]__))(?<![0-9A-Za-z][{DASH}/_])(?:(?<![0-9A-Za-z]=)|(?<=to=)|(?<=om=)|(?<=el=)"
    rf"|(?<=ne=)|(?<=ax=))(?:(?<![0-9][.,)(])|(?<=1[568][0-9]{{2}}[~{DASH}][0-9]{{4}},))"
)
_BARE_AFTER = rf"(?![0-9]|_(?!_))(?![{DASH}.][0-9]|,(?!1[568][0-9]{{2}}[~{DASH}][0-9]{{4}}(?![0-9]))[0-9])"
"""Digits alone, and the eight of service numbers, are a number only where no sum, range of years or code continues."""
_MOBILE = rf"01[016789][{DASH}.][0-9]{{4}}[{DASH}.][0-9]{{4}}{APART_AFTER}"
_TEL = (
    rf"(?P<country>(?<![0-9])(?:\(\+? ?82\)|\+ ?82|0082)|{APART_BEFORE}82(?=[{DASH}]"
    rf"| ?10(?P<joint>[ {DASH}])[0-9]{{4}}(?P=joint)))"
    rf"(?:{_SEPARATED}?(?:\(0\) ?|\(?0)?)"
    rf"(?:1[016789]|2|[3-6][1-5]|[78]0|50[0-9]?){_SEPARATED}?[0-9]{{3,4}}{_SEPARATED}?[0-9]{{4}}{APART_AFTER}"
    rf"|{APART_BEFORE}(?P<area>\( ?{_AREA} ?\)(?: ?[{DASH}])? ?|{_AREA}{_SEPARATED})[0-9]{{3,4}}(?P<last>{_SEPARATED})"
    rf"[0-9]{{4}}{APART_AFTER}"
    rf"|{APART_BEFORE}(?<![0-9A-Za-z_]){_AREA} ?\([0-9]{{3,4}}\)(?: |[{DASH}])?[0-9]{{4}}{APART_AFTER}"
    rf"|{APART_BEFORE}(?:01[016789](?:{_SEPARATED}[0-9]{{7,8}}|[0-9]{{3,4}}{_SEPARATED}[0-9]{{4}})){APART_AFTER}"
    rf"|(?P<plain>(?:{NOT_BEFORE}|(?<=01[016789][0-9]{{8}}[,/]))(?:010[0-9]{{8}}|(?:01[16789]|02|0[3-6][1-5]|0[78]0|050[0-9]?)[0-9]{{7,8}}))(?:{_BARE_AFTER}|(?=,01[016789][0-9]{{7,8}}))(?![A-Za-z])"
    rf"|(?P<grown>{APART_BEFORE}01[016789][{DASH}.][0-9]{{4}}[{DASH}.][0-9]{{4}}(?={_MOBILE})"
    rf"|(?<=[0-9][{DASH}.][0-9]{{4}}[{DASH}.][0-9]{{4}})(?<=01[016789][{DASH}.][0-9]{{4}}[{DASH}.][0-9]{{4}}){_MOBILE})"
    rf"|{_BARE_BEFORE}(?P<service>(?:{_SERVICE}|1500(?=[{DASH}]))(?: ?[{DASH}] ?|\.| |~"
    rf"|))(?P<serial>[0-9]{{4}}){_BARE_AFTER}"
    rf"|{APART_BEFORE}(?<![0-9A-Za-z_])(?P<half>(?:02|0[3-6][1-5]|0[78]0)[0-9]{{3,4}}[{DASH}][0-9]{{4}}){APART_AFTER}"
    rf"|(?<=[A-Za-z]=)(?P<asked>010[0-9]{{8}})(?![0-9A-Za-z])"
    rf"|{APART_BEFORE}(?<![0-9A-Za-z_])\(?{_FORMER}(?:\) ?|[{DASH}])[0-9]{{2,3}}[{DASH}][0-9]{{4}}{APART_AFTER}"
    rf"|{APART_BEFORE}(?<![0-9A-Za-z_])01[25][{DASH}][0-9]{{3,4}}[{DASH}][0-9]{{4}}{APART_AFTER}"
    rf"|(?<![0-9A-Za-z])\+(?!82)[1-9][0-9]{{0,2}}[ {DASH}.](?:\([0-9]{{1,4}}\)|[0-9]{{1,4}})"
    rf"[ {DASH}.][0-9]{{3,4}}[ {DASH}.][0-9]{{4}}{APART_AFTER}"
)
_GATE = (
    f"0[0-9]{{1,3}}[({GATE_GAP[1:]}{{0,3}}[0-9]{{3,4}}{GATE_GAP}{{0,3}}[0-9]{{4}}"
    rf"|82{GATE_GAP}{{0,3}}\(?0?\)? ?[0-9]{{1,3}}{GATE_GAP}{{0,3}}[0-9]{{3,4}}{GATE_GAP}{{0,3}}[0-9]{{4}}"
    f"|(?:{_SERVICE}|1500)[~{GATE_GAP[1:]}{{0,3}}[0-9]{{4}}|{_FORMER}\\)?[ {DASH}]?[0-9]{{2}}[{DASH}][0-9]{{4}}"
    rf"|\+[1-9][0-9]{{0,2}}[ {DASH}.]\(?[0-9]{{1,4}}\)?[ {DASH}.][0-9]{{3,4}}[ {DASH}.][0-9]{{4}}"
)
TEL_LABEL = re.compile(
    r"(?=[전대직내안연핸휴폰모문카팩상수발고콜거제신예주접배담사자집비긴보총회민☎☏📞국tpmfchsTMFHPCS])"
    r"(?:전화|대표\s?번호|직통|내선|안심\s?번호|연락|핸드폰|휴대|모바일|폰|전번|문의|문자|카톡|팩스|상담|수신|발신|고객\s?센터|콜센터|거부"
    r"|제보|신고|예약|주문|접수|배달|담당|사무실|사무국|자택|집(?![가-힣])|비상|긴급|보호자|총무|회장|민원|☎|☏|📞|국번"
    r"|(?<![a-z])(?:tel|phone|mobile|fax|call|sms|h\.?p|c\.?p)(?![a-z])"
    r"|(?<![A-Za-z])[TMFHPC][^0-9A-Za-z가-힣,;/]{0,8}$)",
    re.IGNORECASE,
)
WHOLE_NUMBER = re.compile(
    rf"(?P<head>01[016789]|02|0[3-6][1-5]|0[78]0|050[0-9])(?P<middle>[0-9]{{3,4}})(?P<last>[0-9]{{4}})"
    rf"|(?P<service>{_SERVICE})(?P<serial>[0-9]{{4}})"
)
"""All digits of a number without separators; of eleven digits where it begins with 010."""


def telephone(text: str, match: re.Match[str]) -> Extent | None:
    """Accept separated numbers; bare landlines and service numbers that could be years need a label."""
    start, end = match.span()
    digits = digits_of(match[0])
    if match["plain"] is not None:
        mobile = digits.startswith("010") and not set(digits) <= set("01")
        return (start, end) if mobile or labelled(TEL_LABEL, text, start, end) else None
    if match["service"] is not None:
        first, last = digits[:4], digits[4:]
        # 1588-1592 are years, 1800-3000 is a range
        range_ = first <= last <= "2100" or (first < last and first.endswith("00") and last.endswith("00"))
        clear = (
            not match["service"].strip(" ~").isdigit() and not range_ and not (first == "1500" and last.endswith("00"))
        )
        if (
            (range_ and _YEARS_AFTER.match(text, end))
            or (len(match[0]) == 8 and _LETTER.match(text, start - 1))
            or (text[end : end + 1] == "원")
        ):
            return None
        return (start, end) if clear or labelled(TEL_LABEL, text, start, end) else None
    if match["half"] is not None:
        return (start, end) if labelled(TEL_LABEL, text, start, end) else None
    if match["country"] == "82" and _EXAMINED.search(text, max(0, start - BEFORE), end + BEFORE):
        return (start, end) if labelled(TEL_LABEL, text, start, end) else None
    if match["asked"] is not None:
        return None if set(digits) <= set("01") else (start, end)
    if match["area"] is not None and match["area"].endswith(" ") and match["last"] == " ":
        cell = _CELL_BEFORE.search(text, max(0, start - 4), start) and _CELL_AFTER.match(text, end)
        cell = cell or (_WORD_BEFORE.search(text, max(0, start - 4), start) and _LINE_AFTER.match(text, end))
        known = digits.startswith("01") or cell or labelled(TEL_LABEL, text, start, end)
        return (start, end) if known and not in_a_row(text, start, end) else None
    return start, end


_CELL_BEFORE = re.compile('[|\t,<>"] ?\\Z')
_CELL_AFTER = re.compile(' ?[|\t,<>"]')
_WORD_BEFORE = re.compile("[가-힣]{2} \\Z")
_LINE_AFTER = re.compile("[ \r]*(?:\n|\\Z)")
"""A landline with blanks that ends a line behind a name: 새솔상회 02 123 4567."""
_EXAMINED = re.compile("수험|성적|응시|고사장")
"""Beside a candidate's number, which may begin with 82."""
_YEARS_AFTER = re.compile(" ?년")
_LETTER = re.compile("[A-Za-z]")
_ABROAD = re.compile(r"\+(?! ?82)[0-9]{1,3}(?=[^0-9])")
_OF_KOREA = re.compile(r"\(? ?(?:\+ ?|00)?82")
_WITH_FORMER = re.compile(rf"\(?{_FORMER}[^0-9]{{1,2}}[0-9]{{2,3}}[^0-9][0-9]{{4}}")


def national(value: str) -> str:
    """Return a number's digits as they are dialled at home; of another country's after a plus sign."""
    digits = digits_of(value)
    if _ABROAD.match(value):
        return f"+{digits}"
    if len(digits) > 9 and _OF_KOREA.match(value):
        digits = "0" + digits.removeprefix("00").removeprefix("82").lstrip("0")
    return digits


def _make(value: str, normal: str, draw: Draw) -> str:
    if normal[0] == "1":
        return lay(value, "1500" + draw.digits(4))
    if normal.startswith(("050", "0303")):
        subscriber = 8 if len(normal) == 12 else 7
    elif abroad := _ABROAD.match(value):  # no national number begins with 0 behind the country's code
        subscriber = len(normal) - len(abroad[0])
    elif _WITH_FORMER.fullmatch(value):
        subscriber = len(normal) - 4
    elif normal[0] != "0":  # without its area code
        subscriber = len(normal)
    else:
        subscriber = len(normal) - (2 if normal.startswith("02") else 3)
    return lay(value, "0" + draw.digits(subscriber - 1))


TEL = PiiType(
    "TEL",
    re.compile(f"(?=[0-9+(])(?:{_TEL})"),
    _GATE,
    _make,
    label=TEL_LABEL,
    check=telephone,
    normalise=national,
    exact=True,
)
