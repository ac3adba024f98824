"""Values of any form beside the label of a form: what stands behind "여권번호:" is a passport number.

The patterns of the types know the forms in use; behind a label, or in a table below such a header, any value of
plausible length has the label's type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from data.pii.fold import View, fold
from data.pii.labels import COLUMNS, COLUMNS_ONLY, KINDS, REGION, LabelKind
from data.pii.separated import Finder
from data.pii.tables import cells_below
from data.pii.types.base import DASH, DATE, GATE_GAP, MASK, Found, PiiType, accepted, digits_of, is_blank
from data.pii.types.identity import FRN, RRN
from data.pii.types.network import OCTET
from data.pii.types.telephone import TEL

_SIGNS = rf"[ \xa0\t\\\\:：=…|/)\]】>＞→▶▷☞※★☆●·*\"'`“‘(（\[「『【〈._{DASH}]"
_QUOTES = r"[ \xa0\"'`“‘(（\[「『【〈*_]"
_CLOSED = r"[ \xa0\"'`”’)）\]」』】〉*_]"
_TAGS = "(?:</?[a-z]{1,6}>|&nbsp;){1,4}"
_JOINT = rf"(?:{_SIGNS}{{0,6}}(?:{_TAGS}{_SIGNS}{{0,6}})?)"
_PARTICLE = r"(?:란에는?|[은는이가도을를]| ?(?:은\(는|는\(은|이\(가|가\(이)\)) ?"
_OF = "(?:의|사본상?|상|기호|등록|고유|근로자 ?등록|정보|발급)[ ·/,의]?"
_NUMBER = rf"[)\]）]?[ _(（·/]?(?:{_OF})?(?:번 ?호|(?:[nN][oO]|NUM|[nN]r)[.:：]?|[nN]umber|NUMBER|№|#)"
_SAID = rf"|(?:으?로 [가-힣]{{2,8}}[.:]|[을를] [가-힣]{{2,8}}) {_QUOTES}{{0,3}}"
"""A word between a label and a value: 아래 여권으로 등록했습니다. …, 여권을 물어봐서 …."""
_REMARK = r"(?: ?[(\[（][가-힣A-Za-z0-9 ,.·/]{1,20}[)\]）]| ?정보| ?사항)"


_NUMBERED_ONLY = frozenset(["VEHICLE_PLATE"])
"""Types whose label says enough only with the word for number."""
_TELLING = re.compile("등록 ?차량|번호판|차번|차 ?넘버|(?i:license|plate)")
"""Labels that hold it."""
_DISTINCT = frozenset(["PASSPORT", "RRN", "FRN", "VEHICLE_PLATE"])
"""Types whose values are told from other numbers in a table whose columns are not clear."""
_SHORT = frozenset(["PASSPORT", "DRIVER_LICENSE", "BRN", "BANK_ACCOUNT", "CARD", "VEHICLE_PLATE", "TEL"])
"""Types whose label is a header without the word for number, too."""
_LATIN = r"(?<![A-Za-z])"
_FAR = rf"(?(number)[^0-9\n]{{2,16}}?(?:\n[^0-9\n]{{0,8}}?)?(?<![0-9A-Za-z{DASH}])|(?!))"
"""A few words between a label with the word for number and its value: 면허번호 불러주세요, on the next line 네, …"""
_BEGIN = rf"(?<![0-9A-Za-z])(?<![0-9A-Za-z가-힣][{DASH}./_])"
_END = rf"(?!\*{{0,2}}[0-9A-Za-z]|\*{{1,2}}[{DASH}]|\*\*\*|[{MASK[1:6]}]|[{DASH}][0-9A-Za-z]|[.,][0-9])"
"""The value is whole: no letter and no masked digit follows, but the stars of bold type may."""


_AND = r"(?:[)\]]?[ \t]{0,2}(?:→|->|[,/·ㆍ;&]|및|또는|혹은)[ \t]{0,2}[(\[]?| ?\((?:[가-힣]{1,4} ){1,2})"
"""Between the values of a list."""


def _label(kind: LabelKind) -> str:
    """Return the pattern of a type's labels for Python: look-behinds for what RE2 has to match."""
    return rf"(?=[{kind.starts}])(?:{kind.labels.replace('(?:(?m:^)|[^가-힣])', '(?<![가-힣])')})"


_LABELS = {name: re.compile(rf"(?=[{kind.starts}]){_LATIN}{_label(kind)}") for name, kind in KINDS.items()}
"""Found first: a line has few of them."""
_PATTERNS = {
    name: re.compile(
        # 여권번호(발급), 여권
        rf"{_label(kind)}(?P<number>{_NUMBER})?(?:{_REMARK})?"
        # …는 M12345678
        rf"(?:(?P<joint>{_PARTICLE}(?:요 )?{_QUOTES}{{0,3}}"
        # …: M12345678, …을 물어봐서 M12345678
        rf"|{_JOINT}{_SAID if name in _SHORT - {'TEL'} else ''})"
        # on the next line: - M12345678
        rf"(?P<below>\r?\n[ \t]{{0,8}}(?:[·○ㅇ•*-] |[※★☆●▷▶☞→■□◆◇▪] ?)?{_QUOTES}{{0,2}})?{kind.before}"
        # 여권번호 불러주세요 M12345678
        rf"|(?P<far>{_FAR}))(?P<value>{kind.values})"
        # the end, or another value of a list: , M12345679
        rf"(?:{_END}|(?={_AND}{kind.before}(?:{kind.values.replace('gap', 'next')}){_END}))"
    )
    for name, kind in KINDS.items()
}
_BEFORE_LABEL = {
    name: re.compile(
        # M12345678; M12345678, M12345679
        rf"(?={kind.begins}){_BEGIN}(?P<value>{kind.values})(?:{_AND}(?:{kind.values.replace('gap', 'next')}))?"
        # (여권번호)
        rf"{_CLOSED}{{0,3}}(?: ?[(\[（] ?[가-힣]{{0,4}} ?{_label(kind)}(?:{_NUMBER})?[)\]）]"
        # 이게 여권
        rf"| 이게 [가-힣]{{0,4}}? ?{_label(kind)})"
    )
    for name, kind in KINDS.items()
    if name != "TEL"
}
"""The same with the label behind the value, in brackets or said (… 이게 여권 번호 맞나요?)."""
_MORE = {
    name: re.compile(
        rf"{_AND}{kind.before}(?P<value>{kind.values})(?:{_END}"
        rf"|(?={_AND}{kind.before}(?:{kind.values.replace('gap', 'next')}){_END}))"
    )
    for name, kind in KINDS.items()
}
"""The next value of a list behind one label (A, B; A → A)."""
_BEHIND_A_NUMBER = re.compile(r"[0-9] ?[(\[（]\Z")
_LABEL_BEHIND = {
    name: re.compile(rf"[(\[（] ?[가-힣]{{0,4}} ?{_label(kind)}(?:{_NUMBER})?[)\]）]") for name, kind in KINDS.items()
}
"""Looked for first: a label in brackets is rarer than a value."""
_CELLS = {
    name: re.compile(rf"{kind.before}(?P<value>{kind.values})(?![0-9])")
    for name, kind in KINDS.items()
    if name != "TEL"
}
_NO_POSTAL = "(?!(?i:ip|mac|e-?mail|url|web)|메일|이메일|전자|인터넷|홈페이지|사이트|아이피|맥|물리|하드)"
_HEADERS = {
    name: re.compile(rf"[가-힣A-Za-z /]{{0,8}}{_label(kind)}(?:{_NUMBER}){'?' if name in _SHORT else ''}(?:{_REMARK})?")
    for name, kind in KINDS.items()
}
_HEADERS |= {
    name: re.compile(rf"{_NO_POSTAL if name == 'ADDRESS' else ''}[가-힣A-Za-z /]{{0,8}}(?:{words})")
    for name, words in COLUMNS_ONLY.items()
}
_HEADER_ENDS = {
    name: re.compile(
        # 여권번호 |, 여권 at the end of a line
        rf"{_label(kind)}(?:{_NUMBER}){'?' if name in _SHORT else ''}(?:{_REMARK})?[ \r]*(?:[|\t/,·;\n]|(?<=  )|\Z)"
    )
    for name, kind in KINDS.items()
}
"""What a line with such a header holds, which is found faster than its cells."""
_HEADER_ENDS |= {
    name: re.compile(rf"(?:{words})[ \r]*(?:[|\t/,·;\n]|(?<=  )|\Z)") for name, words in COLUMNS_ONLY.items()
}
_BLANKS = re.compile(rf" ?([{DASH}]) ?")
_LAST = re.compile(" [0-9]{1,2}\\Z")
_MACHINE = re.compile(rf"{OCTET}(?:\.{OCTET}){{3}}")
_FIRM = re.compile("[:：=]")
_ANOTHER = re.compile(
    "번호|계좌|여권|면허|차량|주소|[①-⑨]|전화|연락|문의|팩스|상담|센터|일자|날짜|일시|기간|시간|금액|수수료|코드|주문|송장|접수|승인|관리|고유|자리|형식|예시|예[:)]"
    "|[.!?] [가-힣]{5}"
)
"""Between a label and a number, what says that it is another's."""
_EITHER = re.compile(r"주민[ (（·/]{1,3}외국인|외국인[ (（·/]{1,3}주민")
"""One label for both registration numbers: the digit of the century says which it is."""
_REGISTERED_FORM = re.compile(rf"[0-9]{{6}} ?[{DASH}] ?[0-9]{{7}}")
_OWN = (TEL, RRN, FRN)
"""Types whose form is as telling as a label: "계좌 010-1234-5678" without a colon is a telephone number."""
_COUNTED = re.compile(" ?(?:원|명|건|종|개(?:월|년)?(?![가-힣])|[회점매장](?![가-힣])|%|만 ?원|억|년|월|달러|톤)")


def _beside(name: str, text: str, start: int, end: int) -> Iterator[Found]:
    position = start
    header = False
    whole = min(len(text), end + 64)
    while (label := _LABELS[name].search(text, position, end)) is not None:
        position = label.start() + 1
        header = header or (name in _DISTINCT and _HEADER_ENDS[name].match(text, label.start(), end + 1) is not None)
        match = _PATTERNS[name].match(text, label.start(), whole)
        if match is None or _BEHIND_A_NUMBER.search(text, max(start, label.start() - 4), label.start()):
            continue
        position = match.end()
        far = match["far"]
        if far is not None and _ANOTHER.search(far):
            continue
        firm = far is None and (match["number"] is not None or _FIRM.search(match["joint"]) is not None)
        if name in _NUMBERED_ONLY and not (match["number"] or _TELLING.match(match[0])):
            continue
        yield from _value(name, text, match, firm)
        while match is not None and (match := _MORE[name].match(text, match.end("value"), whole)) is not None:
            yield from _value(name, text, match, False)
            position = match.end()
    if name in _CELLS and (text.find(" 이게 ", start, end) >= 0 or _LABEL_BEHIND[name].search(text, start, end)):
        behind = start
        while (match := _BEFORE_LABEL[name].search(text, behind, end)) is not None:
            behind = match.end("value")
            yield from _value(name, text, match, False)
    if not header:
        return
    for first, last, own in cells_below(text, start, end, _HEADERS[name]):
        cell = None if own or name not in _DISTINCT else _CELLS[name].match(text, first)
        if cell and cell.end() == last:
            yield from _value(name, text, cell, True)


def labelled_cells(text: str, start: int, end: int, ways: Iterable[str]) -> Iterator[tuple[str, View]]:
    """Yield the cells below each header in the line text[start:end] that is a label: the type, and the cell behind it.

    Args:
        ways: names of the finders whose gates match on the line.
    """
    if not text[end + 1 : end + 2].strip("\n"):  # no line below
        return
    for name in (way.removeprefix("beside_") for way in ways if way in LABEL_FINDERS):
        if _HEADER_ENDS[name].search(text, start, end + 1) is None:
            continue
        label = f"{COLUMNS[name]}: "
        for first, last, own in cells_below(text, start, end, _HEADERS[name]):
            if own:
                cell = fold(text, first, last)
                at = [first] * len(label)
                ends = None if cell.ends is None else [*at, *cell.ends]
                yield name, View(label + cell.text, [*at, *cell.places], ends)


def _value(name: str, text: str, match: re.Match[str], firm: bool) -> Iterator[Found]:
    start, end = match.span("value")
    value = match["value"]
    plain = re.match("[0-9]+ ", value) if name not in _DISTINCT else None
    if plain and len(plain[0]) > KINDS[name].digits.start:
        end = start + len(plain[0]) - 1  # what follows a whole number is another
        value = text[start:end]
    elif " " in value and re.match(" [0-9]", text[end : end + 2]):
        return  # a row of numbers
    elif (last := _LAST.search(value)) and _COUNTED.match(text, end):  # 면허번호 11 17 174133 01 1종
        end -= len(last[0])
        value = text[start:end]
    digits = digits_of(value)
    if _MACHINE.fullmatch(value):
        return
    if name == "CARD" and _REGISTERED_FORM.fullmatch(value):
        return  # residence card number
    if name in ("RRN", "FRN") and digits[6:] and _EITHER.search(text, max(0, match.start() - 7), start):
        name = "FRN" if digits[6] in "5678" else "RRN"
    length = len(digits) + 2 * (name == "DRIVER_LICENSE" and not value[0].isdigit())  # a region is a number of two
    if length not in KINDS[name].digits or not int(digits) or (name != "TEL" and is_blank(digits)):
        return
    if name == "TEL" and value[0] == "1" and value[:4] <= value[-4:] <= "2100":
        return  # years
    if _COUNTED.match(text, end) or DATE.match(text, start):
        return
    if not firm and name != "TEL" and any(_whole(kind, text, start, end) for kind in _OWN if kind.name != name):
        return
    if name in ("RRN", "FRN") and len(digits) == 13 and not value[-7:].isdigit():
        value = f"{digits[:6]}-{digits[6:]}"
    yield Found(start, end, name, _BLANKS.sub(r"\1", value) if " " in value[2:] and value[1] != " " else value)


def _whole(kind: PiiType, text: str, start: int, end: int) -> bool:
    match = kind.pattern.match(text, start)
    return match is not None and match.end() == end and accepted(kind, text, match) is not None


_TEL_COLUMN = (
    r"(?:전화|연락처|휴대폰|핸드폰|팩스|문의처?|직통|대표|상담|콜센터|모바일|전번|연락 가능한|폰|FAX|Fax|TEL"
    r"|Tel\.?|HP|H\.P|C\.P"
    r"|Mobile|Phone)(?: ?번호)? *[|\t,]"
)


def _gate(name: str) -> str:
    kind = KINDS[name]
    joint = f"(?:{_SIGNS}|</?[a-z]+>|&nbsp;)*"  # without counting, the automaton is smaller
    before = kind.before.replace("{0,6}", "*").replace("{1,2}", "+")
    value = rf"(?:{_PARTICLE}(?:요 )?{_QUOTES}*|{joint}){before}{kind.begins}"
    if name == "TEL":
        return rf"(?:{kind.labels})(?:{_NUMBER})?{value}|{_TEL_COLUMN}"
    if name in _SHORT - _NUMBERED_ONLY:
        return kind.labels
    if name in _NUMBERED_ONLY:
        return (
            rf"(?:{kind.labels})(?:{_NUMBER})|번호판|차번|차 ?넘버|(?i:license|plate)|등록 ?차량"
            r"|차 ?량[ \r]*(?:[|\t,/]|(?m:$))"
        )
    return rf"(?:{kind.labels})(?:{_NUMBER}|{value}| ?[(\[（)\]）:：|\t,]| ?(?m:$))"


_COLUMN_GATES = {name: rf"(?:{words}) *[|\t,]" for name, words in COLUMNS_ONLY.items()}
LABEL_FINDERS: dict[str, tuple[str, Finder]] = {
    **{f"beside_{name}": (_gate(name), partial(_beside, name)) for name in KINDS},
    # nothing more: what stands behind the word for an address is found by the type's own pattern
    **{f"beside_{name}": (gate, lambda text, start, end: iter(())) for name, gate in _COLUMN_GATES.items()},
}
"""As the finders of obfuscated.py: gate and finder. What one of them finds has its type, whatever else finds it."""
_FEW = (
    "주 ?민|민증|면 ?허|면허증|건보|보 ?험 ?증?|가입자|등록|등록증|사 ?업 ?자(?:[(]등록[)])?|외국인|신고"
    "|계 ?좌|통장|카 ?드|차|차 ?량|자동차|[cC]ar|CAR"
)
LABEL_GATE = (
    rf"[0-9](?:[/_{GATE_GAP[1:]}{{0,3}}[0-9]){{8}}|[0-9]{{6}} ?[{DASH}./_ ]? ?[0-9][{MASK}]"
    rf"|[0-9]{{6}} ?[{DASH}] ?[0-9](?:[^0-9]|\z)|여 ?권|[pP]assport|PASSPORT|PP ?[nN][oO]"
    rf"|번호판|차번|車번호|차 ?넘버|[pP]late[^a-z]"
    rf"|(?:계 ?좌|통장|차 ?량|카드|면허|면허증|보험증)[ \r]*[|\t,]|{_TEL_COLUMN}|{'|'.join(_COLUMN_GATES.values())}"
    rf"|[0-9](?: [0-9{DASH}]){{6}}|[0-9] [0-9] [가-힣] [0-9] [0-9]"
    rf"|면 ?허 ?증?[^\n0-9가-힣]*{REGION}|(?:면허|여 ?권|외국인|보험|보험증|계좌|카드)[)\]）]?[ _(（·/]?{_OF}번 ?호"
    rf"|(?:{_FEW})(?:[)\]）]?[ _]?(?:번 ?호|[nN][oO])| ?[:：]? ?(?m:$))"
    r"|(?:[aA]ccount|[cC]ard|[lL]icen[cs]e|[bB]iz)[)\]）]?[ _]?(?:[nN][oO]|[nN]umber)"
)
"""Found on each line on which one of them finds something: by the values, which are rarer in text than the labels, and
by the headers of tables. The gates of the finders themselves then say, on a line let through, which label it is."""
