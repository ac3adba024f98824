"""Batches: nothing twice, no second positive among the negatives, the same ones for the same seed."""

from __future__ import annotations

import unicodedata
from collections import Counter
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import UserError
from embed.batches import draw_batches, epoch_batches
from embed.data import TrainingSet
from embed.settings import EmbedDataSettings

ROWS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 40), st.integers(0, 60)), min_size=12, max_size=80, unique=True
)


def ranked(rows: Any, name: str = "r", weight: float = 1.0) -> TrainingSet:
    texts = [(f"q{q}", f"d{p}", f"d{n}") for q, p, n in rows if p != n]
    return TrainingSet(name, EmbedDataSettings(path="x", weight=weight), "", "ranking", texts)


@given(ROWS, ROWS, st.integers(2, 6), st.integers(0, 3))
@settings(max_examples=60)
def test_no_duplicate_and_no_second_positive(first: Any, second: Any, size: int, seed: int) -> None:
    sets = [ranked(first, "a"), ranked(second, "b", 0.5)]
    known = {(row[0], row[1]) for one in sets for row in one.texts}
    try:
        for number, rows in draw_batches(sets, size, 25, seed):
            batch = [sets[number].texts[row] for row in rows]
            assert len(batch) == size
            texts = [text for row in batch for text in row]
            assert len(set(texts)) == len(texts)
            for row in batch:
                negatives = {text for other in batch if other is not row for text in other[1:]}
                assert not any((row[0], text) in known for text in negatives)
    except UserError as error:
        assert "rows go into a batch" in str(error)


SPELLINGS = ("보기 {}", "보기{}.", " 보기  {}", "보기 {} ", unicodedata.normalize("NFD", "보기 {}"), "보기　{}！")
"""One text for blanks, composition, width and a final dot."""


@given(st.lists(st.tuples(*[st.integers(0, 5), st.integers(0, 9)] * 2), min_size=12, max_size=40), st.integers(0, 3))
@settings(max_examples=60)
def test_a_text_in_another_spelling_is_the_same(rows: Any, seed: int) -> None:
    """Queries 10 to 19 and documents 20 to 29, each drawn in one of its spellings."""
    texts = [(SPELLINGS[a].format(q + 10), SPELLINGS[b].format(p + 20)) for a, q, b, p in rows]
    known = {(q + 10, p + 20) for _, q, _, p in rows}
    one = TrainingSet("a", EmbedDataSettings(path="x"), "", "ranking", texts)
    try:
        for _, batch in draw_batches([one], 3, 10, seed):
            queries, documents = ([rows[n][1] + 10 for n in batch], [rows[n][3] + 20 for n in batch])
            assert len({*queries, *documents}) == 6
            assert not any((q, d) in known for i, q in enumerate(queries) for j, d in enumerate(documents) if i != j)
    except UserError as error:
        assert "rows go into a batch" in str(error)


def test_the_same_seed_gives_the_same_batches_and_every_row_comes() -> None:
    sets = [ranked([(n, n, n + 100) for n in range(40)], "a"), ranked([(n, n, n + 100) for n in range(24)], "b", 2.0)]
    epoch = sum(epoch_batches(one, 4) for one in sets)
    assert [epoch_batches(one, 4) for one in sets] == [10, 12]
    drawn = list(draw_batches(sets, 4, 2 * epoch, 7))
    assert drawn == list(draw_batches(sets, 4, 2 * epoch, 7)) != list(draw_batches(sets, 4, 2 * epoch, 8))
    assert drawn[:5] == list(islice(draw_batches(sets, 4, 2 * epoch, 7), 5))
    counted = Counter((number, row) for number, rows in drawn for row in rows)
    assert {counted[0, row] for row in range(40)} == {2} and {counted[1, row] for row in range(24)} == {4}
    assert [number for number, _ in drawn[:epoch]].count(0) == 10  # an epoch has the batches of all sets


def test_rows_that_fill_no_batch_are_an_error() -> None:
    with pytest.raises(UserError, match=r"a: 1 rows go into a batch, embed.batch is 4"):
        next(draw_batches([ranked([(1, n, 99) for n in range(20)], "a")], 4, 1, 0))
