"""Postal addresses: with a road or a lot and its number, or with a building and its flat.

An address is a province or a known city, county or ward, then an optional town, then a road or a lot with a number,
then optional building details; or a town, a building and the number of a flat. "서울 강남구 역삼동 3개 업체" is none:
a counter after the number says so.
"""

from __future__ import annotations

import re

from data.pii.draw import Draw
from data.pii.places import CITIES, COUNTIES, INVENTED_NAMES, PROVINCES, WARDS
from data.pii.types.base import PiiType

SHORT_UNITS = "개명년월일시분초차위곳회건%％원억만천조여세살대인배도부권등점종쪽면장절주mk㎞㎡"
UNITS = (
    f"[{SHORT_UNITS}]| [{SHORT_UNITS}](?![가-힣])| ?(?:호선|단지|번(?!지)|마리|킬로|미터|학년|학기|가지|호실)"
    "| ?(?:구역|지구|구간|공구|블록|블럭|필지|가구|세대)|중(?![가-힣])|중 ?(?:추돌|충돌)|연패|연승"
)
"""What follows a number that counts something; such a number is no house number (but "110 대한빌딩" is one)."""
_PROVINCE = "|".join(
    f"{name}(?:{'|'.join(s for s in suffixes if s)}){'?' if '' in suffixes else ''}" if suffixes != ("",) else name
    for name, suffixes in PROVINCES.items()
    if name != "세종"  # it has no districts
)
_METROPOLES = "|".join(name for name, suffixes in PROVINCES.items() if suffixes[0] in ("특별시", "광역시"))
_ADVERB = (
    "(?:[가-힣]+으|앞으|최초|추가|새|별도|대체|실제|수시|무료|유료|가|세|경|통"
    "|(?:최|그|절|상|반|확|제멋|예정|계획|뜻|마음|맘|제|규정|순서|차례|말|약속)?대)로 "
)
"""Words with a particle, not roads (부산시 추가로 12, 최초로 3선)."""
_NAMED_ROAD = f"(?!{_ADVERB}|[가-힣]*도로 |둘레길 )[가-힣·0-9]+(?:로|길) ?[0-9]"
"""A road right behind a city."""
_DISTRICT = "[가-힣]{1,4}[시군구]"
_KNOWN = f"(?:{CITIES})시|(?:{COUNTIES})군|(?:{WARDS})구"
BUILDINGS = "아파트|빌라|빌딩|타워|오피스텔|맨션|상가"
ROOM = r"(?:[0-9]{1,4}동[,/]? ?[0-9]{1,4}호|(?<=[트라딩워텔션가차지]) ?[0-9]{1,4}호)(?!실|텔|선)"
"""The number of a flat, behind that of its building, or behind the building's name."""
ROOM_GATE = f"[0-9]동[,/]? ?[0-9]{{1,4}}호|(?:{BUILDINGS})(?: ?[0-9]{{1,2}}(?:차|단지))?,? ?[0-9]{{1,4}}호"
_ENDING = "입니다|이에요|으로|에서|이고|이며|인데|까지"
_UNIT = (
    rf"(?:(?:제 ?)?(?:지하 ?|지층 ?)?[A-Z]?[0-9]{{1,4}}(?:-[0-9]{{1,4}})?(?:"
    rf"(?:동|층)(?:(?={_ENDING})|(?![가-힣]{{3}}))|호(?!실|텔|선))"
    r"|제?[A-Z가나다라마바사]동(?= ?제? ?[0-9]{1,4}[층호])|[나다라]동(?![가-힣0-9]))"
)
"""A part of a building: 101동, 제3층, B동 301호, B01호, 203-1호."""
_AROUND = "인근|일대|인데|부터"
"""What begins like a unit and is none."""
_GLUED = (
    f"{_AROUND}|번지|에|까지|입니다|예요|라[고는]|이(?!닝)|하고|소재|근처"
    "|(?:(?<=[0-9]{3})|(?<=-[0-9])|(?<=-[0-9]{2}))(?![호층동평석실병권])[가-힣]"
    f"|(?:[은는을를가의와과및앞뒤옆]|으?로)(?![가-힣])|[가-힣]{{1,12}}(?:{BUILDINGS})"
)
"""Hangul that may follow the number of a lot without a blank; anything else makes it no address (63빌딩, 6호분)."""
_YEAR = (
    r"(?:19[5-9]|20[0-3])[0-9] "
    rf"(?!번지|입니다|[에로] |[가-힣A-Za-z0-9]{{1,12}}(?:(?:{BUILDINGS})|,? {_UNIT}))[가-힣]"
)
"""A number that a word follows, as the year of an event (2019 전주국제영화제), not the name of a building."""
_NO_UNIT = (
    rf"(?!-?[0-9]|(?<![0-9]{{3}})[·‧ㆍ•・][0-9]{{1,2}}(?![0-9-]| ?번지)|[~∼][0-9]{{1,5}}(?:{UNITS})"
    rf"|[.,](?![0-9]{{1,4}}[호층동]|(?<=,)[0-9]{{5}}(?![0-9]))[0-9]|(?!{_AROUND})(?:{UNITS}))"
)
"""What may follow the number of a house: no further digits, no day of an event (금남로 5·18), no unit."""
_ROAD = (
    r"(?:(?P<quarter>[가-힣][가-힣0-9]{0,6}?(?:동|가|리)) )?"
    rf"(?!{_ADVERB})(?P<road>[0-9]?[가-힣][가-힣0-9·]{{0,11}}?(?:대로|로|길))"
    r"(?P<branch> ?[0-9]{1,4}[가-하번]?[가-힣]?길)?"
    rf" ?(?:지하 ?)?(?P<house>(?![0-9]가)[0-9]{{1,5}}(?:-[0-9]{{1,4}})?)"
    rf"(?: ?번지|{_NO_UNIT}(?:(?<=[0-9-][0-9])|(?!(?!{_GLUED})[가-힣])))"
)
_LOT = (
    r"(?:(?P<village>[가-힣][가-힣0-9]{0,7}?(?:[동로][0-9]가|동|리|가)(?: [가-힣]{1,4}리)?)"
    r" ?(?:산 ?|제 ?)?|(?<=[읍면] )산 ?|(?<=[읍면])산 ?)"
    rf"(?P<lot>(?![0-9]가|{_YEAR})[0-9]{{1,5}}(?:-[0-9]{{1,4}})?)"
    r"(?: ?번지(?: [0-9]{1,4} ?호)?|(?:(?<=[0-9]{2})|(?<=-[0-9]))호(?![분기점선실텔])"
    rf"|{_NO_UNIT}(?!(?!{_GLUED})[가-힣]))"
)
_FLAT = (
    r"(?P<place>[가-힣][가-힣0-9]{0,5}?(?:[동로][0-9]가|동|리|가))"
    rf",? (?P<building>[가-힣A-Za-z0-9]{{1,12}}?(?: ?(?:{BUILDINGS}))?(?: ?[0-9]{{1,2}}(?:차|단지))?)"
    rf"(?P<flat>,? ?{ROOM}|(?<=[가-힣]) (?!(?:19|20)[0-9]{{2}}-)[0-9]{{2,4}}-[0-9]{{3,4}}{_NO_UNIT}(?!-))"
)
_COMPLEX = (
    r"(?P<complex>[가-힣A-Za-z0-9]{2,12}?(?: ?[0-9]{1,2}(?:차|단지))?),? "
    r"(?P<number>[0-9]{1,4}동[,/]? ?[0-9]{1,4}호(?!실|텔|선))"
)
"""A complex and a flat right behind the district: 송파구 헬리오시티 412동 1803호."""
_QUARTER = (
    r" ?\([가-힣0-9]{1,8}(?:동|리|가|읍|면)(?:[0-9]가)?(?: ?(?:산 ?)?[0-9]{1,4}(?:-[0-9]{1,4})?(?: ?번지)?)?"
    r"(?:, ?[가-힣A-Za-z0-9 ]{2,20})?\)"
    rf"| ?\([가-힣A-Za-z0-9]{{1,12}}(?:{BUILDINGS}|밸리|센터|번지)\)"
)
"""What an address holds in brackets: the quarter of a road, or a building. Anything else is a remark."""
_DETAIL = (
    rf"(?P<detail>(?:{_QUARTER})?"
    rf"(?:,? ?[가-힣A-Za-z0-9]{{1,12}}(?:{BUILDINGS})"
    rf"|(?:,? [가-힣A-Za-z][가-힣A-Za-z0-9]{{1,11}}){{1,2}}?(?=,? {_UNIT})"
    rf"|,? [가-힣]{{2,10}}(?=,? (?!(?:19|20)[0-9]{{2}}-)[0-9]{{2,4}}-[0-9]{{3,4}}(?![0-9-])))?"
    r"(?: ?[0-9]{1,3}통(?: ?[0-9]{1,2}반)?(?![가-힣]{2}))?"
    rf"(?:[,/]? ?{_UNIT}){{0,3}}"
    rf"(?:(?<=[가-힣]) (?!(?:19|20)[0-9]{{2}}-)[0-9]{{2,4}}-[0-9]{{3,4}}(?![0-9-])"
    r"|,? ?사서함 ?[0-9]{1,5}(?:-[0-9]{1,4})?호?)?"
    rf"(?:{_QUARTER})?)"
)
_FIRST = "".join(sorted({name[0] for name in (*PROVINCES, *f"{CITIES}|{COUNTIES}|{WARDS}".split("|"))}))
PATTERN = re.compile(
    rf"(?<![가-힣])(?=[{_FIRST}])(?:(?P<province>{_PROVINCE}) ?(?P<district>{_DISTRICT}(?: ?{_DISTRICT})?)"
    rf"|(?P<sejong>세종(?:특별자치시|시)|(?:{_METROPOLES})시(?= {_NAMED_ROAD}))"
    rf"|(?P<known>(?:{_KNOWN})(?: [가-힣]{{1,3}}구)?))"
    rf" ?(?P<town>[가-힣0-9]{{1,6}}[읍면] ?)?(?:(?:{_ROAD}|{_LOT}){_DETAIL}|{_FLAT}|{_COMPLEX})"
)
_GATE = (
    "[시군구읍면] ?[0-9]?[가-힣][가-힣0-9·]*[로길동리가](?: [가-힣0-9]{1,14}[로길리])?"
    f" ?(?:산 ?|지하 ?|제 ?)?[0-9]|[읍면] ?산 ?[0-9]|{ROOM_GATE}"
    rf"|[동가리],? [가-힣A-Za-z0-9]+(?: ?(?:{BUILDINGS}))?(?: ?[0-9]{{1,2}}(?:차|단지))?"
    r" [0-9]{2,4}-[0-9]{3,4}(?:[^0-9-]|\z)"
)
_TOWN = re.compile("[가-힣]{1,5}([0-9]?동|읍|면|리) ")
_WORD = re.compile("[가-힣A-Za-z0-9-]+")
_PART = re.compile("(?:제|지하|지층|번지|사서함)?[A-Z]?[0-9-]*(?:동|층|호|통|반)?|제?[A-Z가나다라마바사]동")


def _plain(value: str) -> str:
    plain = re.sub("[ ,]", "", value)
    for name, suffixes in PROVINCES.items():
        for suffix in suffixes:
            if suffix and plain.startswith(name + suffix):
                return name + plain[len(name) + len(suffix) :]
    return plain


def _make(value: str, normal: str, draw: Draw) -> str:
    match = PATTERN.match(value)
    if match is None:  # a building and a flat alone
        kind = _kind_of(value)
        room = value.rpartition(kind)[2] if kind else value
        name = draw.choice(INVENTED_NAMES) + kind + _numbers(room, draw)
        town = _TOWN.match(value)
        return f"{draw.choice(INVENTED_NAMES)}{town[1]} {name}" if town else name
    changes: list[tuple[int, int, str]] = []
    if match["province"] or match["sejong"]:
        group = "province" if match["province"] else "sejong"
        styles = [name for name, suffixes in PROVINCES.items() if name != "세종" and not normal.startswith(name)]
        name = draw.choice(styles)
        suffixes = PROVINCES[name]
        long = len(match[group]) > 2
        # 세종 has no districts; without one an invented road could still be a road of the other province
        district = "" if match["province"] else f" {draw.choice(INVENTED_NAMES)}구"
        changes.append((*match.span(group), name + (suffixes[0] if long else suffixes[-1]) + district))
    for group in ("district", "known", "town", "quarter", "road", "branch", "village", "house", "lot", "place"):
        if match[group]:
            changes.append((*match.span(group), _invent(group, match[group], draw)))
    if match["complex"]:
        changes.append((*match.span("complex"), draw.choice(INVENTED_NAMES)))
        end = match.start("number")
    elif match["flat"]:
        changes.append((*match.span("building"), draw.choice(INVENTED_NAMES) + _kind_of(match["building"])))
        end = match.start("flat")
    else:
        end = match.end("house") if match["house"] else match.end("lot")
    detail = re.sub(r" ?\([^)]*\)", "", value[end:])
    changes.append((end, len(value), _WORD.sub(lambda m: _invent_part(m[0], draw), detail)))
    for start, stop, text in sorted(changes, reverse=True):
        value = value[:start] + text + value[stop:]
    return value


def _kind_of(building: str) -> str:
    return next((kind for kind in BUILDINGS.split("|") if kind in building), "")


def _invent(group: str, part: str, draw: Draw) -> str:
    """Return an invented name with the part's own suffixes, or numbers of as many digits."""
    if group in ("branch", "house", "lot"):
        return _numbers(part, draw)
    words = []
    for word in part.split(" "):
        suffix = "대로" if word.endswith("대로") else word[-1:]
        words.append(draw.choice(INVENTED_NAMES) + suffix if word else "")
    return " ".join(words)


def _invent_part(word: str, draw: Draw) -> str:
    """Return a word of a building's details: other numbers for its parts, an invented name for its name."""
    if _PART.fullmatch(word):
        return _numbers(word, draw)
    kind = next((kind for kind in BUILDINGS.split("|") if word.endswith(kind)), "")
    return draw.choice(INVENTED_NAMES) + kind


def _numbers(part: str, draw: Draw) -> str:
    return re.sub("[0-9]+", lambda m: f"{1 + draw.below(9)}{draw.digits(len(m[0]) - 1)}", part)


ADDRESS = PiiType("ADDRESS", PATTERN, _GATE, _make, normalise=_plain)
