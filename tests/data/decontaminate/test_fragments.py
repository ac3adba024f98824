"""Fragment search against the slow definition: the longest shared run, for any text and setting."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.decontaminate.criteria import Criteria
from data.decontaminate.fragments import SEED, STRIDE, build_fragment_index, search_fragments
from data.decontaminate.terms import fold_sentences
from tests.data.decontaminate.oracle import fragment_share

PASSAGE = "".join(map(chr, random.Random(7).sample(range(0xAC00, 0xD7A4), 200)))


def search(  # type: ignore[no-untyped-def]
    texts: list[str], queries: list[str], threshold: float = 0.8, shortest: int = 20, syllables: int = 8
):
    index = build_fragment_index(fold_sentences(texts), threshold, shortest, syllables)
    text = fold_sentences(queries)
    return search_fragments(index, text.letters_L, text.first_letter_N)


@settings(max_examples=150)
@given(
    st.lists(st.text("가나a", max_size=90), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 90), st.text("가나a", max_size=15)), max_size=6),
    st.sampled_from([0.4, 0.8, 1.0]),
    st.integers(19, 24),
    st.integers(0, 8),
)
def test_decisions_equal_the_definition(
    texts: list[str], cuts: list[tuple[int, int, str]], threshold: float, shortest: int, syllables: int
) -> None:
    queries = [texts[i % len(texts)][a : a + b] + more for i, (a, b, more) in enumerate(cuts)]
    criteria = Criteria(
        fragment_threshold=threshold, fragment_min_characters=shortest, fragment_min_syllables=syllables
    )
    best, score = search(texts, queries, threshold, shortest, syllables)
    for n, query in enumerate(queries):
        shares = [fragment_share(query, text, criteria) for text in texts]
        top = max(shares)
        assert score[n] == top
        assert best[n] == (shares.index(top) if top > 0 else -1)


@pytest.mark.parametrize("length", [20, 31, 32, 33, 100])
def test_a_piece_is_found_wherever_it_starts(length: int) -> None:
    starts = range(200 - length)
    best, score = search(["가" * 50, PASSAGE], [PASSAGE[a : a + length] for a in starts])
    assert set(best.tolist()) == {1}
    assert set(score.tolist()) == {1.0}


@pytest.mark.parametrize(
    "common",
    ["ㅋ" * 40, "하하" * 20, "ㅋㅋㅎㅎ" * 10, "0" * 36, "Red Hat Enterprise Linux 7.3", "Microsoft Visual Studio"],
)
def test_repeated_letters_and_names_say_nothing_of_the_origin(common: str) -> None:
    text = f"어제 산 책을 {common} 오늘 다 읽었다"
    assert search([text], [common, f"{common} 또"])[0].tolist() == [-1, -1]
    assert search([text], [common], syllables=0)[0].tolist() == [0]
    within = f"영화를 보며 웃다가 울다가 {common} 정말 오랜만에 즐거웠습니다"
    assert search([f"{within} 다음에 또 봅시다"], [within])[0].tolist() == [0]


def test_the_floor_is_what_the_index_can_promise() -> None:
    assert Criteria().fragment_min_characters >= SEED + STRIDE - 1
