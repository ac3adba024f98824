"""Keys beside a part: which sentence belongs to which paragraph, and only what the settings need."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.deduplicate.exact import keys_of
from data.deduplicate.near import PERMUTATIONS, signatures
from data.deduplicate.settings import DeduplicateSettings
from data.deduplicate.sides import PARAGRAPHS, SENTENCES, SIGNATURES, Sides, load_side, paragraph_numbers

TEXTS = ["첫 줄이다. 둘째 문장이다.\n\n둘째 줄이다.", "한 줄이다."]
SPLIT = [["첫 줄이다.", "둘째 문장이다.", "둘째 줄이다."], ["한 줄이다."]]


@given(st.lists(st.lists(st.text("가나 다", min_size=1).filter(str.strip), min_size=1, max_size=4), max_size=5))
def test_each_sentence_has_its_line(lines):
    text = " \n".join(" ".join(sentences) for sentences in lines)
    paragraphs, numbers = paragraph_numbers(text, [sentence for sentences in lines for sentence in sentences])
    assert len(paragraphs) == len(lines)
    assert numbers.tolist() == [n for n, sentences in enumerate(lines) for _ in sentences]


def test_files_hold_what_is_kept(tmp_path):
    sides = Sides(DeduplicateSettings(sentences=True, paragraphs=True, near=True))
    sides.add(TEXTS, SPLIT, np.array([1, 2, 3]))
    sides.add(TEXTS, SPLIT, np.array([3]))
    sides.add([], [], np.array([], np.int64))
    part = tmp_path / "part.parquet"
    sides.write(part)
    flat = ["둘째 문장이다.", "둘째 줄이다.", "한 줄이다.", "한 줄이다."]
    assert (load_side(part, SENTENCES) == keys_of(flat)).all()
    paragraphs = load_side(part, PARAGRAPHS)
    lines = ["첫 줄이다. 둘째 문장이다.", "둘째 줄이다.", "한 줄이다.", "한 줄이다."]
    assert (paragraphs["key"] == keys_of(lines)).all()
    assert paragraphs["characters"].tolist() == [len(line) for line in lines]
    assert paragraphs["sentences"].tolist() == [1, 1, 1, 1]
    expected = signatures(["둘째문장이다.둘째줄이다.", "한줄이다.", "한줄이다."])
    assert (load_side(part, SIGNATURES) == expected).all()


@pytest.mark.parametrize("name", ["sentences", "paragraphs", "near"])
def test_only_what_is_needed_is_made_even_when_empty(tmp_path, name):
    part = tmp_path / "part.parquet"
    Sides(DeduplicateSettings()).write(part)
    assert not list(tmp_path.iterdir())
    Sides(DeduplicateSettings(**{name: True})).write(part)
    suffixes = {"sentences": [SENTENCES], "paragraphs": [PARAGRAPHS], "near": [SIGNATURES]}[name]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"part{suffix}" for suffix in suffixes]
    assert all(load_side(part, suffix).shape[-1] in (0, PERMUTATIONS) for suffix in suffixes)
