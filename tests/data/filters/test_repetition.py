"""Repetition: truth counted by hand, and the same shares by a slow count of strings."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.filters import repetition

from .filtering import scores

TOPS, REPEATS = (1, 2, 3), (2, 3, 5)


@pytest.fixture(scope="module", autouse=True)
def short_texts_and_runs():
    """Judge texts of two words and more, by runs as short as tests can count."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repetition, "MAX_TOP_NGRAMS", dict.fromkeys(TOPS, 0.5))
        patch.setattr(repetition, "MAX_DUPLICATE_NGRAMS", dict.fromkeys(REPEATS, 0.5))
        patch.setattr(repetition, "MIN_WORDS", 2)
        yield


def slow_top(words: list[str], n: int) -> int:
    """Return the most characters that any n-gram, said twice or more without overlap, takes."""
    best = 0
    for start in range(len(words) - n + 1):
        gram, place, count = words[start : start + n], 0, 0
        while place <= len(words) - n:
            if words[place : place + n] == gram:
                count, place = count + 1, place + n
            else:
                place += 1
        if count > 1:
            best = max(best, count * len("".join(gram)))
    return best


def slow_repeated(words: list[str], n: int) -> int:
    """Return the characters in n-grams that stood before, from left to right, none counted twice."""
    seen, place, repeated = set(), 0, 0
    while place <= len(words) - n:
        gram = tuple(words[place : place + n])
        if gram in seen:
            repeated, place = repeated + len("".join(gram)), place + n
        else:
            seen.add(gram)
            place += 1
    return repeated


def slow_runs(text: str) -> tuple[int, int]:
    solid = [place for place, character in enumerate(text) if not character.isspace()]
    return sum(place >= 2 and text[place - 2] == text[place - 1] == text[place] for place in solid), len(solid)


@settings(max_examples=200)
@given(st.lists(st.lists(st.sampled_from(["가", "나다", "라마바", "ㅋㅋㅋㅋ", "\n"]), max_size=40), max_size=4))
def test_the_fast_shares_are_the_slow_ones(documents):
    texts = [" ".join(words) for words in documents]
    measures = scores({"repetition": {}}, texts)
    for number, text in enumerate(texts):
        words = text.split()
        whole = max(sum(map(len, words)), 1)
        enough = len(words) >= 2
        for n in TOPS:
            assert measures[f"top_{n}_gram"][number] == pytest.approx(enough * slow_top(words, n) / whole)
        for n in REPEATS:
            assert measures[f"duplicate_{n}_gram"][number] == pytest.approx(enough * slow_repeated(words, n) / whole)
        repeated, solid = slow_runs(text)
        assert measures["character_runs"][number] == pytest.approx(repeated / max(solid, 1))
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        again = [line for place, line in enumerate(lines) if line in lines[:place]]
        assert measures["duplicate_lines"][number] == pytest.approx(len(again) / max(len(lines), 1))
        characters = max(sum(map(len, lines)), 1)
        assert measures["duplicate_line_characters"][number] == pytest.approx(sum(map(len, again)) / characters)


def test_short_texts_are_not_judged_by_runs_of_words(monkeypatch):
    text = "정말 좋아요 정말 좋아요"
    for least, share in ((5, 0), (4, 1)):
        monkeypatch.setattr(repetition, "MIN_WORDS", least)
        assert scores({"repetition": {}}, [text])["top_2_gram"] == [share]
