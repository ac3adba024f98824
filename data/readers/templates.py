"""Templates of MediaWiki inside sentences: what they show, as far as their parameters tell.

Most templates show what only the wiki knows (boxes, tables of navigation), and give no text. Those here show what
they are given: numbers with units, words of other languages, small and large print.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from data.cleaning.markup import raised
from data.readers.holes import HOLE

_BAR = re.compile(r"\|(?![^\[\]]*\]\])")
"""A bar that is not inside a link."""
_NAMED = re.compile(r"\s*([^\[\]{}<>=|]{1,40}?)\s*=(?!=)")
_SUPERSCRIPT = str.maketrans("23", "²³")
_SQUARE = re.compile(r"(?:(?:[kcdm]?m|ft|in|yd|mi)[23]|sq ?(?:km|cm|mm|m|mi|ft|in))")
_RANGES = {"to": "–", "-": "–", "–": "–", "and": ", ", "or": ", ", "x": " × ", "by": " × ", "xx": " × ", "±": " ± "}
"""Words between two numbers of one unit."""
_SILENT = (
    "출처 출처필요 출처_필요 각주 주 내용주 참고주 r rp efn efn2 refn sfn sfnp sfnm harvnb harv isbn doi "
    "issn coord 좌표 fact cn citation_needed citation clarify who when 누가? 언제? 어디? 모호 독자연구 "
    "anchor 앵커 clear - 국기그림 국기아이콘 flagicon"
)
SILENT = frozenset(_SILENT.split())
"""Notes, sources, icons: a sentence lacks nothing without them."""
_FIRST = (
    "nowrap nobr 줄바꿈없음 small 작게 big 크게 굵게 bold 기울임 italic em strong u "
    "s abbr 약어 math mvar 한자 ruby 루비 ipa unicode 유니코드 국기나라 국기 flag flagcountry ill 링크 "
    "formatnum lc uc lcfirst ucfirst nihongo 음력 연도 인용문 인용문2 인용구 quote cquote blockquote"
)
_LAST = "lang llang 언어 color 색 글자색 font_color zh 필기체"
_SIGNS = {"!": "|", "=": "=", "·": "·", ",": " · ", "ndash": "–", "–": "–", "mdash": "—"} | dict.fromkeys(
    ("nbsp", "공백", "spaces"), " "
)


def shown(source: str) -> str:
    """Return what a template shows, by what stands between its braces.

    That is `HOLE` where it shows something that cannot be told, nothing where it shows none.
    """
    head, *parameters = _BAR.split(source)
    name, colon, first = head.partition(":")
    name = name.strip().replace(" ", "_").lower()
    parameters = [first, *parameters] if colon else parameters
    if name in SILENT or name.startswith("cite_") or name.endswith(("_인용", "인용")):
        return ""
    if name in _SIGNS:
        return _SIGNS[name]
    if name not in _SHOWN:
        return HOLE
    positional: list[str] = []
    named: dict[str, str] = {}
    for parameter in parameters:
        key = _NAMED.match(parameter)
        if key and not key[1].isdigit():
            named[key[1]] = parameter[key.end() :].strip()
        else:
            positional.append(parameter[key.end() if key else 0 :].strip())
    return (_SHOWN[name](positional, named) if any(positional) else "") or HOLE


def _converted(positional: list[str], named: dict[str, str]) -> str:
    """Return numbers and the unit that they are given in: 12|km|mi, 5|-|10|km, 6|ft|2|in."""
    words = list(positional)
    pieces: list[str] = []
    while words and _is_number(words[0]):
        pieces.append(words.pop(0))
        if words and words[0] in _RANGES and len(words) > 1:
            pieces.append(_RANGES[words.pop(0)])
        elif words and not _is_number(words[0]):
            pieces.append(f" {_unit(words.pop(0))} ")
    return "".join(pieces).strip()


def _is_number(word: str) -> bool:
    return word[:2].lstrip("-−+~")[:1].isdigit()


def _unit(unit: str) -> str:
    if _SQUARE.fullmatch(unit):
        return f"{unit[2:].strip()}²" if unit.startswith("sq") else unit.translate(_SUPERSCRIPT)
    return unit


def _value(positional: list[str], named: dict[str, str]) -> str:
    """Return a number with what belongs to it: 1.2|0.3|e=5|ul=kg."""
    number = "±".join(positional[:2])
    unit = next((named[name] for name in ("u", "ul", "up", "upl") if named.get(name)), "")
    power = f"×10^{named['e']}" if named.get("e") else ""
    return f"{named.get('p', '')}{number}{power}{' ' if unit else ''}{_unit(unit)}{named.get('s', '')}"


def _fraction(positional: list[str], named: dict[str, str]) -> str:
    whole, parts = (f"{positional[0]} ", positional[1:]) if len(positional) > 2 else ("", positional)
    return whole + ("/".join(parts) if len(parts) > 1 else f"1/{parts[0]}")


Show = Callable[[list[str], dict[str, str]], str]
_SHOWN: dict[str, Show] = {
    **dict.fromkeys(_FIRST.split(), lambda positional, named: positional[0]),
    **dict.fromkeys(_LAST.split(), lambda positional, named: positional[:2][-1]),
    **dict.fromkeys(("convert", "cvt", "변환", "단위변환", "단위_변환", "환산"), _converted),
    **dict.fromkeys(("val", "값"), _value),
    **dict.fromkeys(("frac", "분수", "sfrac"), _fraction),
    **dict.fromkeys(("sup", "위첨자"), lambda positional, named: raised(positional[0], "sup")),
    **dict.fromkeys(("sub", "아래첨자"), lambda positional, named: raised(positional[0], "sub")),
    "e": lambda positional, named: f"×10^{positional[0]}",
    "sqrt": lambda positional, named: f"√{positional[0]}",
}
