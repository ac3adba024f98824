"""What counts as the same text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.decontaminate.normalise import BLANK, LEFT_OUT, exact_key, fold_character, fold_table, folded_words, text_key


def test_words_lose_punctuation_and_case() -> None:
    assert folded_words("'K팝스타3’\t유희열이…  눈물을 흘렸다. ?!") == ["k팝스타3", "유희열이", "눈물을", "흘렸다"]


def test_the_exact_key_ignores_blanks_punctuation_case_and_composition() -> None:
    text = "서울, Seoul은 크다!"
    for same in (
        "서울 seoul은크다",
        "「서울」SEOUL은\n크다…",
        unicodedata.normalize("NFD", text),
        "서\u200b울SeoulÌ은".replace("Ì", "") + "크다",
    ):
        assert exact_key(same) == exact_key(text)
    assert exact_key("서울 Seoul은 작다!") != exact_key(text)
    assert exact_key("… ?!") == ""


def test_texts_that_are_one() -> None:
    """For blanks, width, composition, case and marks; marks alone are compared as they are."""
    text = "Ｓｅｏｕｌ ２０"
    assert {text_key(same) for same in (text, "seoul 20.", "Seoul  20", "「SEOUL２０」", "\u3000seoul20")} == {
        "seoul20"
    }
    assert text_key("ﾊﾅ") == text_key("ハナ") and text_key(unicodedata.normalize("NFD", "서울")) == text_key("서울")
    assert len({text_key(mark) for mark in ("?!", "? !", "…", "!", "")}) == 4


@pytest.mark.parametrize("code", [0x20, 0x0A, 0x3000, 0xA0])
def test_blanks(code: int) -> None:
    assert fold_character(code) == BLANK


@pytest.mark.parametrize("code", [0, 0x200B, 0xFEFF, 0xFE0F, 0xD800, 0x1F600, 0x10FFFF, ord("."), ord("「"), ord("₩")])
def test_left_out(code: int) -> None:
    assert fold_character(code) == LEFT_OUT


@given(st.integers(0, 0x10FFFF))
def test_a_letter_fits_16_bits_and_the_table_agrees(code: int) -> None:
    letter = fold_character(code)
    assert 0 <= letter < 0x10000
    if code < 0x10000:
        assert fold_table()[code] == letter
    if 0xAC00 <= code <= 0xD7A3:
        assert letter == code
