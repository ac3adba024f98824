"""Exact duplicates: keys, first copies, ranges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.deduplicate.exact import keys_of, normalise, repeated, survivors


def test_keys_ignore_white_space_and_composition():
    first, second, third = keys_of(["한글  하나\n둘 ", "\u1112\u1161\u11ab글 하나 둘", "한글 하나둘"])
    assert first == second != third
    assert len(keys_of([])) == 0


@given(st.text("가b \n\t\r\x0b\x1c\x85\xa0\u2003\u2028\u3000\u200b"))
def test_the_short_way_of_normalising_is_the_long_way(text):
    assert normalise(text) == " ".join(text.split())


@pytest.mark.parametrize("partition", [1, 3, 1 << 24])
@given(texts=st.lists(st.sampled_from("가나다라마바"), max_size=30), cut=st.integers(0, 30))
def test_the_first_in_input_order_survives(partition, texts, cut):
    arrays = [keys_of(texts[:cut]), keys_of(texts[cut:])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("data.deduplicate.exact.PARTITION", partition)
        keep = survivors(lambda: arrays, len(texts))
    assert keep.tolist() == [text not in texts[:place] for place, text in enumerate(texts)]
    assert keep.dtype == np.bool_
    pairs = zip(*repeated(np.concatenate(arrays), np.arange(len(texts))), strict=True)
    assert sorted(pairs) == [(n, texts.index(text)) for n, text in enumerate(texts) if text in texts[:n]]
