"""Masking: whole words, budget in tokens, no special token, a pure function; against a slow oracle."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pretrain.batches.loader import Loader
from pretrain.batches.masking import MaskTable, mask_batch
from pretrain.batches.predictions import IGNORE, MaskedBatch, masking_rate, rows_for
from pretrain.batches.random_numbers import key_of, mix
from pretrain.objectives.mlm import MaskingSettings
from pretrain.settings import PretrainSettings

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


def mask(ids: np.ndarray, samples: np.ndarray | None = None, epoch: int = 0, seed: int = 1, **more: Any) -> MaskedBatch:
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


def splitmix(state: int) -> Iterator[int]:
    """64 random bits at a time, from the published algorithm in plain integers."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        yield z ^ (z >> 31)


def slow_mask(row: np.ndarray, bits: Iterator[int], rate: float, limit: int) -> tuple[list[int], list[int]]:
    """The oracle: (ids after masking, positions predicted) of a sample."""
    words = words_of(row)
    budget = int(rate * sum(map(len, words)) + 0.5)
    chosen: list[int] = []
    for w in range(len(words)):
        if len(chosen) == budget:
            break
        other = w + ((next(bits) >> 32) * (len(words) - w) >> 32)
        words[w], words[other] = words[other], words[w]
        word, size = words[w], min(limit, len(words[w]))
        if len(chosen) + size > budget:
            continue
        first = (next(bits) >> 32) * (len(word) - size + 1) >> 32 if size < len(word) else 0
        chosen += word[first : first + size]
    out, ordinary = row.tolist(), TABLE.ordinary.tolist()
    for t in sorted(chosen):
        draw = (next(bits) >> 11) / 2**53
        if draw < 0.8:
            out[t] = TABLE.mask_id
        elif draw < 0.9:
            out[t] = ordinary[(next(bits) >> 32) * len(ordinary) >> 32]
    return out, sorted(chosen)


@settings(max_examples=100)
@given(st.integers(0, 10**6), st.integers(0, 20), st.sampled_from([0.05, 0.15, 0.4]), st.integers(1, 6), st.booleans())
def test_masks_are_those_of_a_slow_oracle(seed: int, padding: int, rate: float, limit: int, limited: bool) -> None:
    ids = make_ids(seed, 4, 48, padding)
    batch = mask(ids, seed=seed, epoch=3, rate=rate, max_word_tokens=limit if limited else None)
    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        keys = mix(mix(np.uint64(key_of(seed, 2)) + np.full(4, 3, np.uint64) * golden) + np.arange(4, dtype=np.uint64))
    for b, row in enumerate(ids):
        out, chosen = slow_mask(row, splitmix(int(keys[b])), rate, limit if limited else 48)
        assert batch.ids_BS[b].tolist() == out and predicted(batch, b) == chosen
        assert batch.labels_BM[b, : len(chosen)].tolist() == row[chosen].tolist()


def test_a_word_longer_than_the_budget_has_its_span_anywhere() -> None:
    """Whole, it would never be masked at all."""
    row = np.array([[0, 10, *range(200, 230), *range(11, 41), 2]])
    assert CONTINUES[row[0, 2:32]].all() and not CONTINUES[row[0, 32:]].any()
    begins, whole = np.zeros(31, int), 0
    for seed in range(4000):
        whole += bool(set(range(1, 32)) & set(predicted(mask(row, seed=seed), 0)))
        inside = [t for t in predicted(mask(row, seed=seed, max_word_tokens=4), 0) if t < 32]
        assert len(inside) in (0, 4)
        if inside:
            begins[inside[0] - 1] += 1
    assert not whole and begins[:28].min() > 0 and not begins[28:].any()
    assert begins[:28].std() < 2 * begins[:28].mean() ** 0.5


def test_more_rows_than_the_rate_needs_stay_unused() -> None:
    ids = make_ids(3)
    plain, wide = mask(ids), mask(ids, rows=rows_for(64, 0.3))
    assert plain.labels_BM.shape == (16, 9) and wide.labels_BM.shape == (16, 19)
    assert np.array_equal(plain.ids_BS, wide.ids_BS) and np.array_equal(plain.labels_BM, wide.labels_BM[:, :9])
    assert (wide.labels_BM[:, 9:] == IGNORE).all() and plain.expected == wide.expected == 16 * 9


@pytest.mark.parametrize(("rate", "end"), [(0.3, 0.15), (0.15, 0.3)])
def test_a_run_masks_by_its_schedule(rate: float, end: float, tokens: Path, tokenizer: Path) -> None:
    run: dict[str, Any] = {
        "max_seq_len": 64,
        "steps": 12,
        "global_batch": 64,
        "micro_batch": 64,
        "packing": "contiguous",
    }
    run["optimizer"] = {"warmup_steps": 0}
    loader = Loader(
        PretrainSettings(**run, masking=MaskingSettings(rate=rate, rate_end=end), validation_samples=20),
        tokens, tokenizer, Path("none"), 0, 1,
    )  # fmt: skip
    for step in (0, 5, 11):
        [(batch, masked)] = loader.masked_batches(step)
        now = rate + (end - rate) * step / 11
        ordinary = (~loader.table.special_V[batch.ids_BS]).sum()
        assert masked.predicted / ordinary == pytest.approx(now, abs=0.006)
        assert masked.labels_BM.shape == (64, rows_for(64, 0.3))
        assert masked.expected == pytest.approx(now * ordinary, rel=0.03)
    [(batch, masked)] = loader.masked_validation()
    ordinary = (~loader.table.special_V[batch.ids_BS[batch.counted_B]]).sum()
    assert masked.expected == pytest.approx(end * ordinary, rel=0.03)
    assert masked.labels_BM.shape == (64, rows_for(64, 0.3))


def test_the_masking_rate_goes_evenly_from_first_to_last() -> None:
    falling = MaskingSettings(rate=0.3, rate_end=0.15)
    values = [masking_rate(step, 16, falling) for step in range(16)]
    assert values == pytest.approx([0.3 - 0.01 * n for n in range(16)])
    assert [masking_rate(step, 16, MaskingSettings()) for step in (0, 7, 15)] == [0.15] * 3
    assert masking_rate(0, 1, falling) == 0.3


def test_settings_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ValueError, match=r"rate_end \(0\.15\) does not go with kind=static"):
        MaskingSettings(kind="static", rate=0.3, rate_end=0.15)
    with pytest.raises(ValueError, match=r"max_word_tokens \(4\).*whole_word is false"):
        MaskingSettings(whole_word=False, max_word_tokens=4)


def test_a_sample_is_masked_alike_wherever_it_stands() -> None:
    ids = make_ids(11)
    whole = mask(ids)
    order = np.random.default_rng(0).permutation(len(ids))
    shuffled = mask(ids[order], order)
    assert np.array_equal(whole.ids_BS[order], shuffled.ids_BS)
    assert np.array_equal(whole.labels_BM[order], shuffled.labels_BM)


def test_fragments_of_cut_words_are_left_alone() -> None:
    row = np.array([[0, 200, 201, 10, 210, 11, 12, 13, 14, 15, 16, 17, 18, 19, 220, 221, 2]])
    unmaskable = np.isin(np.arange(17), [1, 2, 13, 14, 15])[None]
    for seed in range(200):
        batch = mask_batch(row, unmaskable, np.zeros(1, int), np.zeros(1, int), TABLE, seed, rate=0.5)
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
    masked, unchanged = after == TABLE.mask_id, after == before
    # a random entry is the same one once in as many as there are
    assert masked.mean() == pytest.approx(0.8, abs=0.001)
    assert unchanged.mean() == pytest.approx(0.1 + 0.1 / len(TABLE.ordinary), abs=0.001)
    replaced = np.bincount(after[~masked & ~unchanged], minlength=VOCABULARY)[TABLE.ordinary]
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


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(0, 20), st.sampled_from([0.05, 0.15, 0.4]), st.integers(1, 6) | st.none())
def test_of_a_word_all_or_one_span_is_masked_within_the_budget(
    seed: int, padding: int, rate: float, limit: int | None
) -> None:
    ids = make_ids(seed, 4, 96, padding)
    batch = mask(ids, seed=seed, rate=rate, max_word_tokens=limit)
    for b, row in enumerate(ids):
        chosen, words = predicted(batch, b), words_of(row)
        budget, left = min(int(rate * sum(map(len, words)) + 0.5), rows_for(96, rate)), []
        assert chosen == sorted(chosen)
        for word in words:
            inside = [t for t in word if t in chosen]
            size = min(limit or 96, len(word))
            assert not inside or inside == list(range(inside[0], inside[0] + size))
            left += [] if inside else [size]
        # what is missing to the budget is less than the smallest word that was left out
        assert len(chosen) <= budget and (not left or budget - len(chosen) < min(left))


def test_special_tokens_are_never_predicted_or_put_in() -> None:
    ids = make_ids(3, 400)
    batch = mask(ids)
    labels = batch.labels_BM[batch.labels_BM != IGNORE]
    assert not SPECIAL[labels].any()
    changed = batch.ids_BS[batch.ids_BS != ids]
    assert not SPECIAL[changed[changed != TABLE.mask_id]].any()
    assert (batch.ids_BS[SPECIAL[ids]] == ids[SPECIAL[ids]]).all()
