"""Names of people beside what says that they are names: a label of a form before, or a title behind.

"이름:" is no such label: what follows it in manuals and in forms of programs is nearly always a thing. Only Korean
names of a surname and one or two syllables are looked for; a name in running text stays.
"""

from __future__ import annotations

import re

from data.pii.draw import Draw
from data.pii.types.base import Extent, PiiType
from data.pii.types.surnames import SURNAMES

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
