"""Table 30: the paper's sentence."""

import unicodedata
from pathlib import Path

from tokenizer.show import EXAMPLE, show


def test_the_papers_sentence(tokenizer_folder: Path) -> None:
    morphemes, ours = show([tokenizer_folder])
    assert morphemes["line"] == "조경현 은 / 인공지능 / 분야 의 / 저명 한 / 연구자 이 다 ."
    assert ours["tokenizer"] == str(tokenizer_folder)
    assert ours["words"][1:3] == [["인공지능"], ["분야", "##의"]]


def test_decomposed_text_is_shown_the_same(tokenizer_folder: Path) -> None:
    assert show([tokenizer_folder], unicodedata.normalize("NFD", EXAMPLE)) == show([tokenizer_folder], EXAMPLE)


def test_an_empty_sentence_has_no_words(tokenizer_folder: Path) -> None:
    assert [row["words"] for row in show([tokenizer_folder], " ")] == [[], []]
