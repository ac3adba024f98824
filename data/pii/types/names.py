"""Names and nicknames of people beside what says that they are such: a label before, or a title behind.

"이름:" is no such label: what follows it in manuals and in forms of programs is nearly always a thing. Only Korean
names of a surname and one or two syllables are looked for; a name in running text stays. Nicknames are also the names
under which somebody is found in a messenger or a game.
"""

from __future__ import annotations

import re

from data.pii.types.base import Draw, Extent, PiiType

SURNAMES = (
    "남궁|황보|제갈|선우|사공|서문|독고|동방"
    "|[김이박최정강조윤장임한오서신권황안송류유전홍고문양손배백허남심노하곽성차주우구민나진지엄채원천방공현함"
    "변염여추도소석선설마길연위표명기반왕금옥육인맹제모탁국은편용예경봉사부]"
)
"""Alternatives of a pattern, those of two syllables first."""
_LABELS = (
    "성명|성 명|예금주|작성자|글쓴이|신청인|청구인|신고인|고소인|피고소인|보호자|대표자|담당자|계약자|수령인|받는 ?사람"
    "|보내는 ?사람|받는 ?분|환자명|고객명|학생명|입금자명?|명의자"
)
_NAME = (
    rf"(?<![가-힣])(?:{_LABELS}) ?[:：=] ?\(?(?P<given>(?:{SURNAMES})[가-힣]{{1,2}})"
    rf"(?= ?(?:$|[\n\r,./|()0-9A-Za-z])| [가-힣 ]{{1,8}}[:：=]|[님씨은는이가을를의](?![가-힣]))"
    rf"|(?<![가-힣])(?P<called>(?:{SURNAMES})[가-힣]{{2}}) ?씨(?=[ ,.!?)]|[가는의를도와]|에게|한테|께|$)"
)
_GATE = rf"(?:{_LABELS}) ?[:：=]|[가-힣]{{3}} ?씨"
_NO_NAME = re.compile(
    "아저씨|아가씨|이름|미정|없음|무명|비공개|이하|전체|관리자|운영자|담당자|이상|기타|한글|영문|공백|주인|남자|여자"
    "|고객|사용자"
)
_ENDS_OF_WORDS = ("날", "마음", "솜", "말", "글", "불", "맵", "아저", "아가", "이름", "박")
"""Before 씨 these make a word: weather, handwriting, skill, embers."""
_INVENTED_SURNAMES = "갸냐댜랴먀뱌샤야쟈챠캬탸퍄햐"
"""Syllables that no surname is: a pseudonym is an invented name."""
_SYLLABLES = "가나다라마바사아자하고노도로모보소오조호"


def name(text: str, match: re.Match[str]) -> Extent | None:
    """Accept the name without the label, the title and a particle."""
    group = "given" if match["given"] else "called"
    start, end = match.span(group)
    value = match[group]
    if _NO_NAME.fullmatch(value) or value.endswith(_ENDS_OF_WORDS) or value.startswith(("사람", "이름")):
        return None
    return start, end


def _make(value: str, normal: str, draw: Draw) -> str:
    return draw.choice(_INVENTED_SURNAMES) + "".join(draw.choice(_SYLLABLES) for _ in value[1:])


NAME = PiiType("NAME", re.compile(_NAME), _GATE, _make, check=name, normalise=str)


_NICKNAME_LABELS = "닉네임|닉넴|대화명|필명|유저명"
_SERVICES = (
    "카카오톡|카톡|텔레그램|텔레|라인|인스타그램|인스타|트위터|페이스북|페북|위챗|디스코드|스카이프|스냅챗|롤|배그|스팀"
    "|네이버|게임"
)
_VALUE = r"[가-힣A-Za-z0-9_][가-힣A-Za-z0-9_.\-]{0,22}[가-힣A-Za-z0-9_]"
_ACCOUNT = r"[A-Za-z][A-Za-z0-9_.\-]{1,28}[A-Za-z0-9_]"
_NICKNAME = (
    rf"(?<![가-힣A-Za-z0-9])(?:내 ?|제 ?)?(?:{_SERVICES})? ?(?:{_NICKNAME_LABELS}) ?[:：=] ?"
    rf"(?P<told>{_VALUE})(?![가-힣A-Za-z0-9_@])"
    rf"|(?<![가-힣])(?:{_SERVICES}) ?(?:아이디|ID|id|Id|계정)(?: ?[:：=] ?|[는은이가] | )@?"
    rf"(?P<account>{_ACCOUNT})(?![A-Za-z0-9_@.-])"
)
_NICKNAME_GATE = rf"(?:{_NICKNAME_LABELS}) ?[:：=]|(?:{_SERVICES}) ?(?:아이디|ID|id|Id|계정)[ :：=는은이가]"
_NO_NICKNAME = frozenset(
    ["없음", "미정", "비공개", "공백", "필수", "선택", "한글", "영문", "숫자", "중복", "입력", "변경", "확인", "설정"]
)


def nickname(text: str, match: re.Match[str]) -> Extent | None:
    """Accept the name without its label; words of a form (닉네임: 필수 입력) are none."""
    group = "told" if match["told"] else "account"
    if match[group] in _NO_NICKNAME or any(match[group].startswith(word) for word in _NO_NICKNAME):
        return None
    return match.span(group)


def _make_nickname(value: str, normal: str, draw: Draw) -> str:
    return draw.name(max(2, len(value) // 2))


NICKNAME = PiiType("NICKNAME", re.compile(_NICKNAME), _NICKNAME_GATE, _make_nickname, check=nickname, normalise=str)
