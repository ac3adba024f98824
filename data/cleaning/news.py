"""News furniture: bylines, press names, image and source tags and copyright lines of KLUE section 2.3."""

from __future__ import annotations

import re
from typing import Any

import re2

_SURNAME = (
    "[김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진지엄채원천방공현함변염여추도소석"
    "선설마길연위표명기반라나왕금옥육인맹제모탁국어은편용봉사부예경복독]"
)
_NAME = rf"{_SURNAME}[가-힣]{{1,3}}"
_FULL_NAME = rf"{_SURNAME}[가-힣]{{2}}(?<![은는을를의한던된부])"
"""A name that needs nothing beside it to be one: 나는 기자, 유명한 기자, 정치부 기자 and 김치 기자 are prose."""
_ROLES = ("기자", "특파원", "논설위원", "통신원", "리포터", "앵커")
_ROLE = rf"(?:(?:선임|수습|인턴|객원|전문|사진)\s?)?(?:{'|'.join(_ROLES)})"
_MAIL = r"[\w.+-]{1,64}@[\w.-]{1,128}"
_PLACE = r"[\[(【〔<]\s?[가-힣/· ]{1,20}=\s?[가-힣][가-힣A-Za-z0-9 ]{0,20}\s?[\])】〕>]"
_OUTLETS = (
    *("뉴스", "뉴시스", "일보", "신문", "경제", "통신", "방송", "타임스", "투데이", "닷컴", "미디어", "저널", "헤럴드"),
    *("TV", "News", "Times", "Daily"),
)
_OUTLET = rf"(?:{'|'.join(_OUTLETS)})"

_BYLINES = (
    # (서울=한글뉴스) 홍길동 기자 =  at the beginning of a line
    re.compile(rf"^{_PLACE}(?:\s?{_NAME}(?:\s?[·,]\s?{_NAME}){{0,3}}\s?{_ROLE})?(?:\s?[=:])?\s?", re.M),
    re.compile(rf"^{_FULL_NAME}\s?{_ROLE}\s?=\s?", re.M),
    # a whole line, or the end of one: 홍길동 기자 hong@example.org
    re.compile(
        rf"^[\[(【]?\s?(?:[가-힣]{{2,12}}\s?=\s?|[가-힣A-Za-z]{{0,10}}{_OUTLET}\s)?{_NAME}(?:\s?[·,]\s?{_NAME}){{0,3}}\s?{_ROLE}"
        rf"\s?[=·/|(\[]?\s?{_MAIL}\s?[)\]]?\s?[\])】]?$",
        re.M,
    ),
    re.compile(
        rf"^[\[(【]?\s?(?:(?:[가-힣]{{2,12}}\s?=\s?|[가-힣A-Za-z]{{0,10}}{_OUTLET}\s){_NAME}|{_FULL_NAME})"
        rf"(?:\s?[·,]\s?{_NAME}){{0,3}}\s?{_ROLE}\s?[\])】]?$",
        re.M,
    ),
    re.compile(rf"(?:(?<=[.!?\s])|^)[\[(/【]?{_NAME}\s?{_ROLE}\s?[=·/|(\[]?\s?{_MAIL}\s?[)\]】]?$", re.M),
    re.compile(rf"(?<=[.!?\"”'’)\]])\s?[\[(【]?{_FULL_NAME}\s?{_ROLE}[)\]】]?$", re.M),
)
_PRESS = (
    re.compile(rf"^[\[(【〔<◀☞]\s?(?:[가-힣A-Za-z0-9]{{1,15}}(?<![한는은의인된운])\s?)?{_OUTLET}\s?[\])】〕>▶]$", re.M),
)
_CREDIT = (
    r"(?![^\n]{0,60}[가-힣]\s[가-힣]{0,6}(?:[보하가말두쓰]자|[하마봐]라)\.?$)"
    r"(?:[^\n.!?]|[.!?](?=\S)){0,60}(?<![다요죠까네])\.?$"
)
"""The rest of a line that names somebody: short, and neither a sentence nor followed by one."""
_IMAGES = (
    # ▲ what is seen (사진=whose), whose 제공, … = a press
    re.compile(
        rf"^[▲△▼][^\n]{{0,120}}(?:[/=(\[<【|]\s?사진[^\n)\]】>]{{0,30}}|[=(\[<【][^\n)\]】>]{{0,20}}(?:제공|{_OUTLET}|DB)|\s제공)"
        r"\s?[)\]】>]?$",
        re.M,
    ),
    re.compile(r"[\[(【</]\s?(?:사진|이미지|영상|그래픽|동영상)\s?(?:[=:제/|][^\[\]()【】<>\n]{0,80})?[\])】>]"),
    re.compile(rf"^[▲▼△◀▶]?\s?(?:사진|이미지|영상|그래픽)\s?(?:[=:|/]|제공\s?[=:]){_CREDIT}", re.M),
    re.compile(rf"\s?/\s?사진\s?[=:]{_CREDIT}", re.M),
)
_SOURCES = (
    re.compile(r"[\[(【<]\s?(?:출처|자료|자료\s?출처|자료\s?제공)\s?[=:][^\[\]()【】<>\n]{0,100}[\])】>]"),
    re.compile(rf"^[*※☞-]?\s?(?:출처|자료|자료\s?출처|자료\s?제공|기사\s?출처|원문)\s?[=:]{_CREDIT}", re.M),
)
_MARK = r"(?:[ⓒ©Ⓒ]|\([cC]\))"
_PARTICLES = r"[^\n]{0,60}[가-힣](?:[와과의은는이가을를에]|에서|으로)\s"
"""Words with a particle: who owns is told by names alone, and 저작권자: 김철수와 이영희 사이의 소송 is a headline."""
_YEAR = "(?:19|20)[0-9]{2}"
_NO_SENTENCE = r"(?:[^\n다요]|[다요](?![.!?](?:\s|$)))"
_TAIL = r"(?:[^\n다요]|[다요](?=[가-힣])){0,200}(?:금(?:지합|지됩|합)니다[.!]?)?\s?[\])】>]?$"
"""The rest of a line that forbids copying: no sentence, or the one that says so; not one that tells of it."""
_RIGHTS = (
    # the mark alone is a word like any other: furniture has a year, an owner or a press beside it
    re.compile(
        rf"[\[(<【]?\s?(?:저작권자\s?(?:{_MARK}|:(?:(?=[^\n]{{0,80}}(?:무단|재배포|{_OUTLET}))|(?!{_PARTICLES})))|(?:[Cc]opyright|COPYRIGHT)\s?(?:{_MARK}|{_YEAR})"
        rf"|{_MARK}\s?(?:{_YEAR}|[^\n]{{0,40}}{_OUTLET})){_TAIL}",
        re.M,
    ),
    # these words stand in nothing else; what was said before them in whole sentences stays
    re.compile(
        rf"(?:^|(?<=[다요][.!?] )){_NO_SENTENCE}{{0,100}}"
        rf"(?:무단\s?전재|재배포\s?금지|All [Rr]ights [Rr]eserved){_TAIL}",
        re.M,
    ),
)

Rule = tuple[str, tuple[str, ...], tuple[re.Pattern[str], ...]]
"""Name, signs of which a line must hold one ("\\n" is its beginning), patterns."""
_BRACKETED = tuple("\n" + bracket for bracket in "[(【〔<◀☞")
RULES: tuple[Rule, ...] = (
    ("news_copyright", ("저작권자", "opyright", "COPYRIGHT", "ⓒ", "©", "Ⓒ", "무단", "재배포", "eserved"), _RIGHTS),
    ("news_image", ("사진", "이미지", "영상", "그래픽", "▲", "△"), _IMAGES),
    ("news_source", ("출처", "자료", "원문"), _SOURCES),
    ("news_reporter", (*_ROLES, *_BRACKETED), _BYLINES),
    ("news_press", _BRACKETED, _PRESS),
)
"""All apply to a text that is news: KLUE section 2.3 removes all of this furniture."""


def _gate() -> Any:
    """Return one linear-time pattern over UTF-8 that is found wherever any sign of any rule is."""
    options = re2.Options()
    options.never_capture = True
    signs = sorted({sign for _, signs, _ in RULES for sign in signs})
    return re2.compile("|".join(re2.escape(sign) for sign in signs), options)


_GATE = _gate()


def remove_news(text: str, rules: tuple[Rule, ...] = RULES) -> tuple[str, dict[str, int]]:
    """Return a text without news furniture, and rule → characters it took away; lines left empty go."""
    begun = b"\n" + text.encode("utf-8", "surrogatepass")
    taken: dict[str, int] = {}
    pieces: list[bytes] = []
    done = position = 0
    while (sign := _GATE.search(begun, position)) is not None:
        start = begun.rfind(b"\n", 0, sign.start() + 1) + 1
        position = begun.find(b"\n", start)
        position = len(begun) if position < 0 else position
        line = begun[start:position].decode("utf-8", "surrogatepass")
        shorter = _clean_line(line, rules, taken)
        if shorter != line:
            # an empty line goes with its end
            pieces += [begun[done : start if shorter else start - 1], shorter.encode("utf-8", "surrogatepass")]
            done = position
    if not pieces:
        return text, taken
    return b"".join([*pieces, begun[done:]]).decode("utf-8", "surrogatepass").strip("\n"), taken


def _clean_line(line: str, rules: tuple[Rule, ...], taken: dict[str, int]) -> str:
    for name, signs, patterns in rules:
        begun = "\n" + line
        if not any(sign in begun for sign in signs):
            continue
        shorter = line
        for pattern in patterns:
            shorter = pattern.sub("", shorter)
        if shorter != line:
            shorter = shorter.strip()
            taken[name] = taken.get(name, 0) + len(line) - len(shorter) + (not shorter)
            line = shorter
            if not line:
                break
    return line
