"""A longer position table for a model that continues from a shorter one.

Learned positions lie on a helix: a step from one to the next turns their leading principal components by nearly the
same rotation everywhere, which is how attention comes to see distances. Going on by that rotation keeps what heads know
of distances. Rows that come a second time do the opposite: every position has a twin that heads cannot tell from it.

Legend: P positions at hand, L positions asked for, H hidden width, R components.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

RANKS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""Numbers of components to choose among."""
FOLDS = 8
"""Parts that the steps are divided into: a rotation is judged by steps that it was not fitted to."""
LEAST = 0.5
"""Share of the steps' variance that a rotation must predict to be used."""
WORTH = 0.01
"""Share of the steps' variance that more components must predict beyond fewer."""
RECENT = 16
"""Last rows that the first new one is rotated from, their mean: a single row has its own noise, the last one more."""


class Longer(NamedTuple):
    """A table and how its new rows came about."""

    table_LH: Tensor
    components: int
    """That were rotated; 0: no rotation predicts the steps, and the rows come again and again."""
    predicted: float
    """Share of the variance of the steps held back that the best rotation predicts; below 0: worse than the mean."""


def lengthen(table_PH: Tensor, length: int) -> Longer:
    """Return a table of `length` rows that begins with those given, unchanged.

    The new rows are t + (x₁ + … + x_k) · Qⁿ · V: t the mean row, V the R leading components of the rows around it,
    Q the orthogonal (R, R) matrix that best takes each row to its successor (the orthogonal Procrustes problem,
    Schönemann 1966), x_i the last rows, each brought to the place of the very last by Q; the sum has the rows' mean
    length. R is the smallest of `RANKS` whose rotations predict steps that they were not fitted to as well as any.

    Args:
        table_PH: learned rows, one a position, without rows that are never used.
        length: L, at least P.
    """
    rows_PH = table_PH.double()
    mean_H = rows_PH.mean(0)
    centred_PH = rows_PH - mean_H
    _, _, components = torch.linalg.svd(centred_PH, full_matrices=False)
    ranks = [rank for rank in RANKS if rank <= min(len(rows_PH) // 2, rows_PH.shape[1])]
    shares = [_predicted(centred_PH, components[:rank]) for rank in ranks]
    best = max(shares, default=0.0)
    rank, predicted = next(((r, s) for r, s in zip(ranks, shares, strict=True) if s > best - WORTH), (0, 0.0))
    if predicted < LEAST:
        return Longer(table_PH.repeat(-(-length // len(table_PH)), 1)[:length], 0, predicted)
    basis_RH = components[:rank]
    places_PR = centred_PH @ basis_RH.T
    turn_RR = _rotation(places_PR[:-1], places_PR[1:])
    place_R = torch.zeros_like(places_PR[0])
    for recent_R in places_PR[-RECENT:]:
        place_R = place_R @ turn_RR + recent_R
    place_R *= places_PR.norm(dim=1).mean() / place_R.norm()
    new = []
    for _ in range(length - len(rows_PH)):
        place_R = place_R @ turn_RR
        new.append(mean_H + place_R @ basis_RH)
    return Longer(torch.cat([table_PH, *(row[None].to(table_PH.dtype) for row in new)]), rank, predicted)


def _predicted(centred_PH: Tensor, basis_RH: Tensor) -> float:
    """Return the share of the successors' variance that rotations predict, each step by one fitted to other steps."""
    places_PR = centred_PH @ basis_RH.T
    fold = torch.arange(len(places_PR) - 1) % FOLDS
    error = centred_PH.new_zeros(())
    for number in range(FOLDS):
        seen, held_back = fold != number, fold == number
        turn_RR = _rotation(places_PR[:-1][seen], places_PR[1:][seen])
        error += (places_PR[:-1][held_back] @ turn_RR @ basis_RH - centred_PH[1:][held_back]).square().sum()
    variance = centred_PH[1:].square().sum()
    return float(1 - error / variance) if variance else 0.0


def _rotation(before_NR: Tensor, after_NR: Tensor) -> Tensor:
    """Return the orthogonal Q with the least |before · Q − after|²."""
    left, _, right = torch.linalg.svd(before_NR.T @ after_NR)
    return left @ right
