"""Units are cut as BERT's pre-tokenizer cuts plain text, rows name them for good, whatever the table's size."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenizer.pipeline import split_words
from tokenizer.table import END_ROW, UnitTable


def look_up(table: UnitTable, sentences: list[str]) -> np.ndarray:
    encoded = [sentence.encode() for sentence in sentences]
    data = np.frombuffer(b"".join(encoded), np.uint8)
    offsets = np.concatenate(([0], np.cumsum([len(item) for item in encoded]))).astype(np.int64)
    rows_W, sentence_units, end_units = table.look_up(data, offsets, np.array([0, len(sentences)]))
    assert len(sentence_units) == len(sentences)
    assert end_units.tolist() == [len(rows_W) - 1]
    assert rows_W[-1] == END_ROW
    return rows_W[:-1]


def units_of(table: UnitTable) -> tuple[list[str], list[bool]]:
    text_B, ends, plain_R = table.units(1)
    return [text_B[a:b].tobytes().decode() for a, b in pairwise(ends.tolist())], plain_R.tolist()


def texts(table: UnitTable, rows_W: np.ndarray) -> list[str]:
    units = ["", *units_of(table)[0]]
    return [units[row] for row in rows_W]


@settings(max_examples=200)
@given(st.text(alphabet=st.one_of(st.sampled_from(" \n가힣나각.#[]_aZ09~"), st.characters(codec="utf-8")), max_size=60))
def test_units_are_plain_words_or_whole_eojeol(text: str) -> None:
    expected = []
    for eojeol in text.replace("\n", " ").replace("\t", " ").replace("\r", " ").split(" "):
        plain = all("!" <= character <= "~" or "가" <= character <= "힣" for character in eojeol)
        expected += split_words(eojeol) if plain else [eojeol]
    table = UnitTable()
    units = texts(table, look_up(table, [text]))
    assert units == expected
    flags = dict(zip(*units_of(table), strict=True))
    for unit in units:
        whole = all("!" <= character <= "~" or "가" <= character <= "힣" for character in unit)
        assert flags[unit] == (whole and split_words(unit) == [unit])


@pytest.mark.parametrize("parts", [1, 7], ids=["within a batch", "between batches"])
def test_rows_stay_when_the_table_grows(parts: int) -> None:
    table = UnitTable()
    words = [f"낱말{number}가나다라마바사" * (1 + number % 3) for number in range(120_000)]
    words += [str(number) for number in range(120_000)]
    first = np.concatenate([look_up(table, [" ".join(words[part::parts])]) for part in range(parts)])
    words = [word for part in range(parts) for word in words[part::parts]]
    assert len(np.unique(first)) == len(words) == len(table) - 1
    assert first.tolist() == list(range(1, len(words) + 1))
    assert np.array_equal(look_up(table, words), first)
    assert units_of(table)[0] == words


def test_units_with_a_common_beginning_or_length_are_told_apart() -> None:
    table = UnitTable()
    words = ["a" * length for length in range(1, 40)] + ["b" + "a" * length for length in range(12, 40)]
    words += ["\x00" * length for length in range(1, 20)]
    rows = look_up(table, [" ".join(words)])
    assert len(set(rows.tolist())) == len(words)
    assert texts(table, rows) == words


def test_without_cutting_every_eojeol_is_one_unit() -> None:
    table = UnitTable(cut_plain=False)
    assert texts(table, look_up(table, ["C++은 (GPU).", "끝."])) == ["C++은", "(GPU).", "끝."]
