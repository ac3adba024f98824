"""News furniture: bylines, press names, image and source tags and copyright lines of KLUE section 2.3."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import re2

if TYPE_CHECKING:
    from data.cleaning.settings import CleanSettings

_NAME = r"[가-힣]{2,4}"
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
    re.compile(rf"^{_NAME}\s?{_ROLE}\s?=\s?", re.M),
    # a whole line, or the end of one: 홍길동 기자 hong@example.org
    re.compile(
        rf"^[\[(【]?\s?(?:[가-힣]{{2,12}}\s?=\s?|[가-힣A-Za-z]{{0,10}}{_OUTLET}\s)?{_NAME}(?:\s?[·,]\s?{_NAME}){{0,3}}\s?{_ROLE}"
        rf"(?:\s?[=·/|(\[]?\s?{_MAIL}\s?[)\]]?)?\s?[\])】]?$",
        re.M,
    ),
    re.compile(rf"(?:(?<=[.!?\s])|^)[\[(/【]?{_NAME}\s?{_ROLE}\s?[=·/|(\[]?\s?{_MAIL}\s?[)\]】]?$", re.M),
    re.compile(rf"(?<=[.!?\"”'’)\]])\s?[\[(【]?{_NAME}\s?{_ROLE}[)\]】]?$", re.M),
)
_PRESS = (re.compile(rf"^[\[(【〔<◀☞]\s?(?:[가-힣A-Za-z0-9 ]{{1,15}})?{_OUTLET}\s?[\])】〕>▶]$", re.M),)
_IMAGES = (
    re.compile(r"[\[(【</]\s?(?:사진|이미지|영상|그래픽|동영상)\s?(?:[=:제/|][^\[\]()【】<>\n]{0,80})?[\])】>]"),
    re.compile(r"^[▲▼△◀▶]?\s?(?:사진|이미지|영상|그래픽)\s?(?:[=:|/]|제공\s?[=:])[^\n]{0,120}$", re.M),
    re.compile(r"^[▲△▼][^\n]{0,120}(?:사진|이미지|제공|뉴스|DB)[^\n]{0,40}$", re.M),
    re.compile(r"\s?/\s?사진\s?[=:][^\n]{0,60}$", re.M),
)
_SOURCES = (
    re.compile(r"[\[(【<]\s?(?:출처|자료|자료\s?출처|자료\s?제공)\s?[=:][^\[\]()【】<>\n]{0,100}[\])】>]"),
    re.compile(r"^[*※☞-]?\s?(?:출처|자료|자료\s?출처|자료\s?제공|기사\s?출처|원문)\s?[=:][^\n]{0,150}$", re.M),
)
_RIGHTS = (
    re.compile(r"[\[(<【]?\s?(?:저작권자|Copyright|COPYRIGHT|copyright|ⓒ|©|Ⓒ)[^\n]{0,200}$", re.M),
    re.compile(
        r"^[^\n]{0,100}(?:무단\s?전재|무단\s?복제|무단\s?배포|재배포\s?금지|All [Rr]ights [Rr]eserved)[^\n]{0,100}$",
        re.M,
    ),
)

_BRACKETED = tuple("\n" + bracket for bracket in "[(【〔<◀☞")
RULES: tuple[tuple[str, tuple[str, ...], tuple[re.Pattern[str], ...]], ...] = (
    ("news_copyright", ("저작권자", "opyright", "COPYRIGHT", "ⓒ", "©", "Ⓒ", "무단", "재배포", "eserved"), _RIGHTS),
    ("news_image", ("사진", "이미지", "영상", "그래픽", "▲", "△"), _IMAGES),
    ("news_source", ("출처", "자료", "원문"), _SOURCES),
    ("news_reporter", (*_ROLES, *_BRACKETED), _BYLINES),
    ("news_press", _BRACKETED, _PRESS),
)
"""Rule, signs of which a line must hold one ("\\n" is its beginning), patterns."""


def _gate() -> Any:
    """Return one linear-time pattern over UTF-8 that is found wherever any sign of any rule is."""
    options = re2.Options()
    options.never_capture = True
    signs = sorted({sign for _, signs, _ in RULES for sign in signs})
    return re2.compile("|".join(re2.escape(sign) for sign in signs), options)


_GATE = _gate()


def remove_news(text: str, settings: CleanSettings) -> tuple[str, dict[str, int]]:
    """Return a text without news furniture, and rule → characters it took away; lines left empty go.

    Args:
        text: a document with \\n as line end.
        settings: which of the rules apply.
    """
    if not any(getattr(settings, name) for name, _, _ in RULES):
        return text, {}
    begun = b"\n" + text.encode("utf-8", "surrogatepass")
    taken: dict[str, int] = {}
    kept: list[bytes] = []
    done = position = 0
    while (sign := _GATE.search(begun, position)) is not None:
        start = begun.rfind(b"\n", 0, sign.start() + 1) + 1
        position = begun.find(b"\n", start)
        position = len(begun) if position < 0 else position
        line = begun[start:position].decode("utf-8", "surrogatepass")
        shorter = _clean_line(line, settings, taken)
        if shorter != line:
            # an empty line goes with its end
            kept += [begun[done : start if shorter else start - 1], shorter.encode("utf-8", "surrogatepass")]
            done = position
    if not kept:
        return text, taken
    return b"".join([*kept, begun[done:]]).decode("utf-8", "surrogatepass").strip("\n"), taken


def _clean_line(line: str, settings: CleanSettings, taken: dict[str, int]) -> str:
    """Return one line after all rules, adding what each took away to `taken`."""
    for name, signs, patterns in RULES:
        begun = "\n" + line
        if not getattr(settings, name) or not any(sign in begun for sign in signs):
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
