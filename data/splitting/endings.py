"""Korean endings that close a sentence without a full stop, and the words after them that show they did not.

Korean sentences end in a verb's final ending. Some endings are final wherever a word ends in them (…습니다, …었다,
…세요); others also link clauses (…어, …지, …나), and are taken as final only after what makes them so: tense (…었어,
…겠지), a copula (…거야), a question word (…어디니). None of them is final when the next word quotes it, leans on it as
an auxiliary verb does, or repeats it (갈까 말까).
"""

from __future__ import annotations

import re


def _closing_in(*consonants: int) -> str:
    """Return every Hangul syllable whose final consonant has one of the numbers that Unicode gives them (ㅆ: 20)."""
    return "".join(chr(0xAC00 + 28 * i + consonant) for consonant in consonants for i in range(399))


_N = _closing_in(4)
_L = _closing_in(8)
_P = _closing_in(17)
_TENSE = _closing_in(20)
"""Syllables in ㅆ: past …었, …았, …했, future …겠, and 있."""
_STEMS = _closing_in(18, 6, 15, 27) + "같싶"
"""Syllables in ㅄ (없), ㄶ (많, 않), ㅀ (싫), ㅎ (좋): with 같 and 싶 stems of adjectives."""

_ADJECTIVES = "작적밝맑넓짧얇깊높길멀젊"
"""Stems of common adjectives: their …다 is final, where a verb's (먹다, 걷다) is a shortened …다가, "while"."""

FINAL: dict[str, str] = {
    "다": rf"(?<=[{_TENSE}{_STEMS}{_N}{_P}{_ADJECTIVES}니이프쁘크]다)"
    "(?<![놓넣낳쌓닿잡입씹굽눕줍접업집혼판]다)|(?<=[다빠]르다)"
    rf"|(?<=[{_P}]시다)",
    "요": "(?<=[져럼뻐셔걸도여봐예라든내지와해거네대워세돼어에군아고서래려줘게나까구되때데퍼켜겨쳐펴춰꿔싸파러써커]요)"
    rf"|(?<=[{_N}]가요)",
    "죠": "(?<=[가-힣]죠)",
    "까": rf"(?<=[{_P}]니까)|(?<=[{_L}]까)",
    "오": "(?<=[으하마가주보오되키지내이기치르쓰두십]시오)",
    "어": rf"(?<=[{_TENSE}]어)(?<!있어)|(?<=싫어)|(?<=고 싶어)|(?<=고싶어)",
    "아": "(?<=같아)|(?<=[가-힣]잖아)(?<![있없]잖아)",
    "애": "(?<=같애)",
    "야": "(?<=[거꺼뭐]야)|(?<=어디야)|(?<=누구야)|(?<=언제야)|(?<=얼마야)|(?<=이야)(?<!말이야)",
    "지": rf"(?<=[{_TENSE}]지)(?<!있지)|(?<=야지)|(?<=[ {_N}{_L}]거지)|(?<=뭐지)"
    "|(?<=어디지)|(?<=언제지)|(?<=쩌지)|(?<=떡하지)",
    "나": rf"(?<=[{_TENSE}없되]나)|(?<=[하오가주으되]려나)|(?<=까나)",
    "니": rf"(?<=[{_TENSE}없많높낫좋뭐]니)|(?<=어디니)|(?<=언제니)|(?<=누구니)",
    "냐": "(?<=[가-힣]냐)(?<!느냐)",
    "네": rf"(?<=[{_TENSE}{_STEMS}이되오가드하나렵프쁘기]네)",
    "음": rf"(?<=[{_TENSE}{_STEMS}]음)",
    "줘": "(?<=[가-힣 ]줘)",
    "돼": "(?<=안돼)|(?<=안 돼)|(?<=[야도]돼)|(?<=[야도] 돼)",
    "봐": "(?<=[나가해어줘]봐)",
    "때": "(?<=어때)",
    "마": "(?<=지마)|(?<=지 마)",
    "라": "(?<=[해봐줘더]라)|(?<=지마라)|(?<=지 마라)",
    "자": "(?<=말자)",
    "래": rf"(?<=[{_L}바]래)(?<![빨몰달갈길]래)",
    "게": "(?<=[할볼줄올갈을]게)",
    "가": "(?<=[건떤]가)",
    "해": "(?<=궁금해)|(?<=부탁해)|(?<=사랑해)|(?<=미안해)|(?<=어떡해)",
    "용": "(?<=[네세어아해예에]용)",
    "여": rf"(?<=[네세]여)|(?<=[{_TENSE}]어여)",
}
"""A last syllable, and the condition, matched just after it, under which a word that ends in it closes a sentence."""
FUSED = "닼넼욬엌핰댘"
"""Last syllables with a laugh's ㅋ written into them (재밌닼ㅋㅋ); final where more of it follows."""

_CITED = (
    r"[\"'”’>}]\s?(?:이?라[고는며]|고|하[고며는]|는|며)\b"
    r"|고\b|라[고는며]|는\b|며\b|면\b|면서|해도|해서\b|해야|한다\b|함[을은이]|할\b|할지라도|싶|말[하했]|보니\b|치더라도|치자|갔다"
    r"|하(?:여|여도|면|고|니|지|는|던|는데|네|네요|더니|더라도|더라|겠다|겠습니다|겠지만|지요|죠|기에|였다|심을)?\b"
    r"|했(?:[다을던고]|더니|지만|는데|으나|으며)|[ㄱ-ㅎㅏ-ㅣ.!?~^;,)\]>}]"
)
_AUXILIARY = r"보[였이여입인]|하|한|할|했|합|죽|지|졌|진|미치|미쳐|도\b|서\b|야\b|왔"
_MOOD = (
    r"보[다이여입인일]|봅니|봐|하|한|할|했|합|싶|말|생각|고민|걱정|의문|의심|궁금|염려|우려|불안|망설|두려|두렵|묻|물어|물었|확인|살펴|알아"
    r"|모르|모를|몰라|자문|의\b|에\b|를\b|가\b|(?:[가-힣]{1,8} )?[가-힣]{1,6}(?:냐|까|니|나|지|야)\b"
    r"|아님|아니면|또는|혹은"
)
_LEANS: dict[str, str] = {
    "다": r"못[해하]|왔|올\b|오[는면려고]|나[오왔와]|말았|말다|(?:안 |못 )?[가-힣]{1,5}다(?:가| [가갔하했한])",
    "까": _MOOD,
    "가": _MOOD,
    "나": _MOOD,
    "냐": _MOOD,
    "니": _MOOD,
    "래": _MOOD,
    "때": _MOOD,
    "야": _MOOD + r"|말로|되|돼|된|됩|될",
    "지": _MOOD + r"|않|못|마|만\b|도\b|는\b|요\b|뭐",
    "네": "마네|어쩌네",
    "어": _AUXILIARY,
    "아": _AUXILIARY,
    "해": _AUXILIARY + "|줘|주|드",
    "줘": r"봐|서\b|야\b|도\b|라\b",
    "봐": r"줘|주|달|야\b|도\b|서\b|라\b",
    "돼": r"있|는\b|서\b|버",
    "음": "좋|해|하|한|합|했",
    "게": "없|있|많|뭐|아니|되|돼|될|됩|된",
}


def _leans(last: str) -> re.Pattern[str]:
    return re.compile("|".join(filter(None, (_CITED, _LEANS.get(last)))))


LEANS: dict[str, re.Pattern[str]] = {last: _leans(last) for last in [*FINAL, *FUSED]}
"""A last syllable, and what, at the beginning of the next word, shows that the sentence goes on."""
