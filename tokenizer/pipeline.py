"""The steps before WordPiece: NFC, BERT cleaning, splitting at whitespace, punctuation and Hanja.

The same objects train, are saved in the tokenizer, and encode, so a word is the same thing in all three places.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from tokenizers import normalizers, pre_tokenizers

CONTINUATION = "##"
"""Prefix of a piece that continues a word. No word holds it: "#" is punctuation, so it always stands alone."""
MAX_WORD_CHARACTERS = 100
"""A word with more characters is one [UNK] (BERT's rule)."""
MOST_EXPANDED = 3
"""Characters that NFC makes of one, at most."""

_SPACES = "\t\n\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_SPACE_RUN = re.compile(f"[{_SPACES}]+")
_PLAIN = re.compile("[가-힣!-~]+")
"""Hangul syllables and printable ASCII, which the normalizer leaves as they are."""
_PLAIN_WORD = re.compile("[가-힣A-Za-z0-9]+|[!-~]")


def normalizer() -> normalizers.Normalizer:
    """Return NFC followed by BERT's cleaning: control characters out, whitespace to blanks, Hanja set apart, cased."""
    bert = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=False, lowercase=False)
    return normalizers.Sequence([normalizers.NFC(), bert])


def pre_tokenizer() -> pre_tokenizers.PreTokenizer:
    """Return BERT's pre-tokenizer: words are what stands between whitespace; each punctuation mark is a word."""
    return pre_tokenizers.BertPreTokenizer()


def split_eojeols(text: str) -> list[str]:
    """Return the whitespace words of raw text, exactly at the characters that BERT's cleaning takes for whitespace.

    Python's own split() also cuts at control characters (vertical tab, file separator, next line ...), which the
    cleaning deletes instead, joining their neighbours; text with any unprintable character takes the exact way.

    >>> split_eojeols("인공지능  분야의")
    ['인공지능', '분야의']
    """
    if text.removesuffix("\n").isprintable():
        return text.split()
    return [eojeol for eojeol in _SPACE_RUN.split(text) if eojeol]


@cache
def _stages() -> tuple[normalizers.Normalizer, pre_tokenizers.PreTokenizer]:
    return normalizer(), pre_tokenizer()


def split_words(eojeol: str) -> list[str]:
    """Return the words that WordPiece sees of one raw whitespace word, normalised.

    >>> split_words("(연구자이다.")
    ['(', '연구자이다', '.']
    """
    if _PLAIN.fullmatch(eojeol):
        return _PLAIN_WORD.findall(eojeol)
    normalize, pre_tokenize = _stages()
    return [word for word, _ in pre_tokenize.pre_tokenize_str(normalize.normalize_str(eojeol))]


def keeps_plain_words(normalizer: dict[str, Any] | None) -> bool:
    """Return whether a normalizer leaves words of Hangul syllables, ASCII letters and digits as they are."""
    if normalizer is None or normalizer["type"] in ("NFC", "NFKC"):
        return True
    if normalizer["type"] == "Sequence":
        return all(map(keeps_plain_words, normalizer["normalizers"]))
    return normalizer["type"] == "BertNormalizer" and not (normalizer["lowercase"] or normalizer["strip_accents"])


def split_known_words(eojeol: str) -> list[str]:
    """Return the words of `split_words` but those that are too long to be anything but one [UNK]."""
    words = split_words(eojeol)
    if len(eojeol) * MOST_EXPANDED <= MAX_WORD_CHARACTERS:
        return words
    return [word for word in words if len(word) <= MAX_WORD_CHARACTERS]


def split_spaces(eojeol: str) -> list[str]:
    """Return one raw whitespace word, normalised; more than one where that sets Hanja apart.

    >>> split_spaces("(연구자이다.")
    ['(연구자이다.']
    """
    return _stages()[0].normalize_str(eojeol).split()
