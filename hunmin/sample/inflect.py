"""Conjugation of Korean predicates: regular, ㄹ, ㅂ, ㄷ, ㅅ, ㅎ, 르, 으 and 하다 classes, in three registers.

A predicate is its dictionary form ("돕다"); an ending is named by a fixed key (see ENDINGS). Letters of a syllable
are worked on as indices (lead, vowel, final) of the Unicode Hangul composition.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

_VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
_FINALS = ("", *"ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ")
_NIEUN, _DIGEUT, _RIEUL, _MIEUM, _BIEUP, _SIOT, _SSANGSIOT, _HIEUT = 4, 7, 8, 16, 17, 19, 20, 27

# Stems whose last syllable ends in ㅂ and keeps it; all others with ㅂ change it to 오/우.
_REGULAR_BIEUP = set("입잡뽑씹좁꼽접업집")
_IRREGULAR_DIGEUT = {"듣", "깨닫", "싣", "걷", "일컫", "알아듣", "귀담아듣", "묻"}
_IRREGULAR_SIOT = {"짓", "낫", "붓", "잇", "긋", "젓"}
_IRREGULAR_HIEUT = {"그렇", "이렇", "어떻", "빨갛", "노랗", "파랗", "하얗", "까맣", "커다랗"}
# Stems in 르 that only drop ㅡ (따라), against 흐르다 -> 흘러.
_PLAIN_REU = ("따르", "치르", "들르", "다다르", "우러르")
_EXISTENTIAL = ("있", "없")
# Nouns after which 이다 stands as a lexical predicate here; other stems in 이 (높이다, 모이다) are verbs.
_COPULA_STEMS = ("적이", "계획이", "때문이", "편이", "예정이", "셈이", "뜻이", "것이", "하나이", "말이", "날이")


class Register(Enum):
    """How a sentence ends: 합니다 (formal), 한다 (written), 해요 (polite speech)."""

    FORMAL = "합니다"
    PLAIN = "한다"
    POLITE = "해요"


class Tense(Enum):
    """Tense of a final predicate."""

    PAST = "past"
    PRESENT = "present"
    FUTURE = "future"


# key -> (stem class, suffix). "bare": the stem itself; "eu": (으) after a consonant; "a": the 아/어 form.
ENDINGS: dict[str, tuple[str, str]] = {
    **{
        key: ("bare", key)
        for key in (
            "고",
            "지만",
            "지",
            "기",
            "도록",
            "게",
            "던",
            "거나",
            "자",
            "자마자",
            "기로",
            "겠다",
            "겠다고",
            "다고",
            "다는",
        )
    },
    **{f"으{key}": ("eu", key) for key in ("며", "면", "려고", "면서", "면서도", "므로", "러", "려는", "려면")},
    "니": ("eu", "니"),
    "은": ("eu", "\u11ab"),  # adnominal, past of verbs, present of adjectives: jamo ㄴ joins the syllable
    "을": ("eu", "\u11af"),
    "음": ("eu", "\u11b7"),
    "은지": ("eu", "\u11ab지"),
    "은가요": ("eu", "\u11ab가요"),
    "을지": ("eu", "\u11af지"),
    "을수록": ("eu", "\u11af수록"),
    "어": ("a", ""),
    "어서": ("a", "서"),
    "어야": ("a", "야"),
    "어도": ("a", "도"),
    "어요": ("a", "요"),
    "었다": ("past", "다"),
    "었다고": ("past", "다고"),
    "었다는": ("past", "다는"),
    "었던": ("past", "던"),
    "었고": ("past", "고"),
    "었지만": ("past", "지만"),
    "었으며": ("past", "으며"),
    "었는데": ("past", "는데"),
    "었습니다": ("past", "습니다"),
    "었어요": ("past", "어요"),
    "었을": ("past", "을"),
    "었기": ("past", "기"),
    "었으나": ("past", "으나"),
    "었는지": ("past", "는지"),
    "었대요": ("past", "대요"),
    "었더니": ("past", "더니"),
}
_JAMO_FINALS = {"\u11ab": _NIEUN, "\u11af": _RIEUL, "\u11b7": _MIEUM}


def _split(syllable: str) -> tuple[int, int, int]:
    code = ord(syllable) - 0xAC00
    return code // 588, code // 28 % 21, code % 28


def _join(lead: int, vowel: int, final: int) -> str:
    return chr(0xAC00 + lead * 588 + vowel * 28 + final)


def _with_final(stem: str, final: int) -> str:
    lead, vowel, _ = _split(stem[-1])
    return stem[:-1] + _join(lead, vowel, final)


def stem_of(lemma: str) -> str:
    """Return the stem of a dictionary form.

    Raises:
        ValueError: the form does not end in 다.
    """
    if len(lemma) < 2 or not lemma.endswith("다"):
        raise ValueError(f"{lemma!r} is not a dictionary form: it must end in 다")
    return lemma[:-1]


def _is_copula(stem: str) -> bool:
    """이다 after a noun, and 아니다: 공식적이었다, 공식적이에요, 아니에요."""
    return stem in ("아니", "이") or stem.endswith(_COPULA_STEMS)


def _is_irregular_bieup(stem: str) -> bool:
    return _split(stem[-1])[2] == _BIEUP and stem[-1] not in _REGULAR_BIEUP


def _is_irregular_digeut(stem: str) -> bool:
    return stem in _IRREGULAR_DIGEUT


def _is_irregular_siot(stem: str) -> bool:
    return stem[-1] in _IRREGULAR_SIOT


def _eu_form(stem: str, suffix: str) -> str:
    """Join a suffix that takes (으) after a consonant."""
    final = _split(stem[-1])[2]
    jamo = _JAMO_FINALS.get(suffix[:1])
    rest = suffix[1:] if jamo else suffix
    if final == 0:
        open_stem = stem
    elif final == _RIEUL:
        if jamo in (_NIEUN, _RIEUL) or suffix[:1] in "니":
            open_stem = _with_final(stem, 0)
        elif jamo == _MIEUM:
            return _with_final(stem, _FINALS.index("ㄻ")) + rest
        else:
            return stem + rest
    elif stem in _IRREGULAR_HIEUT:
        open_stem = _with_final(stem, 0)
    elif _is_irregular_bieup(stem):
        open_stem = _with_final(stem, 0) + "우"
    elif _is_irregular_digeut(stem):
        open_stem = _with_final(stem, _RIEUL) + "으"
    elif _is_irregular_siot(stem):
        open_stem = _with_final(stem, 0) + "으"
    else:
        open_stem = stem + "으"
    return (_with_final(open_stem, jamo) if jamo else open_stem) + rest


def _a_form(stem: str) -> str:
    """Return the 아/어 form: 해, 가, 봐, 배워, 흘러, 도와, 들어."""
    last = stem[-1]
    if last == "하":
        return stem[:-1] + "해"
    if _is_copula(stem):
        return stem + "어"
    lead, vowel, final = _split(last)
    bright = _VOWELS[vowel] in "ㅏㅗㅑ"
    if stem in _IRREGULAR_HIEUT:
        return stem[:-1] + _join(lead, _VOWELS.index("ㅒ" if _VOWELS[vowel] == "ㅑ" else "ㅐ"), 0)
    if final:
        if _is_irregular_bieup(stem):
            return _with_final(stem, 0) + ("와" if last in "돕곱" else "워")
        if _is_irregular_digeut(stem):
            stem = _with_final(stem, _RIEUL)
        elif _is_irregular_siot(stem):
            stem = _with_final(stem, 0)
        return stem + ("아" if bright else "어")
    if last == "르" and not stem.endswith(_PLAIN_REU):
        before = _with_final(stem[:-1], _RIEUL)
        return before + ("라" if _VOWELS[_split(stem[-2])[1]] in "ㅏㅗ" else "러")
    name = _VOWELS[vowel]
    if name == "ㅡ":
        bright = len(stem) > 1 and _VOWELS[_split(stem[-2])[1]] in "ㅏㅗㅑ"
        return stem[:-1] + _join(lead, _VOWELS.index("ㅏ" if bright else "ㅓ"), 0)
    merged = {
        "ㅏ": "ㅏ",
        "ㅓ": "ㅓ",
        "ㅐ": "ㅐ",
        "ㅔ": "ㅔ",
        "ㅕ": "ㅕ",
        "ㅗ": "ㅘ",
        "ㅜ": "ㅝ",
        "ㅣ": "ㅕ",
        "ㅚ": "ㅙ",
    }
    if name in merged:
        return stem[:-1] + _join(lead, _VOWELS.index(merged[name]), 0)
    return stem + ("아" if bright else "어")


def _past_stem(stem: str) -> str:
    if _is_copula(stem):
        return stem + "었"
    return _with_final(_a_form(stem), _SSANGSIOT)


@lru_cache(maxsize=65536)
def conjugate(lemma: str, ending: str) -> str:
    """Return a dictionary form with a non-final or past ending.

    Args:
        lemma: dictionary form, e.g. "돕다".
        ending: a key of ENDINGS, or "는" (present adnominal of a verb), "는데", "는다고".

    Raises:
        ValueError: the lemma is no dictionary form.
        KeyError: the ending is unknown.

    Example: `conjugate("돕다", "어서")` is "도와서", `conjugate("만들다", "는")` is "만드는".
    """
    stem = stem_of(lemma)
    if ending in ("는", "는데", "는지"):
        return (_with_final(stem, 0) if _split(stem[-1])[2] == _RIEUL else stem) + ending
    if ending == "는다고":
        return present_plain(lemma, adjective=False) + "고"
    kind, suffix = ENDINGS[ending]
    if kind == "bare":
        return stem + suffix
    if kind == "eu":
        return _eu_form(stem, suffix)
    if kind == "past":
        return _past_stem(stem) + suffix
    if ending == "어요" and _is_copula(stem):
        return stem + "에요"
    return _a_form(stem) + suffix


@lru_cache(maxsize=65536)
def adnominal(lemma: str, adjective: bool) -> str:
    """Return the present adnominal form: 만드는 (verb), 높은 (adjective), 있는, 없는."""
    if adjective and not stem_of(lemma).endswith(_EXISTENTIAL):
        return conjugate(lemma, "은")
    return conjugate(lemma, "는")


@lru_cache(maxsize=65536)
def present_plain(lemma: str, adjective: bool) -> str:
    """Return the written present: 간다, 먹는다, 만든다 (verbs), 높다 (adjectives, 있다, 없다)."""
    stem = stem_of(lemma)
    if adjective or stem.endswith(_EXISTENTIAL) or _is_copula(stem):
        return lemma
    final = _split(stem[-1])[2]
    if final in (0, _RIEUL):
        return _with_final(stem, _NIEUN) + "다"
    return stem + "는다"


@lru_cache(maxsize=65536)
def final_form(lemma: str, register: Register, tense: Tense = Tense.PAST, adjective: bool = False) -> str:
    """Return the sentence-final form of a predicate without the full stop.

    Args:
        lemma: dictionary form.
        register: 합니다, 한다 or 해요.
        tense: past, present, or future (을 것이다).
        adjective: whether the predicate is descriptive (its written present is the dictionary form).

    Example: `final_form("돕다", Register.POLITE)` is "도왔어요".
    """
    if tense is Tense.FUTURE:
        ending = {Register.FORMAL: "것입니다", Register.PLAIN: "것이다", Register.POLITE: "거예요"}[register]
        return f"{conjugate(lemma, '을')} {ending}"
    if tense is Tense.PAST:
        return conjugate(
            lemma, {Register.FORMAL: "었습니다", Register.PLAIN: "었다", Register.POLITE: "었어요"}[register]
        )
    if register is Register.PLAIN:
        return present_plain(lemma, adjective)
    if register is Register.POLITE:
        return conjugate(lemma, "어요")
    stem = stem_of(lemma)
    final = _split(stem[-1])[2]
    return _with_final(stem, _BIEUP) + "니다" if final in (0, _RIEUL) else stem + "습니다"


def negated_final(lemma: str, register: Register, tense: Tense = Tense.PAST, adjective: bool = False) -> str:
    """Return the negated final form, e.g. "돕지 않았다"."""
    return f"{conjugate(lemma, '지')} {final_form('않다', register, tense, adjective)}"


def nominal_form(lemma: str) -> str:
    """Return the predicate as a noun before another noun in a headline: 발의 (방침), 데우기 (방침)."""
    noun = headline_form(lemma)
    return noun if lemma.startswith(noun) and noun != lemma else conjugate(lemma, "기")


def headline_form(lemma: str) -> str:
    """Return how a headline ends with this predicate: the bare noun of a 하다 or 되다 verb, else the 아/어 form."""
    for tail in ("하다", "되다", "시키다"):
        if lemma.endswith(tail) and len(lemma) > len(tail) + 1:
            return lemma[: -len(tail)]
    return conjugate(lemma, "어")
