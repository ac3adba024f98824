"""Josa: the particle that fits the last sound of a word, for Hangul, digits, Latin letters and closing marks."""

from __future__ import annotations

from functools import lru_cache

HANGUL_FIRST, HANGUL_LAST = 0xAC00, 0xD7A3
RIEUL = 8
"""Index of the final consonant ㄹ among the 28 finals of a Hangul syllable."""

# Final consonant of the Sino-Korean reading of a last digit: 영 일 이 삼 사 오 육 칠 팔 구.
_DIGIT_FINALS = dict(zip("0123456789", (21, 8, 0, 16, 0, 0, 1, 8, 8, 0), strict=True))
# Final consonant of the Korean name of a last letter: L 엘, R 알, M 엠, N 엔; the other names end in a vowel.
_LETTER_FINALS = {"l": 8, "r": 8, "m": 16, "n": 4}
_CLOSING = "\"'”’)]}>》〉」』…·.%"

# particle -> (after a consonant, after a vowel)
_PAIRS = {
    "은": ("은", "는"),
    "는": ("은", "는"),
    "이": ("이", "가"),
    "가": ("이", "가"),
    "을": ("을", "를"),
    "를": ("을", "를"),
    "과": ("과", "와"),
    "와": ("과", "와"),
    "아": ("아", "야"),
    "이나": ("이나", "나"),
    "이라": ("이라", "라"),
    "이라고": ("이라고", "라고"),
    "이라면": ("이라면", "라면"),
    "이라도": ("이라도", "라도"),
    "이라고도": ("이라고도", "라고도"),
    "이라는": ("이라는", "라는"),
    "이란": ("이란", "란"),
    "이며": ("이며", "며"),
    "이고": ("이고", "고"),
    "이든": ("이든", "든"),
    "이야": ("이야", "야"),
    "이다": ("이다", "다"),
    "이에요": ("이에요", "예요"),
    "이었다": ("이었다", "였다"),
    "이었습니다": ("이었습니다", "였습니다"),
    "이었어요": ("이었어요", "였어요"),
}


@lru_cache(maxsize=65536)
def final_consonant(word: str) -> int:
    """Return the index (0 = none, 1-27) of the final consonant with which `word` is read.

    Args:
        word: at least one character that is read; closing quotes and brackets at the end are passed over.

    Raises:
        ValueError: nothing in the word is read (empty, or marks only).
    """
    spoken = word.rstrip(_CLOSING) if not word.endswith("%") else "트"
    if not spoken:
        raise ValueError(f"no readable character in {word!r}")
    last = spoken[-1]
    if HANGUL_FIRST <= ord(last) <= HANGUL_LAST:
        return (ord(last) - HANGUL_FIRST) % 28
    if last in _DIGIT_FINALS:
        # 10 십, 100 백, 1000 천, 10000 만: a run of zeros is read by its unit.
        zeros = len(spoken) - len(spoken.rstrip("0"))
        if zeros and len(spoken) > zeros:
            return {1: 17, 2: 1, 3: 4}.get(zeros, 4 if zeros < 8 else 1)
        return _DIGIT_FINALS[last]
    return _LETTER_FINALS.get(last.lower(), 0)


@lru_cache(maxsize=65536)
def josa(word: str, particle: str) -> str:
    """Return `word` with `particle` in the form that fits its last sound; particles without two forms stay.

    Example: `josa("학교", "을")` is "학교를", `josa("서울", "으로")` is "서울로".
    """
    final = final_consonant(word)
    if particle.startswith("으로"):
        return word + (particle if final not in (0, RIEUL) else particle[1:])
    pair = _PAIRS.get(particle)
    if pair is None:
        return word + particle
    return word + pair[0 if final else 1]
