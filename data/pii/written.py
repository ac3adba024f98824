"""Pseudonyms in the writing of their originals: full width, circled, in Hangul, in boxes, broken, or shortened."""

from __future__ import annotations

import re

from data.pii.fold import DIGIT_FAMILIES, plain_sign

_SIGN = re.compile("[0-9A-Za-z가-힣]")
HANGUL_DIGITS = dict(zip("공영빵일이삼사오육륙칠팔구〇零一二三四五六七八九", "000123456678900123456789", strict=True))
"""Hangul and Han numeral → digit."""
LOOKALIKES = {
    **dict.fromkeys("oOоОㅇ○◯〇", "0"),
    **dict.fromkeys("lI|ㅣ∣", "1"),
    **dict.fromkeys("Ss", "5"),
    "Z": "2",
    "B": "8",
}
"""Letter or sign that is typed for a digit → the digit."""
_IN_HANGUL = dict(zip("0123456789", "공일이삼사오육칠팔구", strict=True))
_IN_HAN = dict(zip("0123456789", "〇一二三四五六七八九", strict=True))
_TO_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


def written_like(written: str, value: str, made: str) -> str:
    """Return a pseudonym in the writing of the original.

    Args:
        written: the original as it stands in the text; only the end of the value where that is shortened (~5679).
    """
    if written == value:
        return made
    if _SIGN.sub("0", made) == _SIGN.sub("0", value):
        old, new = _SIGN.findall(value), _SIGN.findall(made)
        places = _places(written, old)
        if places:
            characters = list(written)
            for place, before, after in zip(places, old[-len(places) :], new[-len(places) :], strict=True):
                if before != after:
                    characters[place] = _like(characters[place], after)
            return "".join(characters)
    wide = any("０" <= sign <= "ｚ" for sign in written) and not re.search("[0-9A-Za-z]", written)
    return made.translate(_TO_FULL_WIDTH) if wide else made


def _places(written: str, signs: list[str]) -> list[int] | None:
    """Return where the last of the signs stand in `written`, which holds no other digit; None where they do not."""
    places: list[int] = []
    left = list(signs)
    for place in reversed(range(len(written))):
        sign = plain_sign(written[place])
        readings = {sign.lower(), HANGUL_DIGITS.get(sign), LOOKALIKES.get(sign)}
        if left and left[-1].lower() in readings:
            places.append(place)
            left.pop()
        elif sign in "0123456789":
            return None
    return places[::-1]


def _like(sign: str, plain: str) -> str:
    if sign in HANGUL_DIGITS and plain in _IN_HANGUL:
        return (_IN_HANGUL if sign >= "가" else _IN_HAN)[plain]
    if "！" <= sign <= "～":
        return plain.translate(_TO_FULL_WIDTH)
    if plain in _IN_HANGUL:
        for family in DIGIT_FAMILIES:
            if sign in family:
                return family[int(plain)]
    return plain
