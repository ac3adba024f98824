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
    seen, place, found = set(), 0, 0
    while place <= len(words) - n:
        gram = tuple(words[place : place + n])
        if gram in seen:
            found, place = found + len("".join(gram)), place + n
        else:
            seen.add(gram)
            place += 1
    return found


def slow_runs(text: str) -> tuple[int, int]:
    solid = [place for place, one in enumerate(text) if not one.isspace()]
    return sum(place >= 2 and text[place - 2] == text[place - 1] == text[place] for place in solid), len(solid)


@settings(max_examples=200)
@given(st.lists(st.lists(st.sampled_from(["가", "나다", "라마바", "ㅋㅋㅋㅋ", "\n"]), max_size=40), max_size=4))
def test_the_fast_shares_are_the_slow_ones(documents):
    texts = [" ".join(words) for words in documents]
    found = scores({"repetition": {}}, texts)
    for number, text in enumerate(texts):
        words = text.split()
        whole = max(sum(map(len, words)), 1)
        enough = len(words) >= 2
        for n in TOPS:
            assert found[f"top_{n}_gram"][number] == pytest.approx(enough * slow_top(words, n) / whole)
        for n in REPEATS:
            assert found[f"duplicate_{n}_gram"][number] == pytest.approx(enough * slow_repeated(words, n) / whole)
        repeated, solid = slow_runs(text)
        assert found["character_runs"][number] == pytest.approx(repeated / max(solid, 1))
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        again = [line for place, line in enumerate(lines) if line in lines[:place]]
        assert found["duplicate_lines"][number] == pytest.approx(len(again) / max(len(lines), 1))
        characters = max(sum(map(len, lines)), 1)
        assert found["duplicate_line_characters"][number] == pytest.approx(sum(map(len, again)) / characters)


def test_counted_by_hand():
    """Ten words of two letters; "가가 나나" stands three times, "가가 나나 다다" twice."""
    text = "가가 나나 다다 라라 가가 나나 다다 마마 가가 나나"
    found = scores({"repetition": {}}, [text])
    assert found["top_1_gram"] == [0.3] and found["top_2_gram"] == [0.6] and found["top_3_gram"] == [0.6]
    assert found["duplicate_2_gram"] == [0.4]  # 가가 나나 at the fifth and at the ninth word
    assert found["duplicate_3_gram"] == [0.3] and found["duplicate_5_gram"] == [0]


def test_short_texts_are_not_judged_by_runs_of_words(monkeypatch):
    text = "정말 좋아요 정말 좋아요"
    for least, share in ((5, 0), (4, 1)):
        monkeypatch.setattr(repetition, "MIN_WORDS", least)
        assert scores({"repetition": {}}, [text])["top_2_gram"] == [share]


def test_a_document_is_judged_by_itself():
    text = "가 나 다 라 마"
    alone, together = (scores({"repetition": {}}, texts) for texts in ([text], [text, text, text]))
    assert {name: values * 3 for name, values in alone.items()} == together


def test_lines_by_hand():
    found = scores({"repetition": {}}, ["제목\n 본문이다 \n제목\n\n본문이다", "제목\n본문", ""])
    assert found["duplicate_lines"] == [0.5, 0, 0] and found["duplicate_line_characters"] == [0.5, 0, 0]
