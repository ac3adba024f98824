"""Nicknames, and the names under which somebody is found in a messenger or a game: only beside what says so."""

from __future__ import annotations

import re

from data.pii.draw import Draw
from data.pii.types.base import Extent, PiiType

_LABELS = "닉네임|닉넴|대화명|필명|유저명"
_SERVICES = (
    "카카오톡|카톡|텔레그램|텔레|라인|인스타그램|인스타|트위터|페이스북|페북|위챗|디스코드|스카이프|스냅챗|롤|배그|스팀"
    "|네이버|게임"
)
_VALUE = r"[가-힣A-Za-z0-9_][가-힣A-Za-z0-9_.\-]{0,22}[가-힣A-Za-z0-9_]"
_ACCOUNT = r"[A-Za-z][A-Za-z0-9_.\-]{1,28}[A-Za-z0-9_]"
_NICKNAME = (
    rf"(?<![가-힣A-Za-z0-9])(?:내 ?|제 ?)?(?:{_SERVICES})? ?(?:{_LABELS}) ?[:：=] ?"
    rf"(?P<told>{_VALUE})(?![가-힣A-Za-z0-9_@])"
    rf"|(?<![가-힣])(?:{_SERVICES}) ?(?:아이디|ID|id|Id|계정)(?: ?[:：=] ?|[는은이가] | )@?"
    rf"(?P<account>{_ACCOUNT})(?![A-Za-z0-9_@.-])"
)
_GATE = rf"(?:{_LABELS}) ?[:：=]|(?:{_SERVICES}) ?(?:아이디|ID|id|Id|계정)[ :：=는은이가]"
_NO_NICKNAME = frozenset(
    ["없음", "미정", "비공개", "공백", "필수", "선택", "한글", "영문", "숫자", "중복", "입력", "변경", "확인", "설정"]
)


def nickname(text: str, match: re.Match[str]) -> Extent | None:
    """Accept the name without its label; words of a form (닉네임: 필수 입력) are none."""
    group = "told" if match["told"] else "account"
    if match[group] in _NO_NICKNAME or any(match[group].startswith(word) for word in _NO_NICKNAME):
        return None
    return match.span(group)


def _make(value: str, normal: str, draw: Draw) -> str:
    return draw.name(max(2, len(value) // 2))


NICKNAME = PiiType("NICKNAME", re.compile(_NICKNAME), _GATE, _make, check=nickname, normalise=str)
