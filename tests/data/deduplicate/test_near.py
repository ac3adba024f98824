"""Signatures: what they estimate, what they depend on, and how they are cut into bands."""

import hashlib
import os
import random
import subprocess
import sys
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import UserError
from data.deduplicate import near
from data.deduplicate.near import PERMUTATIONS, RECALL, band_keys, choose_bands, shingle_hashes, signatures

from .invented import document, edited, jaccard, shingles


def test_equal_numbers_estimate_the_jaccard_similarity():
    rng = random.Random(5)
    errors, variance = [], 0.0
    for size in (12, 60, 300):
        ones = [document(rng, size) for _ in range(300)]
        others = [edited(rng, text, rng.choice((0.01, 0.03, 0.1, 0.3))) for text in ones]
        estimated = (signatures(ones) == signatures(others)).mean(axis=1)
        exact = np.array([jaccard(*pair) for pair in zip(ones, others, strict=True)])
        errors.append(estimated - exact)
        variance += (exact * (1 - exact) / PERMUTATIONS).mean() / 3
    error = np.concatenate(errors)
    assert abs(error.mean()) < 4 * (variance / len(error)) ** 0.5
    assert error.std() < 1.15 * variance**0.5


@given(st.lists(st.text("가나다라 \n\t a1\U0001f600", max_size=20), max_size=6))
def test_hashes_are_those_of_the_shingles(texts):
    hashes, borders = shingle_hashes(texts)
    assert borders[0] == 0
    assert borders[-1] == len(hashes)
    for text, first, last in zip(texts, borders[:-1], borders[1:], strict=True):
        assert len(set(hashes[int(first) : int(last)].tolist())) == len(shingles(text))
    known = {}
    for text, first in zip(texts, borders[:-1], strict=True):
        solid = "".join(text.split())
        for at in range(max(len(solid) - 4, 1)):
            assert known.setdefault(solid[at : at + 5], hashes[int(first) + at]) == hashes[int(first) + at]
    assert len(set(known.values())) == len(known)


def test_blanks_and_composition_make_no_difference_and_short_texts_are_whole():
    rows = signatures(["할 수 있다는 것", "할수\n있다는것", "\u1112\u1161\u11af수 있다는 것", "", "  ", "네", "네네"])
    assert (rows[0] == rows[1]).all()
    assert (rows[0] == rows[2]).all()
    assert (rows[3] == rows[4]).all()
    assert not (rows[5] == rows[6]).any()
    assert signatures([]).shape == (0, PERMUTATIONS)


@given(st.lists(st.text("가나다라마바사", max_size=12), min_size=1, max_size=9), st.integers(1, 4))
def test_batches_make_no_difference(texts, batch):
    whole = signatures(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near, "BATCH", batch)
        assert (signatures(texts) == whole).all()
    assert (signatures(texts[::-1]) == whole[::-1]).all()


def test_the_same_numbers_in_every_process_on_every_machine():
    """Also a guard against a new version of rensa that gives other numbers without saying so."""
    program = (
        "import hashlib; from data.deduplicate.near import band_keys, signatures\n"
        "found = signatures(['훈민정음은 세종이 만든 글자이다. ' * n for n in range(40)])\n"
        "print(hashlib.sha256(found.tobytes() + band_keys(found, 0.8).tobytes()).hexdigest()[:16])"
    )
    changes = {"PYTHONHASHSEED": "1", "RENSA_FORCE_KERNEL": "scalar", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, env={**os.environ, **changes}, capture_output=True, text=True)
    assert run.stdout.strip() == "3c1e6a19f237467a"
    rows = signatures(["훈민정음은 세종이 만든 글자이다. " * n for n in range(40)])
    digest = hashlib.sha256(rows.tobytes() + band_keys(rows, 0.8).tobytes()).hexdigest()
    assert digest.startswith("3c1e6a19f237467a")


@pytest.mark.parametrize("threshold", [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1])
def test_bands_find_what_is_at_the_threshold_and_no_more_rows_would(threshold):
    bands, rows = choose_bands(threshold)
    assert bands * rows <= PERMUTATIONS
    assert 1 - (1 - threshold**rows) ** bands >= RECALL
    if rows < PERMUTATIONS:
        assert 1 - (1 - threshold ** (rows + 1)) ** (PERMUTATIONS // (rows + 1)) < RECALL


def test_band_keys_are_equal_when_all_rows_are():
    bands, rows = choose_bands(0.8)
    numbers = np.random.default_rng(1).integers(0, 1 << 32, (40, PERMUTATIONS), np.uint32)
    numbers[1] = numbers[0]
    numbers[1, rows * 3] += 1  # the first row of band 3
    keys = band_keys(numbers, 0.8)
    assert keys.shape == (bands, 40)
    assert [band for band in range(bands) if keys[band, 0] != keys[band, 1]] == [3]
    assert all(len(set(row.tolist())) == 39 for row in np.delete(keys, 3, axis=0))
    assert band_keys(numbers[:0], 0.8).shape == (bands, 0)


def test_a_missing_or_other_rensa_is_one_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "rensa", None)
    with pytest.raises(UserError, match="rensa is not installed"):
        signatures(["가"])
    other = types.SimpleNamespace(RMinHash=types.SimpleNamespace(ALGORITHM_VERSION=3))
    monkeypatch.setitem(sys.modules, "rensa", other)
    with pytest.raises(UserError, match="signatures of version 3"):
        signatures(["가"])
