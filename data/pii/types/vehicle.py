"""Licence plates: today's, older ones with a region, diplomatic ones, and those of motorcycles with a district."""

from __future__ import annotations

import re

from data.pii.places import INVENTED_NAMES, PLATE_REGIONS
from data.pii.types.base import AFTER, DASH, Draw, Extent, PiiType, digits_of, labelled, lay, speaks_for

USAGE = "[가나다라마거너더러머버서어저고노도로모보소오조구누두루무부수우주바사아자배하허호]"
"""Letters a vehicle plate may carry (private, commercial, parcel, rental)."""
_USAGE_GROUPS = ("가나다라마거너더러머버서어저고노도로모보소오조구누두루무부수우주", "바사아자", "배", "하허호")
_LETTERS = _USAGE_GROUPS[0]
_MISSIONS = "외교|영사|준외|준영|국기|협정|대표"
_OTHER_PLATE = f"[0-9]{{2,3}} ?{USAGE} ?[0-9]{{4}}(?![0-9A-Za-z])"
_JOINT = f"(?: ?[{DASH}.·ㆍ] ?| {{0,2}})"
_VEHICLE_PLATE = (
    rf"(?:(?<![가-힣])(?P<region>{PLATE_REGIONS}) ?[0-9]{{1,2}}"
    rf"|(?:(?:(?<![0-9A-Za-z_.,])|(?<=[^0-9A-Za-z_]__)|(?<=\A__))(?<![가-힣]제)(?<![0-9][{DASH}/])|(?<={USAGE}[0-9]{{4}}[,/]))[0-9]{{2,3}})"
    rf" ?(?P<usage>{USAGE})(?P<space> ?)(?P<serial>[0-9]{{4}})(?![0-9A-Za-z]|(?![,/]{_OTHER_PLATE})[.,{DASH}/~][0-9])"
    rf"|(?:(?<![0-9A-Za-z가-힣_-])|(?<=[^0-9A-Za-z_]__))(?P<dashed>[0-9]{{2,3}}{_JOINT}{USAGE}(?: ?[{DASH}.·ㆍ] ?"
    rf"|  )[0-9]{{4}}|[0-9](?: [0-9]){{1,2}} {USAGE}(?: [0-9]){{4}})(?![0-9A-Za-z-])"
    rf"|(?<=[0-9A-Za-z가-힣\"][,/])(?P<cell>[0-9]{{2,3}}{USAGE} ?[0-9]{{4}})(?![0-9A-Za-z가-힣])"
    rf"|(?<![가-힣])(?P<mission>{_MISSIONS}) ?[0-9]{{3}}[{DASH}][0-9]{{3}}(?![0-9{DASH}])"
    rf"|(?<![가-힣])(?P<old>{PLATE_REGIONS})(?P<district> ?[가-힣]{{2,4}}?| [동서남북중](?= ))?"
    rf"(?P<gap> ?)(?P<letter>[가-차타-하]) ?"
    rf"(?P<number>[0-9]{{4}})(?![0-9A-Za-z]|[.,{DASH}/~][0-9])"
)
_GATE = (
    rf"[0-9]{_JOINT}{USAGE}(?: ?[{DASH}.·ㆍ] ?|  )[0-9]{{4}}|[0-9] [0-9] {USAGE} [0-9] [0-9] [0-9] [0-9]|(?:[0-9]"
    rf"|(?:{PLATE_REGIONS}) ?)[0-9] ?{USAGE} ?[0-9]{{4}}"
    rf"|[교사외영기정표] ?[0-9]{{3}}[{DASH}][0-9]{{3}}|(?:{PLATE_REGIONS})(?: ?[가-힣]{{2,4}}"
    rf"| [동서남북중])? ?[가-하] ?[0-9]{{4}}"
)
_LABEL = re.compile(
    r"차량|승용차|승합차|전기차|수소차|자동차|화물차|트럭|택시|버스|번호판|차\s?번호|차번|주차|렌터카|렌트카|견인|뺑소니|차주|기사님|오토바이|이륜차|운전|입차|출차"
    r"|하이패스|블랙박스|과태료|주정차|그랜저|쏘나타|소나타|아반떼|쏘렌토|싼타페|투싼|스포티지|카니발|스타렉스|모닝|스파크|티볼리"
    r"|제네시스|말리부|셀토스|코란도|렉스턴|아이오닉|(?<![A-Za-z0-9])(?:SUV|K[3579]|G[789]0|SM[3567]|EV[369]|QM[356])(?![A-Za-z0-9])"
    r"|(?<![가-힣])(?:내 ?|상대 ?)?차(?:[는가를의도]?\s|\()"
)
_PLATE_LABEL = re.compile("번호판|번호|오토바이|이륜차|차량|차주|등록")
_MOTORCYCLE_LABEL = re.compile("오토바이|이륜차|바이크")
_MOTORCYCLES = frozenset("가나다라마바사아자차카타파하")
"""Letters of motorcycles' plates, which may be joined to their district (경기수원나8203)."""
_COURT = re.compile(
    "대법원|법원|선고|판결|판례|판시|결정|헌재|사건|상고|항소|원심|재판|소송|손해배상|구상금|대여금|전원합의체|참조"
    "|고법|지법|지원 ?(?:[0-9]|판결|선고)"
)
_CASES = frozenset("가나다라마바사아자누두루무부수우주노도로모보고오조구더머저허호하")
"""Letters of case numbers (97누1234, 99다1234): year, kind of the case, number."""
_FIRST_COURT = 48
"""Year since which courts have numbered cases so; a number of three digits is no year."""
_COUNTERS = frozenset("조주도부호수자소로나")
"""Usage letters that are also counters, particles or words ("10조 2000억", "20도 1500")."""
_AFTER_PLATE = re.compile(
    r"[년월억만천조원명개톤점여회건석권부위편열%㎞㎡]| [년월억만천조원명개톤점여회건석권부위편열%㎞㎡](?![가-힣])"
    r"| ?(?:[억만천] ?원|[mgkMGK](?![0-9])|킬로|미터"
    r"|번지|세대|가구|마리|대(?![가-힣]))"
)


def vehicle_plate(text: str, match: re.Match[str]) -> Extent | None:
    """Accept a plate; letters that are also counters, or kinds of cases, need a region, a label, or the tight form."""
    start, end = match.span()
    if match["dashed"] is not None or match["cell"] is not None:
        return (start, end) if labelled(_LABEL, text, start, end) else None
    if match["old"] is not None:
        joined = not match["gap"]
        if joined and not (match["district"] and match["letter"] in _MOTORCYCLES):
            return None
        return (start, end) if labelled(_MOTORCYCLE_LABEL if joined else _PLATE_LABEL, text, start, end) else None
    if match["region"] is not None or match["mission"] is not None:
        return start, end
    article = match["usage"] in "조호" and text[start - 1 : start] == "제"
    if article or _AFTER_PLATE.match(text, end):
        return None
    number = int(match[0][: match.start("usage") - start])
    case = not match["space"] and _FIRST_COURT <= number <= 99 and match["usage"] in _CASES
    if case and _COURT.search(text, end, end + AFTER):
        return None  # 94다4567 자동차 손해배상
    if not _FIRST_COURT <= number <= 99 and labelled(_LABEL, text, start, end):
        return start, end
    said = speaks_for(_LABEL, _COURT, text, start, end)
    if said is not None:
        return (start, end) if said else None
    if match["serial"].startswith("0"):  # nothing is counted like this
        return start, end
    year = match["space"] and 1800 <= int(match["serial"]) <= 2100
    loose = match["space"] and (match["usage"] in _COUNTERS or text[match.start("usage") - 1] == " ")
    return None if year or loose or case or match["serial"].endswith("000") else (start, end)


def _group(letter: str) -> str:
    return next((letters for letters in _USAGE_GROUPS if letter in letters), _LETTERS)


def _make(value: str, normal: str, draw: Draw) -> str:
    match = _PATTERN.fullmatch(value)
    regions = PLATE_REGIONS.split("|")
    if match is None:  # of another form, beside its label
        made = lay(value, "0" * (len(digits_of(value)) - 4) + draw.digits(4))
        made = re.sub("(?<=[0-9])( ?)([가-힣])", lambda m: m[1] + draw.choice(_group(m[2])), made, count=1)
        return draw.choice(regions) + made[2:] if value.startswith(tuple(regions)) else made
    if match["mission"]:
        return lay(value, "000" + draw.digits(3))
    if match["old"]:
        made = lay(value, draw.digits(4))[match.start("letter") + 1 :]
        letter, district = draw.choice(_LETTERS), draw.choice(INVENTED_NAMES)  # no region has such a district
        return (" " if match["gap"] else "").join([draw.choice(regions), district, letter + made])
    made = lay(value, "0" * (sum(c in "0123456789" for c in value) - 4) + draw.digits(4))
    at = match.start("usage") if match["usage"] else re.search(USAGE, value).start()  # type: ignore[union-attr]
    made = made[:at] + draw.choice(_group(value[at])) + made[at + 1 :]
    if match["region"]:
        made = draw.choice(regions) + made[2:]
    return made


_FIRST = "".join(sorted({name[0] for name in (*PLATE_REGIONS.split("|"), *_MISSIONS.split("|"))}))
_PATTERN = re.compile(f"(?=[0-9{_FIRST}])(?:{_VEHICLE_PLATE})")
VEHICLE_PLATE = PiiType(
    "VEHICLE_PLATE",
    _PATTERN,
    _GATE,
    _make,
    label=_LABEL,
    check=vehicle_plate,
    normalise=lambda value: re.sub("[^0-9가-힣]", "", value),
)
