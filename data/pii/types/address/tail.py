"""The tail of an address: the building, and the number of a flat in it.

A tail is any sequence of pieces, whatever joins them, and ends before what is no piece. A piece is

* a unit with its number (101동, 제3층, 나-203호, 지하 1층, B1), or a named one (별관, 반지하);
* two numbers that are joined (101-1502, 103/702);
* a building's name, or words that a unit follows (푸른마을 주공3단지 302동);
* a remark in brackets that holds these.
"""

from __future__ import annotations

import re

from data.pii.places import PROVINCES
from data.pii.types.address.words import (
    AROUND,
    BELOW,
    BUILDINGS,
    COUNTERS,
    ENDINGS,
    FEW,
    LETTERS,
    MANY,
    NAMED,
    NO_UNITS,
    ORDINAL,
    STOP_ENDINGS,
    STOPS,
)
from data.pii.types.base import DASH

BREAK = r"(?:\r?\n|\v|<[bB][rR] ?/?>(?:\r?\n)?)"
"""A line end; the vertical tab stands for one inside the head of an address (see line_wrapped.py)."""
_BLANKS = "[ \t]{0,3}"
_OVER = rf"{_BLANKS},?{_BLANKS}{BREAK}{_BLANKS}"
_JOINT = rf"(?:{_BLANKS}(?:[,./·|{DASH}]|- )?{_BLANKS}|{_OVER})"
"""Before a unit."""
_BEFORE_NAME = rf"(?:[ \t]{{1,3}}(?:[{DASH}] )?|{_BLANKS}[,/|]{_BLANKS}|{_OVER})"
_NUMBER = "0{0,3}[1-9][0-9]{0,3}"
_RANGE = rf"(?: ?[{DASH}~∼·,] ?[0-9]{{1,4}})?"
_NO_UNIT = "|".join(f"(?<={unit})(?:{words})" for unit, words in NO_UNITS.items())
_UNIT_END = rf"(?!{_NO_UNIT})(?:(?={ENDINGS})|(?<=호)|(?![가-힣]{{3}}))"
_UNIT = (
    # 101동, 제3층, 나-203호, 지하 1층, 12~15호; 2단지
    rf"(?:{ORDINAL}{BELOW}{ORDINAL}(?:[{LETTERS}]?[ {DASH}]?{_NUMBER}{_RANGE} ?(?:{MANY})|[1-9][0-9]?{_RANGE} ?"
    rf"(?:{FEW})"
    # 가동, 비동
    rf"|(?:[{LETTERS}]|에이|비|씨|디)(?:[동관]|(?<!비)호)(?=[^가-힣]|\Z|{ENDINGS})){_UNIT_END}"
    # B1, 3F
    rf"|(?:지하 ?|B)[1-9](?:F|층)?(?![0-9A-Za-z{DASH}])|[1-9][0-9]?[fF](?:-[1-9][0-9]{{2,3}})?(?![0-9A-Za-z]))"
)
_PAIR = (
    # 101-1502, 103/702; no years (2019-101, 12/2019), no 1588-1234
    rf"(?<![0-9])(?<![0-9A-Za-z가-힣][{DASH}])(?:(?!(?:19|20)[0-9]{{2}}[{DASH}]|[0-9]{{1,2}}/(?:19|20)[0-9]{{2}}|1[568][0-9]{{2}}[{DASH}][0-9]{{4}})"
    rf"[1-9][0-9]{{0,3}} ?[{DASH}/] ?[1-9][0-9]{{2,3}}(?:[{DASH}][0-9])?(?: ?호)?"
    rf"(?![0-9~]| ?[{DASH}] ?[0-9]|[{DASH}]|[/.:](?![0-9]{{1,4}} ?[동층호])[0-9]"
    # no list (101-150,200), nothing that is counted; 나-203
    rf"|,[1-9][0-9]{{0,3}}(?![0-9동층호{DASH}])|(?<!호)"
    rf"(?!{AROUND})(?:{COUNTERS}))|[가나다라마바사A-F]-[1-9][0-9]{{2,3}}(?![0-9A-Za-z가-힣{DASH}]))"
)
_BARE = (
    # 101동 1203, 비동 203
    rf"(?:(?<=[0-9A-Za-z]동)|(?<=[비씨디이]동))(?:[ ,]{{0,2}}|{_OVER})[1-9][0-9]{{2,3}}(?![0-9A-Za-z{DASH}~%]"
    rf"|[.,:/][0-9]| ?(?:명|원|건|개)|"
    rf"(?![을를에로은는이가의과와으도앞인입요라예])[가-힣])"
)
"""The flat behind its building without a word for it (101동 1203)."""
_SAID = "[일이삼사오육칠팔구십백천]"
_SAID_FLAT = rf"{_SAID}{{1,6}}동 ?(?=[가-힣]{{0,5}}[십백천]){_SAID}{{2,7}}호"
_SAID_UNIT = (
    # 백칠동 천이호, 천이호, 삼층
    rf"(?:{_SAID_FLAT}|(?=[가-힣]{{0,5}}[십백천]){_SAID}{{2,7}}호|{BELOW}[일이삼사오육칠팔구십]{{1,2}}층){_UNIT_END}"
)
"""Units whose number is written in words: 백칠동 천이호, 삼층."""
_NAMED = f"(?:{NAMED})(?:(?={ENDINGS})|(?![가-힣]{{2}}))"
_NAME = (
    rf"(?!{STOPS}|[0-9]*[0OoXx○◯●*]{{2}}|[0-9가-힣A-Za-z]{{0,14}}(?:{STOP_ENDINGS})(?![0-9가-힣A-Za-z])"
    rf"|(?:{'|'.join(PROVINCES)})(?:[가-힣]{{0,5}}[ ,]|(?:특별자치[시도]|..시|[시도])?[가-힣]{{1,4}}[시군구][가-힣])"
    rf"|[가-힣]{{1,8}}[시군구](?:[ ]|[가-힣]+[0-9]))"
    rf"(?=[0-9]*[가-힣A-Za-z])[0-9가-힣A-Za-z][0-9가-힣A-Za-z&'·\-]{{0,14}}?(?<!제)"
)
_GAP = "(?:[ \t]{1,2}|, ?)"
_FIRM = (
    rf"{_JOINT}(?:{ORDINAL}[{LETTERS}]?{_NUMBER} ?동|{_SAID_FLAT}|[1-9][0-9]? ?(?:단지|차)|[{LETTERS}]동|{_PAIR}"
    rf"|{BELOW}[1-9][0-9]? ?층{_JOINT}{ORDINAL}[{LETTERS}]?{_NUMBER} ?호)"
)
"""A unit that any words may stand before: the building in an estate."""
_LOOSE = rf"{_JOINT}(?:(?!제){_UNIT}|{_NAMED}{_JOINT}{_UNIT})"
_NAMES = (
    # 푸른마을 before 302동, one or two names before 203호
    rf"(?:{_BEFORE_NAME}(?:{_NAME}(?:{_GAP}{_NAME}){{0,3}}?(?={_FIRM})|{_NAME}(?:{_GAP}{_NAME})?(?:{_GAP}(?:상가"
    rf"|{_NAME}(?:{BUILDINGS})))?(?={_LOOSE}))"
    # . 가온빌라 before 203호
    rf"|\. ?{_NAME}(?:{_GAP}{_NAME}){{0,2}}?(?={_FIRM}|(?<=상가|빌라|빌딩|파트|타워|스텔|라자){_LOOSE})|"
    # 가온 before 203호, without a blank
    rf"(?!{STOPS})[가-힣A-Za-z]{{2,12}}?(?={_UNIT}))"
)
_BUILDING = (
    # 가온빌딩, 푸른아파트 2차
    rf"(?:{_BEFORE_NAME}(?!{STOPS})|)[가-힣A-Za-z0-9]{{0,12}}?(?:{BUILDINGS})(?: ?[0-9]{{1,2}} ?(?:차|단지)"
    rf"(?![가-힣]{{2}}))?"
    rf"(?:(?={ENDINGS}|[은는을를]|{_UNIT})|(?![가-힣]{{2}}))"
)
_LOT = rf"(?:산 ?)?[0-9]{{1,5}}(?: ?[{DASH}의] ?[0-9]{{1,4}})?(?: ?번지)?"
_BRACKET = (
    rf"(?:{_BLANKS}(?:[,./·|{DASH}]|- )?{_BLANKS}[(\[]|{_OVER}[(])"
    # (가온동, 푸른아파트), (지번: 가온동 12)
    rf"(?:(?:지번|구)?[: ]{{0,2}}[가-힣0-9·]{{1,8}}(?:동|리|가|읍|면)(?:[0-9] ?가)?(?: [가-힣]{{1,5}}리)?(?: ?{_LOT})?"
    r"(?:[, ]{1,2}[가-힣A-Za-z0-9 ,.·\-]{2,30})?"
    # (가온빌딩), (푸른마을 101동 1203호)
    rf"|[가-힣A-Za-z0-9 ]{{1,16}}(?:{BUILDINGS}|밸리|센터|번지)|(?:{_NAME}(?:{_GAP}{_NAME}){{0,2}}?)?"
    rf"(?:{_JOINT}{_UNIT}){{1,4}}"
    # (101-1203)
    rf"|(?:{_JOINT}(?:{_UNIT}|{_PAIR}|{_NAMED})){{1,4}})[)\]]"
)
_NAMED_FLAT = (
    # 푸른빌라 203
    rf"(?:{_BEFORE_NAME}|\.)(?!{STOPS})[가-힣A-Za-z]{{1,10}}(?:[가-힣]텔|빌|빌라|맨션|아파트)[ .]{{1,2}}(?!(?:19"
    rf"|20)[0-9]{{2}})"
    rf"[1-9][0-9]{{2,3}}(?=[^0-9가-힣A-Za-z{DASH}~.,%/:]|[.,](?![0-9])|\Z| ?[에으로])"
    # 12 / 301; 12, 301 at the end of a field
    rf"|(?<=[0-9])(?: / [1-9][0-9]{{2}}|, (?!(?:19|20)[0-9]{{2}})[1-9][0-9]{{2,3}})(?=[;|\t\n)\"<]|\Z)"
    # 12 / 가 / 203
    rf"|(?<=[0-9]) / (?:[{LETTERS}]|에이|비|씨|디) / [1-9][0-9]{{2,3}}(?![0-9{DASH}])"
    # 3층 301
    rf"|(?:{'|'.join(f'(?<={floor}층) {floor}[0-9]{{2}}' for floor in range(1, 10))})"
    rf"(?![0-9A-Za-z{DASH}~%]|[.,:/][0-9]| ?(?:{COUNTERS}))"
)
"""The flat without a word for it: behind a building's name, its floor, or a slash or a comma at the end of a field."""
_QUOTED = rf"(?:{_BLANKS}[〈《(\[]{_NAME}(?:{_GAP}{_NAME}){{0,3}}?[〉》)\]](?={_JOINT}{_UNIT}))"
_BOX = r"(?:[ ,]{0,2}(?:우체국 ?)?사서함 ?(?:제 ?)?[0-9]{1,5}(?:-[0-9]{1,4})?호?)"
_PIECE = re.compile(
    rf"{_JOINT}{_UNIT}|{_JOINT}{_SAID_UNIT}|{_JOINT}{_PAIR}|{_BARE}|{_JOINT}{_NAMED}|{_NAMES}|{_NAMED_FLAT}|{_BUILDING}|{_BRACKET}|{_QUOTED}|{_BOX}"
)
_ANOTHER = re.compile(
    rf"(?<=호) ?[,/|·] ?[가-힣]{{2,4}}[동리] (?![0-9])|{_OVER}(?:[가-힣]{{2,4}}\t|{'|'.join(PROVINCES)})"
)
"""Behind a flat, the town of another address, or the next line of a table."""
_HOUSE = rf"(?:[0-9{LETTERS}]동|층|[0-9](?:단지|차|관|라인)|{BUILDINGS})"
_ROOM = (
    # 1동 1203호, 빌라 203호, 1동 나-203호
    rf"{_HOUSE}[^0-9가-힣]{{0,3}}{ORDINAL}(?:[{LETTERS}][ {DASH}]?[0-9]{{1,4}}|[0-9]{{2,4}}|(?:층"
    rf"|동)[^0-9]{{0,3}}[0-9])"
    rf"(?:-[0-9]{{1,3}})? ?호"
    # 1동 지하 1층, 1동 1203
    rf"|[0-9{LETTERS}]동[^0-9가-힣]{{0,3}}(?:{ORDINAL}{BELOW}[0-9]{{1,2}} ?층|{ORDINAL}[0-9]{{1,4}} ?호|[0-9]{{3,4}})"
)
_FLAT = re.compile(f"{_ROOM}|{_SAID_FLAT}")
_JOINED = re.compile(rf"(?<=[0-9가-힣A-Za-z])[ ,]{{1,3}}[0-9]{{1,4}} ?[{DASH}/] ?[0-9]{{3}}")
FLAT_WORDS = (  # without counting, the automaton is smaller
    rf"{_HOUSE}[^0-9가-힣\n]*{ORDINAL}[{LETTERS}]?[ {DASH}]?[0-9-]+ ?호"
    rf"|[0-9{LETTERS}]동[^0-9가-힣\n]*{ORDINAL}{BELOW}[0-9]"
    rf"|{_SAID}동 ?{_SAID}+호"
)
"""In RE2 syntax: what a tail holds if it names a flat by words."""
FLAT_GATE = rf"{FLAT_WORDS}|[가-힣A-Za-z0-9][ ,]+[0-9]+ ?[{DASH}/] ?[0-9][0-9][0-9]"
"""The same by words or by joined numbers."""


def tail_end(text: str, start: int) -> int:
    """Return where the tail that begins at `start` ends: there where nothing of one stands."""
    while (piece := _PIECE.match(text, start)) is not None and piece.end() > start and not _ANOTHER.match(text, start):
        start = piece.end()
    return start


def has_flat(text: str, start: int, end: int) -> bool:
    """Return whether a tail names a flat by words (101동 1203호, 3층 301호, 푸른빌라 203호)."""
    return _FLAT.search(text, start, end) is not None


def has_joined_flat(text: str, start: int, end: int) -> bool:
    """Return whether a tail names a flat by two joined numbers behind a name (푸른마을 101-1203)."""
    return _JOINED.search(text, start, end) is not None
