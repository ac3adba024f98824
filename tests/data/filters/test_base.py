"""The arrays that filters share, against Python's own `split` and `splitlines`."""

import sys
import unicodedata

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from data.filters.base import BLANK, CLASSES, DIGIT, HANGUL, LAST, LETTER

from .filtering import batch_of

TEXTS = st.lists(st.text(st.sampled_from("가나다 a1\n\t\u3000\u00a0.😀ㅋ"), max_size=40), max_size=5)


@given(TEXTS)
def test_words_are_as_split_cuts(texts):
    words = batch_of(texts).words
    expected = [text.split() for text in texts]
    assert np.diff(words.borders).tolist() == [len(words_of_text) for words_of_text in expected]
    flat = [word for words_of_text in expected for word in words_of_text]
    assert words.characters.tolist() == [len(word) for word in flat]
    numbers = dict(zip(flat, words.hashes.tolist(), strict=True))
    assert [numbers[word] for word in flat] == words.hashes.tolist() and len(set(numbers.values())) == len(numbers)


@given(TEXTS)
def test_lines_are_stripped_and_none_is_blank(texts):
    batch = batch_of(texts)
    lines = batch.lines
    whole = "".join(texts)
    stripped = [whole[start:stop] for start, stop in zip(lines.starts, lines.stops, strict=True)]
    expected = [[line.strip() for line in text.split("\n") if line.strip()] for text in texts]
    assert stripped == [line for lines_of_text in expected for line in lines_of_text]
    assert np.diff(lines.borders).tolist() == [len(lines_of_text) for lines_of_text in expected]


def test_a_mask_takes_documents_with_their_texts():
    batch = batch_of(["하나", "둘", "셋"]).take(np.array([True, False, True]))
    assert batch.texts == ["하나", "셋"] and [document.id for document in batch.documents] == ["d0", "d2"]


def test_characters_have_the_classes_that_unicode_gives_them():
    for text, kind in (("가ㅋ하ꥠퟀ", HANGUL | LETTER), ("aé漢あ", LETTER), ("0７²", DIGIT), (" \n\u3000\u00a0", BLANK)):
        assert [CLASSES[ord(character)] & (HANGUL | LETTER | DIGIT | BLANK) for character in text] == [kind] * len(text)
    assert not any(CLASSES[ord(character)] & (LETTER | BLANK | DIGIT) for character in "!…、。😀")
    assert not any(chr(code).isalpha() or chr(code).isspace() for code in range(LAST, sys.maxunicode + 1))
    assert {unicodedata.name(chr(c), "HANGUL").split()[0] for c in np.flatnonzero(CLASSES & HANGUL)} <= {
        "HANGUL",
        "HALFWIDTH",
    }
