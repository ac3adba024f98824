"""Exact match: the first sentence with the same letters, if it is long enough."""

import numpy as np

from data.decontaminate.matcher import build_exact_index, search_exact
from data.decontaminate.terms import fold_sentences, hash_sentences

BENCHMARK = ["긴 문장 하나", "네", "긴문장 하나!", "..."]


def search(queries: list[str], shortest: list[int]) -> list[int]:
    index = build_exact_index(fold_sentences(BENCHMARK), np.array(shortest, np.int32))
    return search_exact(index, hash_sentences(fold_sentences(queries))).tolist()


def test_blanks_and_punctuation_do_not_count() -> None:
    assert search(["긴문장하나", "긴 문장", "네.", "", "?"], [1, 1, 1, 1]) == [0, -1, 1, -1, -1]


def test_each_sentence_has_its_own_floor() -> None:
    assert search(["긴 문장하나", "네"], [6, 2, 5, 1]) == [2, -1]


def test_an_empty_benchmark_matches_nothing() -> None:
    index = build_exact_index(fold_sentences([]), np.empty(0, np.int32))
    assert search_exact(index, hash_sentences(fold_sentences(["가", ""]))).tolist() == [-1, -1]
