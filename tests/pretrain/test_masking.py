"""Masking: whole words, budget in tokens, no special token, a pure function; against a slow oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pretrain.masking import IGNORE, MaskedBatch, MaskTable, mask_batch, rows_for

VOCABULARY = 300
CONTINUES = np.arange(VOCABULARY) >= 150
SPECIAL = np.arange(VOCABULARY) < 5
TABLE = MaskTable(CONTINUES, SPECIAL, mask_id=4)


def make_ids(seed: int, count: int = 16, length: int = 64, padding: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    ids = rng.integers(5, VOCABULARY, (count, length))
    ids[:, 0] = 0
    ids[:, length - padding - 1] = 2
    ids[:, length - padding :] = 1
    ids[rng.random(ids.shape) < 0.02] = 3
    return ids


def mask(
    ids: np.ndarray, samples: np.ndarray | None = None, epoch: int = 0, seed: int = 1, **more: float
) -> MaskedBatch:
    count = len(ids)
    samples = np.arange(count) if samples is None else samples
    return mask_batch(ids, np.zeros(ids.shape, np.bool_), samples, np.full(count, epoch), TABLE, seed, **more)


def words_of(row: np.ndarray) -> list[list[int]]:
    """Positions of the words of a sample, one at a time: the oracle of what a word is."""
    words: list[list[int]] = []
    inside = False
    for t, token in enumerate(row):
        if SPECIAL[token]:
            inside = False
        elif CONTINUES[token] and inside:
            words[-1].append(t)
        else:
            words.append([t])
            inside = True
    return words


def predicted(batch: MaskedBatch, b: int) -> list[int]:
    return [int(t) for t, label in zip(batch.rows_BM[b], batch.labels_BM[b], strict=True) if label != IGNORE]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 20), st.sampled_from([0.05, 0.15, 0.4]))
def test_only_whole_words_within_the_token_budget(seed: int, padding: int, rate: float) -> None:
    ids = make_ids(seed, 4, 48, padding)
    batch = mask(ids, seed=seed, rate=rate)
    for b, row in enumerate(ids):
        chosen = predicted(batch, b)
        words = words_of(row)
        assert set(chosen) == {t for word in words if set(word) & set(chosen) for t in word}
        assert chosen == sorted(chosen)
        tokens = sum(map(len, words))
        budget = min(int(rate * tokens + 0.5), rows_for(48, rate))
        assert len(chosen) <= budget
        # what is missing to the budget is less than the smallest word that was left out
        left = [len(word) for word in words if not set(word) & set(chosen)]
        assert not left or budget - len(chosen) < min(left)


def test_special_tokens_are_never_predicted_or_put_in() -> None:
    ids = make_ids(3, 400)
    batch = mask(ids)
    labels = batch.labels_BM[batch.labels_BM != IGNORE]
    assert not SPECIAL[labels].any()
    changed = batch.ids_BS[batch.ids_BS != ids]
    assert not SPECIAL[changed[changed != TABLE.mask_id]].any()
    assert (batch.ids_BS[SPECIAL[ids]] == ids[SPECIAL[ids]]).all()


def test_shares_of_mask_random_and_kept() -> None:
    ids = make_ids(5, 3000)
    batch = mask(ids)
    rows, labels = batch.rows_BM, batch.labels_BM
    used = labels != IGNORE
    now = np.take_along_axis(batch.ids_BS, rows, 1)[used]
    was = labels[used]
    assert abs((now == TABLE.mask_id).mean() - 0.8) < 0.01
    assert abs((now == was).mean() - 0.1) < 0.01
    random = now[(now != TABLE.mask_id) & (now != was)]
    # random replacements come from the whole ordinary vocabulary, not from the batch's ids or a part of them
    assert len(np.unique(random)) > 0.95 * len(TABLE.ordinary)


def test_rate_is_counted_in_tokens() -> None:
    ids = make_ids(7, 2000, 128)
    ordinary = (~SPECIAL[ids]).sum()
    assert abs(mask(ids).predicted / ordinary - 0.15) < 0.003


def test_positions_are_chosen_evenly() -> None:
    ids = np.tile(np.arange(5, 105), (4000, 1))
    batch = mask(ids)
    frequency = np.bincount(batch.rows_BM[batch.labels_BM != IGNORE], minlength=100) / 4000
    assert abs(frequency.mean() - 0.15) < 0.001
    assert frequency.std() < 0.012


def test_a_sample_is_masked_alike_wherever_it_stands() -> None:
    ids = make_ids(11)
    whole = mask(ids)
    order = np.random.default_rng(0).permutation(len(ids))
    shuffled = mask(ids[order], order)
    assert np.array_equal(whole.ids_BS[order], shuffled.ids_BS)
    assert np.array_equal(whole.labels_BM[order], shuffled.labels_BM)


def test_masks_differ_by_epoch_sample_and_seed() -> None:
    ids = np.tile(make_ids(13, 1), (200, 1))
    base = mask(ids)
    assert len({row.tobytes() for row in base.rows_BM}) >= 195  # one long word may fill a budget by itself
    far = mask(ids, np.arange(200) + 10**6)  # seeds taken modulo 1e6 would repeat here
    assert (base.rows_BM == far.rows_BM).all(1).mean() < 0.02
    assert not np.array_equal(base.rows_BM, mask(ids, epoch=1).rows_BM)
    assert not np.array_equal(base.rows_BM, mask(ids, seed=2).rows_BM)


def test_fragments_of_cut_words_are_left_alone() -> None:
    row = np.array([[0, 200, 201, 10, 210, 11, 12, 13, 14, 15, 16, 17, 18, 19, 220, 221, 2]])
    barred = np.isin(np.arange(17), [1, 2, 13, 14, 15])[None]
    for seed in range(200):
        batch = mask_batch(row, barred, np.zeros(1, int), np.zeros(1, int), TABLE, seed, rate=0.5)
        assert not {1, 2, 13, 14, 15} & set(predicted(batch, 0))


def test_token_masking_when_asked() -> None:
    ids = make_ids(17, 500)
    batch = mask(ids, whole_word=False)
    broken = sum(
        bool(set(word) & set(predicted(batch, b))) and not set(word) <= set(predicted(batch, b))
        for b in range(50)
        for word in words_of(ids[b])
    )
    assert broken > 20


def test_id_zero_can_be_a_label() -> None:
    table = MaskTable(np.zeros(10, np.bool_), np.arange(10) == 9, mask_id=9)
    ids = np.zeros((1, 20), np.int64)
    batch = mask_batch(ids, np.zeros(ids.shape, np.bool_), np.zeros(1, int), np.zeros(1, int), table, 0)
    assert batch.predicted == 3


def test_an_impossible_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="rate"):
        mask(make_ids(0), rate=1.0)


def test_shares_over_ten_million_tokens() -> None:
    """15% ± a word a sample; of those 80% [MASK], 10% random, 10% as they were; every entry stands in alike."""
    ids = make_ids(23, 20_000, 512)
    batch = mask(ids)
    used = batch.labels_BM != IGNORE
    ordinary = (~SPECIAL[ids]).sum()
    assert ordinary > 9_900_000
    assert 0.1495 < used.sum() / ordinary <= 0.1501
    rows = np.repeat(np.arange(len(ids)), used.sum(1))
    before, after = batch.labels_BM[used], batch.ids_BS[rows, batch.rows_BM[used]]
    assert np.array_equal(before, ids[rows, batch.rows_BM[used]])
    masked, kept = after == TABLE.mask_id, after == before
    # a random entry is the same one once in as many as there are
    assert masked.mean() == pytest.approx(0.8, abs=0.001)
    assert kept.mean() == pytest.approx(0.1 + 0.1 / len(TABLE.ordinary), abs=0.001)
    replaced = np.bincount(after[~masked & ~kept], minlength=VOCABULARY)[TABLE.ordinary]
    assert replaced.min() > 0.85 * replaced.mean() and replaced.max() < 1.15 * replaced.mean()
    chosen = np.bincount(batch.rows_BM[used], minlength=512)[1:511]
    assert chosen.min() > 0.9 * chosen.mean() and chosen.max() < 1.1 * chosen.mean()


@pytest.mark.parametrize("apart", [10**6, 2**31, 2**32])
def test_samples_and_seeds_far_apart_share_no_masks(apart: int) -> None:
    """Seeds taken modulo a million made samples share their masks (fairseq)."""
    ids = make_ids(5)
    near = mask(ids)
    far, other = mask(ids, samples=np.arange(len(ids)) + apart), mask(ids, seed=1 + apart)
    assert not (near.rows_BM == far.rows_BM).all(1).any() and not (near.rows_BM == other.rows_BM).all(1).any()
