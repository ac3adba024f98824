"""Embedded search against the slow definition: the lowest sentence whose words stand in a row, and no other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.decontaminate.embedded import HEAD, MIN_WORDS, build_embedded_index, search_embedded
from data.decontaminate.terms import fold_sentences, hash_words

WORDS = st.lists(st.sampled_from(list("가나다")), max_size=8).map(" ".join)


def search(benchmark: list[str], queries: list[str], shortest: int = 1) -> list[int]:
    index = build_embedded_index(fold_sentences(benchmark), np.full(len(benchmark), shortest))
    return search_embedded(index, hash_words(fold_sentences(queries))).tolist()


@settings(max_examples=300)
@given(st.lists(WORDS, max_size=8), st.lists(WORDS, max_size=8), st.integers(1, 4))
def test_decisions_equal_the_definition(benchmark: list[str], queries: list[str], shortest: int) -> None:
    def slow(query: str) -> int:
        for number, text in enumerate(benchmark):
            words = text.split()
            if len(words) >= MIN_WORDS and len(words) >= shortest and f" {text} " in f" {query} ":
                return number
        return -1

    assert search(benchmark, queries, shortest) == [slow(query) for query in queries]


@pytest.mark.parametrize("words", [MIN_WORDS, HEAD, HEAD + 1, 12])
def test_any_length_whole_words_only(words: int) -> None:
    text = " ".join(f"낱말{i}" for i in range(words))
    assert search([text], [f"앞 {text}, 뒤", text, f"앞{text} 뒤", f"앞 {text}들", text.rsplit(" ", 1)[0]]) == [
        0,
        0,
        -1,
        -1,
        -1,
    ]
