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

_VERBS = "놓넣낳쌓닿찧빻땋끊끓앓뚫꿇잃닳곯잡입씹굽눕줍접업집뽑꼽돕깁뵙쭙"
"""Stems of verbs among those syllables."""
_VERBS_OF_WORDS = re.findall(
    r"\S+",
    "보 모 쓰 놓 쌓 높 붙 끓 줄 먹 죽 섞 꼬 덮 녹 숙 꺾 묶 볶 깎 엮 쏘 쪼 조 고 누 트 파 치 메 베 데 삭 썩 "
    "움직 망설 기울 반짝 깜빡 깜박 끄덕 서성 속삭 글썽 출렁 헐떡 허덕 뒤척 훌쩍 들썩 번쩍 번뜩 끈적 들먹 "
    "울먹 펄럭 지껄 뒤적 긁적 받아들 끌어들 맞아들 불러들",
)
"""Verbs in …이다, without it; a copula follows other words, or these with something before them (정보이다)."""


def _none_before(words: list[str]) -> str:
    """Return a pattern that fails just after one of the words, at the beginning of an eojeol."""
    lengths = sorted({len(word) for word in words})
    return "".join(f"(?<![ \\t](?:{'|'.join(w for w in words if len(w) == length)}))" for length in lengths)


_NOT_WHILE = _none_before([*(f"{stem}이다" for stem in _VERBS_OF_WORDS), "신다", "껴안다", "갈아신다", "얼싸안다"])
"""Verbs whose …다 looks like a copula's or the present tense's, and is a shortened …다가."""

FINAL: dict[str, str] = {
    "다": rf"(?<=[{_TENSE}{_STEMS}{_N}{_P}{_ADJECTIVES}니이프쁘크]다)(?<![{_VERBS}혼판젠완]다)(?<!다니다){_NOT_WHILE}"
    rf"|(?<=[다빠]르다)"
    rf"|(?<=[{_P}]시다)",
    "요": "(?<=[져럼뻐셔걸도여봐예라든내지와해거네대워세돼어에군아고서래려줘게나까구되때데퍼켜겨쳐펴춰꿔싸파러써커]요)"
    rf"|(?<=[{_N}]가요)",
    "죠": "(?<=[가-힣]죠)",
    "까": rf"(?<=[{_P}]니까)|(?<=[{_L}]까)(?<!랄까)",
    "오": "(?<=[으하마가주보오되키지내이기치르쓰두십]시오)",
    "어": rf"(?<=[{_TENSE}]어)(?<!있어)|(?<=싫어)|(?<=고 싶어)|(?<=고싶어)",
    "아": "(?<=[거꺼것]같아)|(?<=[거꺼것] 같아)|(?<=[가-힣]잖아)(?<![있없]잖아)",
    "애": "(?<=같애)",
    "야": "(?<=[거꺼뭐]야)|(?<=어디야)|(?<=누구야)|(?<=언제야)|(?<=얼마야)|(?<=이야)(?<!말이야)",
    "지": rf"(?<=[{_TENSE}]지)(?<!있지)|(?<=야지)|(?<=[{_N}{_L}]거지)(?<![본설]거지)|(?<=[{_N}{_L}] 거지)|(?<=뭐지)"
    "|(?<=어디지)|(?<=언제지)|(?<=쩌지)|(?<=떡하지)",
    "나": rf"(?<=[{_TENSE}없]나)|(?<=[도면게]되나)|(?<=[도면게] 되나)|(?<=[하오가주으되]려나)|(?<=까나)",
    "니": rf"(?<=[{_TENSE}없많높낫좋뭐]니)|(?<=어디니)|(?<=언제니)|(?<=누구니)",
    "냐": "(?<=[가-힣]냐)(?<![느케파로]냐)",
    "네": rf"(?<=[{_TENSE}{_STEMS}이되오가드하나렵프쁘]네)",
    "음": rf"(?<=[{_TENSE}없많않싫좋싶]음)|(?<=[거것]같음)|(?<=[거것] 같음)",
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
    r"[\"'”’>}]\s?(?:이?라[고는며]|고|하[고며는]|는|며)\b|[ㄱ-ㅎㅏ-ㅣ.!?~^;:,)\]>}]"
    r"|고\b|라[고는며]|는\b|며\b|면\b|면서|해도|해서\b|해야|함[을은이]|싶|말[하했]|보니\b|치[고면]\b|치더라도|치자|갔"
    r"|하\b|하지\b|하(?:여|면|고|니|는|던|네|더|드라도|려|며|기에|겠|죠|였|심|게\b)|한(?:다|들\b| [것들])"
    r"|할\b|할(?:진대|지라도|까)|합니다|합시다|했(?:[다을던고]|더니|지만|는데|으나|으며)"
    r"|[이그]렇게 (?:생각|말|볼|보|느|할|하|해|한)|이거[예거야]|이런 (?:것|우려|식|말|이야기)|등등|운운"
    r"|(?:약속|선언|다짐|주장|판단|생각|확인|강조|말씀|평가|고백|보고)(?:하[고며는면였]|한|했|합|되|된|될)"
)
"""What, after any ending, cites it: 고, 라고, 하며, 했다, 생각하고."""
_AUXILIARY = (
    r"보[였이여입인]|한\b|했|합|해[서요]?\b|죽[겠을]|지[고는면며네기]|졌|진다|진\b|질\b|미치겠|미쳐|[도서야]\b|왔"
)
"""What leans on …어 and …아: 싶어 했다, 없어 보인다, 싫어 죽겠다."""
_MOOD = (
    r"보[다이여입인일]|봅니|봐|한\b|했|합|생각|고민|걱정|의문|의심|궁금|염려|우려|불안|망설|두려|두렵|묻|물어|물었"
    r"|확인|살펴|알아|모르|모를|몰라|자문|기대|혼란|조바심|조마조마|짐작|추정|[의에를가]\b"
    r"|(?:[가-힣]{1,8} )?[가-힣]{1,5}[냐까니나지야][는를]?\b|아님|아니면|또는|혹은"
)
"""What takes a question or a guess in: 갈까 말까, 왔나 싶다, 맞는지 확인."""
_LEANS: dict[str, str] = {
    "다": r"못[해하]|왔|올\b|오[는면려고]|나[오왔와]|말았|말다"
    r"|(?:안 |못 )?[가-힣]{1,5}다(?:가|[는고]\b| (?:하[다는며고면]|했|한다|갔))",
    "까": _MOOD,
    "가": _MOOD,
    "나": _MOOD,
    "냐": _MOOD,
    "니": _MOOD,
    "래": _MOOD,
    "때": _MOOD,
    "야": _MOOD + r"|말로|되|돼|된|됩|될",
    "지": _MOOD + r"|않|못|마[라세시]?\b|[만도는요]\b|뭐",
    "네": "마네|어쩌네",
    "어": _AUXILIARY,
    "아": _AUXILIARY,
    "해": _AUXILIARY + "|줘|주[고는며면세시었]|드[리립릴렸]|마지",
    "줘": r"봐|[서야도라]\b",
    "봐": r"줘|주[고는며면세시었]|달라|[서야도라]\b",
    "돼": r"있|[는서]\b|버|왔",
    "음": r"좋[겠을]|한\b|합|했",
    "게": "없|있|많|뭐|아니|되|돼|될|됩|된",
}


def _leans(last: str) -> re.Pattern[str]:
    return re.compile("|".join(filter(None, (_CITED, _LEANS.get(last)))))


LEANS: dict[str, re.Pattern[str]] = {last: _leans(last) for last in [*FINAL, *FUSED]}
"""A last syllable, and what, at the beginning of the next word, shows that the sentence continues."""
