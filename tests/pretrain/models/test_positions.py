"""Position tables made longer: a helix goes on as its formula does, a table without order is repeated."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from pretrain.models.positions import RECENT, lengthen


def helix(rows: int, frequencies: list[float], hidden: int, seed: int, noise: float = 0.0) -> Tensor:
    """Return Σ a (cos(f p) u + sin(f p) v) + t over frequencies f, for p = 0, 1, …; all u and v orthonormal."""
    generator = np.random.default_rng(seed)
    basis = np.linalg.qr(generator.normal(size=(hidden, 2 * len(frequencies))))[0].T
    places = np.arange(rows)[:, None]
    table = generator.normal(size=hidden) * np.ones((rows, 1))
    for number, frequency in enumerate(frequencies):
        u, v = basis[2 * number], basis[2 * number + 1]
        table = table + (1 + number) * (np.cos(frequency * places) * u + np.sin(frequency * places) * v)
    return torch.from_numpy(table + noise * generator.normal(size=table.shape))


@settings(max_examples=10)
@given(turns=st.lists(st.integers(1, 20), min_size=1, max_size=4, unique=True), seed=st.integers(0, 1000))
def test_a_helix_goes_on_as_its_formula(turns: list[int], seed: int) -> None:
    """Whole turns over the known rows: their mean is then that of the helix."""
    whole = helix(160, [2 * np.pi * n / 64 for n in turns], 32, seed)
    longer = lengthen(whole[:64], 160)
    assert longer.components == 2 * len(turns) and longer.predicted == pytest.approx(1)
    assert torch.equal(longer.table_LH[:64], whole[:64])
    assert torch.allclose(longer.table_LH, whole, atol=1e-8)


def test_a_noisy_helix_goes_on_without_its_noise() -> None:
    """Four times the rows; the noise of a row is a tenth of its length, that of the last one all of it."""
    frequencies = [0.9, 0.55, 0.31, 0.17]
    clean, noisy = (helix(512, frequencies, 48, 3, noise) for noise in (0.0, 0.08))
    noisy[127] = noisy[127] + 5 * torch.eye(48, dtype=torch.float64)[0]
    longer = lengthen(noisy[:128].float(), 512)
    assert longer.components == 8 and 0.8 < longer.predicted < 1 and longer.table_LH.dtype == torch.float32
    new = longer.table_LH[128:].double() - clean.mean(0)
    truth = clean[128:] - clean.mean(0)
    assert float((new - truth).norm() / truth.norm()) < 0.35
    # likeness depends on distance alone, as far away as one likes, and sizes stay
    gram = new @ new.T
    for distance in (0, 1, 5, 40):
        diagonal = gram.diagonal(distance)
        assert float(diagonal.std() / gram.diagonal().mean()) < 0.1


@pytest.mark.parametrize("rows", [1, 2, 3, 20, 64])
def test_rows_without_order_are_repeated(rows: int) -> None:
    table = torch.randn(rows, 16, generator=torch.Generator().manual_seed(0))
    longer = lengthen(table, 3 * rows - 1)
    assert longer.components == 0 and longer.predicted < 0.5
    assert torch.equal(longer.table_LH, torch.cat([table, table, table])[:-1])


def test_equal_rows_have_no_steps_to_predict() -> None:
    longer = lengthen(torch.ones(40, 8), 60)
    assert longer.components == 0 and longer.predicted == 0 and torch.equal(longer.table_LH, torch.ones(60, 8))


def test_a_table_as_long_as_it_was_is_the_same() -> None:
    table = helix(64, [0.5], 8, 0)
    assert len(table) > RECENT and torch.equal(lengthen(table, 64).table_LH, table)
