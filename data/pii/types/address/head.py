"""The head of an address: a region, and a road or a lot with its number, or a town whose flat the tail names.

Without a region, an address stands behind the word for one, or its tail names a flat.
"""

from __future__ import annotations

import re
from itertools import groupby
from operator import itemgetter

from data.pii.places import CITIES, COUNTIES, PROVINCES, WARDS
from data.pii.types.address.tail import BREAK, FLAT_GATE, FLAT_WORDS, has_flat, has_joined_flat, tail_end
from data.pii.types.address.words import AROUND, BUILDINGS, COUNTERS, GLUED, LABELS, LETTERS, NO_ROADS, NO_TOWNS
from data.pii.types.base import AFTER, BESIDE, DASH, Extent
from data.pii.types.names import SURNAMES

_BREAK = re.compile(BREAK)
HEAD_BREAK = "\v"
"""Stands for a line end inside a head, where several lines are looked at as one (see line_wrapped.py)."""
_B = r"(?:,?[ \t]{1,3}|[ \t]?\v[ \t]{0,6}|[ \t]?[/▷▶›][ \t]?|\.)"
"""What stands between the words of a head."""
_PROVINCE = "|".join(
    f"{name}(?: ?(?:{'|'.join(s for s in suffixes if s)})){'?' if '' in suffixes else ''}"
    if suffixes != ("",)
    else name
    for name, suffixes in PROVINCES.items()
    if name != "세종"  # it has no districts
)
_METROPOLES = "|".join(name for name, suffixes in PROVINCES.items() if suffixes[0] in ("특별시", "광역시"))
_BARE = f"{CITIES}|{COUNTIES}"
_DISTRICT = "[가-힣]{1,4}[시군구]"
_NAMES = sorted({*PROVINCES, *f"{CITIES}|{COUNTIES}|{WARDS}".split("|")})
_FIRST = "".join(sorted({name[0] for name in _NAMES}))
_REGION = (
    # 서울특별시 강남구, 경기 성남시 분당구, 경기도 수원
    rf"(?P<province>(?=[{_FIRST}])(?:{_PROVINCE})){_B}?"
    rf"(?P<district>{_DISTRICT}(?:{_B}?{_DISTRICT})?|(?:{_BARE})(?:{_B}{_DISTRICT}|(?={_B})))"
    # 세종시, 성남시 분당구, 성남 분당구; hinted: 경기(성남시)
    rf"|(?P<known>(?=[{_FIRST}])(?:세종(?:특별자치시|시)|(?:{_METROPOLES})(?:시|특별시|광역시)(?={_B})"
    rf"|(?:(?:{CITIES})시|(?:{COUNTIES})군|(?:{WARDS})구)(?:{_B}[가-힣]{{1,3}}구)?|(?:{CITIES}){_B}(?:{WARDS})구)|(?P<hinted>(?=[{_FIRST}])(?:{_PROVINCE})\((?:(?:{CITIES})시|(?:{COUNTIES})군)\)))"
    # with a blank behind: 성남 분당, 서울, 강남; 가온시 나래구
    rf"|(?P<weak>(?=[{_FIRST}])(?:(?:{CITIES}) (?:{WARDS})|세종|{_METROPOLES}|{_BARE}|{WARDS})"
    rf"|[가-힣]{{1,3}}시{_B}[가-힣]{{1,3}}구)(?={_B})"
)
_EVENT = (
    r"(?:19[5-9]|20[0-3])[0-9](?![ \t]{1,2}"
    rf"(?:번지|입니다|[에로] |(?:{SURNAMES})[가-힣]{{2}}(?![가-힣])|[가-힣A-Za-z0-9]{{1,12}}(?:(?:{BUILDINGS})"
    rf"|,? ?[{LETTERS}]?[0-9]{{1,4}}(?:동|호|층))))[ \t]{{1,2}}[가-힣A-Za-z]"
)
"""A number that a word follows, as the year of an event (2019 전주국제영화제), no building and no person."""
_HOUSE = (
    # 12, 12-3, 12의 3, 12 다시 3, 12 - 3; not 2019 전주국제영화제
    rf"(?![0-9]가|{_EVENT})[1-9][0-9]{{0,4}}(?:(?:(?:[{DASH}=]| ?의 ?| 다시 )[0-9]{{1,4}}| [{DASH}] [0-9]{{1,4}}(?! ?호"
    rf"|[fF/{DASH}]))(?![0-9]| ?[동층](?:[^가-힣]|\Z)))?"
    # 12~15
    rf"(?: ?[~∼] ?[0-9]{{1,5}}(?:[{DASH}][0-9]{{1,4}})?)?"
)
_ENDS = (
    # none of these behind a number: :30, *동, -1 (but -101동)
    rf"(?!:?[0-9]|[*＊●○◯•#Xx]+[{DASH}0-9동호번]|[{DASH}][0-9](?![0-9]{{0,3}} ?[호동층](?![분기점선실텔]))|"
    # ·18
    rf"(?<![0-9]{{3}})[·‧ㆍ•・][0-9]{{1,2}}(?![0-9{DASH}]| ?번지)"
    # ~10명, .5
    rf"|[~∼][0-9]{{1,5}}(?:{COUNTERS})|[.,](?![0-9]{{1,4}}(?:[호층동{DASH}/Ff]|단지|라인)|(?<=,)(?:[0-9]{{4}}|0[0-9]))[0-9]"
    # . 1. 1 of a date, 개
    rf"|\. ?1?[0-9]\. ?[0-9]|(?!{AROUND})(?:{COUNTERS}))"
)
"""What may follow the number of a house: no further digits, no day of an event (금남로 5·18), no counter."""
_LOT_NUMBER = (
    r" ?번지(?:의 ?[0-9]{1,4}(?: ?호)?|[0-9]{1,4}(?![0-9]| ?[동층](?:[^가-힣]|\Z))(?: ?호)?| ?[0-9]{1,4} ?호(?!실))?"
)
_ROAD = (
    # 가온동, before a road
    rf"(?:(?P<quarter>[가-힣][가-힣0-9·]{{0,7}}?(?:동|[0-9]가|리))(?!\t){_B})?"
    # 나래로, 3·1대로, 나래길
    rf"(?!{NO_ROADS})(?P<road>(?:[0-9]{{1,2}}[·.])?[0-9]{{0,2}}[가-힣A-Z][가-힣A-Z0-9·]{{0,11}}?(?:(?<![으므])로|길))"
    # 12번길, 12길
    rf"(?P<branch>{_B}?[0-9]{{1,4}}(?: ?번)?(?: ?길|[가-힣]{{1,2}}길)(?![가-힣]))?"
    # 12-3, 지하 12
    rf"{_B}?(?:지하 ?)?(?P<house>{_HOUSE})"
    rf"(?:{_LOT_NUMBER}|{_ENDS}(?:(?<=[0-9]{{2}})|(?<=[{DASH}][0-9])|(?!(?!{GLUED})[가-힣])))"
)
_LOT = (
    # 가온동, 종로 1가, 나래리
    rf"(?:(?P<village>[가-힣][가-힣0-9·.]{{0,7}}?(?:[동로] ?[0-9]가|동|리)(?:{_B}[가-힣]{{1,4}}리)?)"
    # (나래로) next to it, 산 before the number
    rf"(?P<aside> ?\([가-힣0-9]{{1,8}}[로길]\))?{_B}?(?:산 ?|제 ?|지번 ?)?"
    # 가온읍 산 12
    rf"|(?<=[읍면])산 ?|(?<=[읍면] )산 ?)(?P<lot>{_HOUSE})"
    # 12번지, 12번지의 3, 12-3호
    rf"(?:{_LOT_NUMBER}|(?:(?<=[0-9]{{2}})|(?<=[{DASH}의][0-9]))호(?![분기점선실텔])|{_ENDS}(?!(?!{GLUED})[가-힣]))"
)
_NAME_CELL = rf"(?:{SURNAMES})[가-힣]{{2}}[ \t]?[|\t][ \t]?[가-힣0-9]{{1,12}}[로길동리읍면시군구도가][ ,]"
"""The name of a person before a cell of a table that begins as an address does: no town (홍길동 | 가온동 …)."""
_ESTATE = (
    # 강남구 가온동, 가온읍
    rf"(?:(?P<place>(?!{_NAME_CELL})"
    rf"(?:(?![친누가연축야농도입출]구)[가-힣]{{1,3}}구{_B})?[가-힣][가-힣0-9]{{0,6}}?(?:[동로] ?[0-9]가"
    rf"|동|리(?! ?[|\t])|읍|면)),?|"
    # 푸른빌라, 푸른아파트 2차
    rf"(?P<building>(?!(?:다세대|단독|공동|{BUILDINGS})+(?![가-힣]))"
    rf"[가-힣A-Za-z0-9]{{1,12}}?(?:{BUILDINGS})(?: ?[0-9]{{1,2}}(?:차|단지))?))?(?=[ \t\v,<(\n])"
)
"""A town, a building or nothing, if a flat may follow; whether one does is for the tail to say."""
_TWO_LETTERS = "|".join(
    f"{first}[{''.join(sorted({name[1] for name in names}))}]" for first, names in groupby(_NAMES, key=itemgetter(0))
)
BEGINS = (
    f"(?=[{_FIRST}])(?:{_TWO_LETTERS})"
    rf"|[가-힣A-Za-z0-9·.]{{0,30}}(?:[로길동리읍면구시](?={_B}|[ \t\v,<(\n0-9지산제])|[0-9]가|{BUILDINGS})"
    "|산 ?[0-9]"
)
"""A relaxation of what a head begins with: a region's first two letters, or a word that ends as roads and towns do.
Looked for first, it halves the time of the search."""
PATTERN = re.compile(
    # no Hangul before it, but that of 주소는, 집은
    r"(?=[가-힣0-9A-Z])(?:(?<![가-힣])|(?<=[은는소])(?:(?<=[집소지]은)|(?<=[소집지]는)|(?<=주소)))"
    rf"(?={BEGINS})(?:{_REGION})?"
    # 수원시 (가온동) 나래면 나래로 12: a remark, a town, a road or a lot; else an estate
    rf"(?:(?P<remark>(?<=[시군구)]) ?\((?!신"
    rf"|구)[가-힣0-9]{{1,8}}[동리가읍면]\))?{_B}?(?P<town>[가-힣0-9]{{1,6}}[읍면]{_B}?)?(?:{_ROAD}|{_LOT})|{_B}?{_ESTATE})"
)
_ITEM_OF_LIST = "[가-힣0-9]{1,12}[로길] [0-9-]{1,9}"
_AND = r" ?(?:[,/·→]|또는|및|\((?:[가-힣]{1,4} ){1,2}) ?"
_LABELLED = re.compile(
    rf"(?:{LABELS})(?: ?[(\[][^()\[\]\n]{{1,12}}[)\]])?(?:[은는이가을를]요?|란에는?|[은이][(][는가][)])?"
    # 주소(자택)은 <b>
    r"(?:</?[a-z]{1,6}>|&nbsp;|[^0-9가-힣A-Za-z<]){0,10}"
    # 나래로 12, … and the next address of a list
    rf"(?:{_ITEM_OF_LIST}{_AND})?\Z"
)
_SAID = re.compile(
    rf"(?:{LABELS})(?:으?로|[을를]) [가-힣]{{2,8}}[.:]?[ \xa0][^0-9가-힣A-Za-z<\n.]{{0,6}}(?:{_ITEM_OF_LIST}{_AND})?\Z"
)
"""A label that one or two words divide from the address: 주소를 물어봐서, 주소로 등록했습니다."""
_CLOSED = r"[ \xa0]{0,3}[’”\"'`」』】〉)）\]*_]{0,2}[ \xa0]{0,3}"
_LABEL_BEHIND = re.compile(
    # (자택 주소, 이게 주소
    rf"(?:{_AND}{_ITEM_OF_LIST})?{_CLOSED}(?:[(\[] ?|(?<=[ \xa0])이게 )(?:[가-힣]{{2,4}} )?(?:{LABELS})"
    # 로 보내, 에 배송
    rf"|{_CLOSED}(?:으?로|에) (?:보내|배송|배달|발송)"
)
_NO_TOWN = re.compile(f"(?:{NO_TOWNS})[동리]|[가-힣]+면")
_HOME = re.compile(LABELS)
_ITEM = re.compile(rf"{HEAD_BREAK} *[0-9]{{1,2}}[.)]|(?<=[동리]){HEAD_BREAK} *[0-9]+(?![0-9{DASH}]| ?번지| ?의 ?[0-9])")
"""Behind a line end, the number of an item in a list."""
_LOT_SIGN = re.compile(rf"[0-9] ?(?:[{DASH}~∼의]|번지)")
_CLEAR = re.compile(
    r" {0,2}\t|[ \t]*(?:[^ \t0-9가-힣A-Za-z.%]|\.(?![0-9])|\Z)|[ \t]{0,3}(?:에서|[에을를은는로] |입니다|인데|번지"
    r"|이[고며라]|으로|또는"
    r"|및|인근|앞|옆|근처|소재)"
)
"""Behind a number that a city alone stands before, nothing that could be counted."""
_J = r"(?:,?[ \t]+|[ \t]?(?:\v|[/▷▶›])[ \t]*|\.)?"
_STEM = r"[가-\x{BBBF}\x{BBC1}-\x{C73B}\x{C73D}-힣A-Z0-9·]"
"""A letter but 으 and 므, as before the end of a road."""
_UNIT_BEHIND = rf"[0-9]+[호층동{DASH}/Ff단라]"
_BEHIND = (
    rf"(?:[^0-9,.:개명년월시분초차위곳회건%％원억만천조여세살배도권점종쪽면장절주mk㎞㎡평필홉정]|:[^0-9]|[,.](?:[^0-9]|{_UNIT_BEHIND})"
    r"|,(?:[0-9][0-9][0-9][0-9]|0[0-9])|[,.:]?\z)"
)
"""A relaxation of `_ENDS`."""
GATE = (  # what stands before the last word of a head is not looked at: the automaton has far fewer states
    rf"(?:(?:{_STEM}로|길)\)?(?:{_J}(?:지하 ?)?|[ \t\v]*<[bB][rR] ?/?>[ \t\v]*)"
    rf"|(?:[가-힣0-9·.][동리]|[0-9]가){_J}(?:산 ?|제 ?|지번 ?)?)[1-9][0-9]*{_BEHIND}"
    rf"|[읍면] ?산 ?[0-9]|{FLAT_GATE}"
)
EVIDENCE = (
    rf"(?:{_PROVINCE})(?:[(]|(?:{_B})?(?:{_DISTRICT}|{_BARE}))"
    rf"|(?:세종|{_METROPOLES}|{_BARE}|{WARDS})(?:[시군구 \t\v,/▷▶›.]|특별|광역)|시(?:{_B})[가-힣]{{1,3}}구"
    rf"|[0-9](?: ?번)?(?: ?길|[가-힣]{{1,2}}길)|{FLAT_WORDS}"
    rf"|{LABELS}|(?:으?로|에) (?:보내|배송|배달|발송)"
)
"""In RE2 syntax: a region, a road that branches off, a flat, or words for an address; `check` asks for one of them."""

OVER_LINE_END = (
    r"[시군구읍면동리] ?,? ?\r?\n ?(?:[가-힣0-9]+ )?[가-힣0-9·]*[로길동리] ?[0-9]|[가-힣][로길] ?\r?\n ?[0-9]"
    r"|[동리] ?\r?\n ?(?:산 ?)?[0-9]+(?:-[0-9]| ?번지| ?의 ?[0-9])"
    r"|[가-힣0-9] ?,? ?\r?\n ?(?:제 ?)?[0-9가-하A-Z]+ ?동[ ,./-]*"
    r"(?:제 ?)?[0-9]+ ?호"
)
"""In RE2 syntax, too: a line end inside a head, or between a town and its flat."""


def on_one_line(text: str) -> str:
    """Return a text of the same length whose line ends, <br> too, stand between the words of a head."""
    return _BREAK.sub(lambda gap: HEAD_BREAK + " " * (len(gap[0]) - 1), text)


def check(text: str, match: re.Match[str]) -> Extent | None:
    """Return the extent of an address whose head matched, with its tail; None where it is something else."""
    start, head = match.span()
    end = tail_end(text, head)
    first = match.start("building") if match["building"] else head
    numbered = match["house"] or match["lot"]
    if numbered and _ITEM.search(text, max(start, head - 8), head + 1):
        return None
    region = match["province"] or match["known"] or match["hinted"]
    flat = has_flat(text, first, end)
    clear = match["house"] or (match["lot"] and _LOT_SIGN.search(match[0]))
    if region:
        sure = numbered or flat or has_joined_flat(text, first, end)
    elif match["weak"] and (flat or (clear and (end > head or _CLEAR.match(text, head)))):
        sure = True
    elif not match["weak"] and (
        text[start - 1 : start].isalnum() or (match["place"] and _NO_TOWN.match(match["place"]))
    ):
        return None
    else:
        sure = ((numbered or match["place"]) and flat) or (match["branch"] and match["house"])
        joined = flat or has_joined_flat(text, first, end)
        if not sure and (clear or (joined and (match["place"] or match["building"]))):
            before = text[max(0, start - 40) : start]
            sure = _LABELLED.search(before) or (clear and (_SAID.search(before) or _LABEL_BEHIND.match(text, end)))
            sure = sure or (joined and (_HOME.search(before[-BESIDE:]) or _HOME.search(text[end : end + AFTER])))
    return (start, end) if sure else None
