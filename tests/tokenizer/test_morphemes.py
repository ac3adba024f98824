"""Morphemes are surfaces that give back the word."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from tokenizer.morphemes import count_pieces, mark, morpheme_spans, morphemes


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=20))
def test_surfaces_give_back_any_word(word: str) -> None:
    assert "".join(morphemes(word)) == word


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="가나다은는을를이했갔습니다😀 a1.", max_size=40))
def test_spans_are_sorted_and_cover_all_but_blanks(text: str) -> None:
    spans = morpheme_spans(text)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    assert "".join(text[start:end] for start, end in spans) == text.replace(" ", "")


def test_contractions_stay_whole_and_josa_come_off() -> None:
    assert morphemes("갔다") == ["갔", "다"]
    assert morphemes("했습니다") == ["했", "습니다"]
    assert morphemes("연구자이다") == ["연구자", "이", "다"]
    assert morphemes("인공지능에서") == ["인공지능", "에서"]


def test_marks_and_counts() -> None:
    assert mark(["연구자", "이", "다"]) == ["연구자", "##이", "##다"]
    assert count_pieces([("연구자이다", 3), ("학교이다", 2), (".", 4)]) == {
        "연구자": 3, "##이": 5, "##다": 5, "학교": 2, ".": 4,
    }  # fmt: skip
