"""Containment search against the slow definition: same sentence, same score, for any text and setting."""

import random
import time
from math import ceil

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from data.decontaminate.containment import build_containment_index, search_containment
from data.decontaminate.terms import fold_sentences, hash_words
from tests.data.decontaminate.oracle import contained_share, weigh_sentences

WORDS = st.lists(st.sampled_from(list("가나다라마바사아자차")), max_size=12).map(" ".join)
LONG = st.lists(st.sampled_from(list("가나다라마바사")), min_size=20, max_size=80).map(" ".join)


@settings(max_examples=400)
@given(
    st.lists(WORDS, max_size=10),
    st.lists(WORDS, max_size=10) | st.lists(LONG, min_size=1, max_size=3),
    st.sampled_from([0.3, 0.5, 0.7, 0.8, 0.9, 1.0]),
    st.integers(1, 4),
    st.sampled_from([1.0, 1.5, 3.0]),
)
def test_decisions_equal_the_definition(
    benchmark: list[str], queries: list[str], threshold: float, floor: int, spread: float
) -> None:
    """The best benchmark sentence and its score are those of the slow sum over each window."""
    every = np.ones(len(benchmark), bool)
    index = build_containment_index(hash_words(fold_sentences(benchmark)), every, ~every, threshold, floor, spread)
    best, score = search_containment(index, *hash_words(fold_sentences(queries)))
    weights = weigh_sentences([text.split() for text in benchmark])
    windows = [ceil(spread * len(text.split())) for text in benchmark]
    for query, entry, share in zip(queries, best.tolist(), score.tolist(), strict=True):
        shares = [
            contained_share(query.split(), w, threshold, window) if len(w) >= floor else 0.0
            for w, window in zip(weights, windows, strict=True)
        ]
        top = max(shares, default=0.0)
        assert (entry, share) == (shares.index(top) if top > 0 else -1, top)


def test_a_long_line_takes_about_as_long_as_its_words_in_short_ones() -> None:
    """It holds some words of every benchmark sentence; each once cost a pass over the line: 14 s for 220 KB."""
    draw = random.Random(1)
    words = [f"낱말{n}" for n in range(3000)]
    benchmark = [" ".join(draw.choices(words, k=6)) for _ in range(20_000)]
    every = np.ones(len(benchmark), bool)
    index = build_containment_index(hash_words(fold_sentences(benchmark)), every, ~every, 0.8, 1, 1.5)
    line = draw.choices(words, k=60_000)
    seconds = []
    for length in (12, len(line)):
        lines = [" ".join(line[start : start + length]) for start in range(0, len(line), length)]
        terms = hash_words(fold_sentences(lines))
        search_containment(index, *terms)
        began = time.process_time()
        search_containment(index, *terms)
        seconds.append(time.process_time() - began)
    assert seconds[1] < 10 * seconds[0] + 0.1


def test_sentences_that_are_not_eligible_are_not_found_but_count() -> None:
    terms = hash_words(fold_sentences(["가 나 다", "가 나 다 라"]))
    index = build_containment_index(terms, np.array([False, True]), np.zeros(2, bool), 0.8, 1, 1.5)
    assert index.total_D[0] > 0
    best, _ = search_containment(index, *hash_words(fold_sentences(["가 나 다", "가 나 다 라"])))
    assert best.tolist() == [-1, 1]
