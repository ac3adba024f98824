"""Containment search against the slow definition: same sentence, same score, for any text and setting."""

import random
import time

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from data.decontaminate.containment import build_containment_index, search_containment, window_lengths
from data.decontaminate.terms import fold_sentences, hash_words
from tests.data.decontaminate.oracle import contained_share, weigh_sentences

WORDS = st.lists(st.sampled_from(list("가나다라마바사아자차")), max_size=12).map(" ".join)


def search(benchmark: list[str], queries: list[str], threshold: float, floor: int = 1, spread: float = 1.5):  # type: ignore[no-untyped-def]
    every = np.ones(len(benchmark), bool)
    index = build_containment_index(hash_words(fold_sentences(benchmark)), every, threshold, floor, spread)
    return search_containment(index, *hash_words(fold_sentences(queries)))


Found = list[tuple[int, float]]


def found_and_defined(
    benchmark: list[str], queries: list[str], threshold: float, floor: int, spread: float
) -> tuple[Found, Found]:
    """Return (benchmark sentence, score) of each query, by the index and by the definition."""
    weights = weigh_sentences([text.split() for text in benchmark])
    windows = window_lengths(np.array([len(text.split()) for text in benchmark], np.int32), spread)
    defined: Found = []
    for query in queries:
        shares = [
            contained_share(query.split(), w, threshold, int(windows[d])) if len(w) >= floor else 0.0
            for d, w in enumerate(weights)
        ]
        top = max(shares, default=0.0)
        defined.append((shares.index(top) if top > 0 else -1, top))
    best, score = search(benchmark, queries, threshold, floor, spread)
    return list(zip(best.tolist(), score.tolist(), strict=True)), defined


@settings(deadline=None, max_examples=300)
@given(
    st.lists(WORDS, max_size=10),
    st.lists(WORDS, max_size=10),
    st.sampled_from([0.3, 0.5, 0.7, 0.8, 0.9, 1.0]),
    st.integers(1, 4),
    st.sampled_from([1.0, 1.5, 3.0]),
)
def test_decisions_equal_the_definition(
    benchmark: list[str], queries: list[str], threshold: float, floor: int, spread: float
) -> None:
    found, defined = found_and_defined(benchmark, queries, threshold, floor, spread)
    assert found == defined


LONG = st.lists(st.sampled_from(["가", "나", "다", "라", "마", "바", "사"]), min_size=20, max_size=80).map(" ".join)


@settings(deadline=None, max_examples=200)
@given(
    st.lists(WORDS, min_size=1, max_size=6),
    st.lists(LONG, min_size=1, max_size=3),
    st.sampled_from([0.5, 0.8, 1.0]),
    st.sampled_from([1.0, 1.5]),
)
def test_long_sentences_equal_the_definition(
    benchmark: list[str], queries: list[str], threshold: float, spread: float
) -> None:
    found, defined = found_and_defined(benchmark, queries, threshold, 1, spread)
    assert found == defined


def test_a_long_line_takes_about_as_long_as_its_words_in_short_ones() -> None:
    """It holds some words of every benchmark sentence; each once cost a pass over the line: 14 s for 220 KB."""
    draw = random.Random(1)
    words = [f"낱말{n}" for n in range(3000)]
    benchmark = [" ".join(draw.choices(words, k=6)) for _ in range(20_000)]
    every = np.ones(len(benchmark), bool)
    index = build_containment_index(hash_words(fold_sentences(benchmark)), every, 0.8, 1, 1.5)
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


def test_words_far_apart_do_not_add_up() -> None:
    benchmark = ["봄 여름 가을 겨울", "다른 문장 또 하나"]
    near = "그래서 봄 여름 또는 가을 겨울 언제나"
    far = "봄 " + "그리고 " * 5 + "여름 " + "그래서 " * 5 + "가을 겨울"
    assert search(benchmark, [near, far], 0.8)[0].tolist() == [0, -1]
    assert search(benchmark, [near, far], 0.8, spread=10)[0].tolist() == [0, 0]


def test_windows_round_up() -> None:
    assert window_lengths(np.array([0, 1, 4, 5], np.int32), 1.5).tolist() == [0, 2, 6, 8]


def test_nothing_indexed() -> None:
    assert search([], ["가 나"], 0.8)[0].tolist() == [-1]
    assert search(["", "가"], ["가 나", ""], 0.8, floor=4)[0].tolist() == [-1, -1]
    assert len(search(["가"], [], 0.8)[0]) == 0


def test_sentences_that_are_not_eligible_are_not_found_but_count() -> None:
    terms = hash_words(fold_sentences(["가 나 다", "가 나 다 라"]))
    index = build_containment_index(terms, np.array([False, True]), 0.8, 1, 1.5)
    assert index.total_D[0] > 0
    best, _ = search_containment(index, *hash_words(fold_sentences(["가 나 다", "가 나 다 라"])))
    assert best.tolist() == [-1, 1]
