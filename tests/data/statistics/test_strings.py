"""Counting on bytes: the same as Python counts on strings."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from data.statistics.counts import count_strings, count_words

BLANKS = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"
NO_BLANKS = "a가ㅋ\u200b\u200c\u3001\u1681\u2060\xa1\ufeff\U0001f600"


@given(st.lists(st.text(BLANKS + NO_BLANKS, max_size=30), max_size=8), st.integers(0, 8))
def test_strings_are_counted_as_python_counts_them(texts, skip):
    values = pa.array(texts, pa.string())[skip:]
    characters, words, size = count_strings(values)
    assert characters.tolist() == [len(text) for text in texts[skip:]]
    assert words.tolist() == [len(text.split()) for text in texts[skip:]]
    assert size.tolist() == [len(text.encode()) for text in texts[skip:]]


def test_every_character_is_a_blank_or_not_as_in_python():
    characters = [chr(code) for code in range(0x10000) if not 0xD800 <= code < 0xE000]
    _, words, _ = count_strings(pa.array([f"a{character}b" for character in characters]))
    assert np.array_equal(words, [len(f"a{character}b".split()) for character in characters])


def test_count_words_takes_lone_surrogates():
    assert count_words("가\ud800 나".encode("utf-8", "surrogatepass")) == 2
    assert count_words(b"") == 0
