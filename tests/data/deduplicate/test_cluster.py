"""Near duplicates: against brute force over all pairs, and with everything that could make the work quadratic."""

import random
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.deduplicate import cluster
from data.deduplicate.cluster import LEADERS
from data.deduplicate.near import PERMUTATIONS, choose_bands, signatures

from .in_memory import Corpus
from .invented import document, edited, jaccard, planted, shingles


@cache
def planted_once() -> list[str]:
    return planted(200, (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.3))


@cache
def earlier_similarity() -> np.ndarray:
    """Return the exact similarity of each of those texts (rows) to each earlier one; 0 elsewhere."""
    sets = [shingles(text) for text in planted_once()]
    similarity = np.zeros((len(sets), len(sets)))
    for row, grams in enumerate(sets):
        for column, other in enumerate(sets[:row]):
            common = len(grams & other)
            similarity[row, column] = common / (len(grams) + len(other) - common)
    return similarity


@pytest.mark.parametrize("threshold", [0.6, 0.8, 0.9])
def test_recall_and_precision_against_all_pairs(threshold):
    """A pair decides itself within the error of 128 numbers: three deviations from the threshold none is missed."""
    texts = planted_once()
    copies = Corpus(signatures(texts)).near(threshold)
    dropped, kept_for = copies["dropped"], copies["kept"]
    margin = 3 * (threshold * (1 - threshold) / PERMUTATIONS) ** 0.5
    similarity = earlier_similarity()
    staying = np.setdiff1d(np.arange(len(texts)), dropped)
    surely = {n for n in range(len(texts)) if (similarity[n][staying] >= threshold + margin).any()}
    assert len(surely) > 10
    assert len(surely & set(dropped.tolist())) >= 0.99 * len(surely)
    exact = similarity[dropped, kept_for]
    assert (exact >= threshold - margin).mean() >= 0.99
    assert abs((exact - copies["equal"] / PERMUTATIONS).mean()) < 0.01
    like = np.flatnonzero(similarity.max(axis=1) >= threshold)
    assert np.isin(like, dropped).mean() >= 0.9
    assert (exact >= threshold).mean() >= 0.9


def test_every_document_dropped_is_like_one_before_it_that_stays():
    texts = planted(120, (0.005, 0.01, 0.02, 0.03))
    corpus = Corpus(signatures(texts))
    copies = corpus.near()
    assert len(copies["dropped"]) > 60
    assert (copies["kept"] < copies["dropped"]).all()
    assert not np.intersect1d(copies["kept"], copies["dropped"]).size
    assert (np.diff(copies["dropped"]) > 0).all()
    equal = (corpus.found[copies["dropped"]] == corpus.found[copies["kept"]]).mean(axis=1)
    assert (equal * PERMUTATIONS == copies["equal"]).all()
    assert equal.min() >= 0.8


def test_a_chain_of_small_changes_does_not_lose_its_far_end():
    rng = random.Random(8)
    chain = [document(rng, 600)]
    for _ in range(30):
        chain.append(edited(rng, chain[-1], 0.015))
    copies = Corpus(signatures(chain)).near()
    staying = [n for n in range(len(chain)) if n not in copies["dropped"]]
    assert staying[0] == 0
    assert 4 <= len(staying) <= 16
    assert jaccard(chain[0], chain[-1]) < 0.3


@settings(max_examples=25)
@given(st.integers(1, 9), st.integers(1, 50), st.integers(0, 1000))
def test_shares_and_batches_make_no_difference(cut, compared, seed):
    texts = planted(24, (0.0, 0.01, 0.03, 0.08), seed)
    signatures_P = signatures(texts)
    candidates = np.random.default_rng(seed).random(len(texts)) < 0.9
    whole = Corpus(signatures_P).near(0.8, candidates)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "COMPARED", compared)
        assert (Corpus(signatures_P).near(0.8, candidates, cut) == whole).all()
    assert candidates[whole["dropped"]].all()
    assert candidates[whole["kept"]].all()


def test_identical_documents_cost_a_comparison_a_band_and_one_more():
    rows = np.tile(signatures(["같은 글이 거듭 나온다."]), (10_000, 1))
    corpus = Corpus(rows)
    near = corpus.near()
    assert (near["dropped"] == np.arange(1, 10_000)).all()
    assert not near["kept"].any()
    assert corpus.compared == (choose_bands(0.8)[0] + 1) * 9_999  # once in each band, once in the cluster


def test_a_crowd_in_one_bucket_that_is_not_alike_stays_and_costs_no_square():
    """Boilerplate: one band in common, nothing else. Only so many leaders are tried."""
    rows = np.random.default_rng(0).integers(0, 1 << 32, (5_000, PERMUTATIONS), np.uint32)
    rows[:, : choose_bands(0.8)[1]] = 7
    corpus = Corpus(rows)
    assert not len(corpus.near())
    assert corpus.compared <= LEADERS * len(rows)


def test_copies_behind_a_stranger_in_the_bucket_are_found():
    """The first of a bucket may be like nobody: then the next one leads."""
    numbers = np.random.default_rng(0).integers(0, 1 << 32, (6, PERMUTATIONS), np.uint32)
    numbers[3:] = numbers[2]
    rows = choose_bands(0.8)[1]
    numbers[:, :rows] = numbers[0, :rows]
    numbers[3:, rows:] = numbers[2, rows:]
    for row in (3, 4, 5):  # break every other band without falling below the threshold
        numbers[row, rows + 3 :: rows] += row
    near = Corpus(numbers).near()
    assert near["dropped"].tolist() == [3, 4, 5]
    assert near["kept"].tolist() == [2, 2, 2]
