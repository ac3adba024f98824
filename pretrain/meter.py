"""What a run measures of itself between two lines of its log: the sums of its steps, and how fast they went."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from pretrain.processes import summed
from pretrain.trainer import TOTALS


class Meter:
    """Sums and seconds since the last line; batches that were skipped count for nothing.

    Args:
        length: tokens of a sample.
        device: of the steps' totals.
        mark: of the checkpoint that the run resumes from; {} at its beginning.
        first: whether this is the first process.
    """

    def __init__(self, length: int, device: torch.device, mark: dict[str, Any], first: bool) -> None:
        nothing = [0.0] * len(TOTALS)
        # the saved sums are those of all processes: they live on in the first
        sums = mark.get("window", nothing) if first else nothing
        self._sums = torch.tensor(sums, dtype=torch.float64, device=device)
        self._length = length
        self._positions = int(mark.get("window_positions", 0))
        self.tokens = int(mark.get("tokens_logged", 0))
        """Tokens of the run up to the last line."""
        self.restart()

    def restart(self) -> None:
        """Count seconds from here on: what came before was no training."""
        self._began, self._timed, self._waited = time.perf_counter(), 0, 0.0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the body's seconds as waiting for data."""
        began = time.perf_counter()
        yield
        self._waited += time.perf_counter() - began

    def add(self, totals: torch.Tensor, samples: int) -> None:
        """Add a step's `TOTALS` of this process, and the samples of the whole batch; nothing waits for the device."""
        self._sums += totals
        self._positions += samples * self._length
        self._timed += samples * self._length

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint must hold of this; every process calls it."""
        sums = summed(self._sums)
        return {
            "tokens": self.tokens + round(sums[-1]),
            "tokens_logged": self.tokens,
            "window": sums,
            "window_positions": self._positions,
        }

    def line(self) -> dict[str, Any]:
        """Return the figures since the last line and begin anew; every process calls it."""
        sums = summed(self._sums)
        seconds = time.perf_counter() - self._began
        real_share = sums[-1] / max(1, self._positions)
        self.tokens += round(sums[-1])
        figures = {
            "tokens": self.tokens,
            **means(sums),
            "tokens_per_second": round(self._timed * real_share / seconds, 1),
            "padding": round(1 - real_share, 5) if self._positions else 0.0,
            "data_wait_share": round(self._waited / seconds, 5),
        }
        self._sums.zero_()
        self._positions = 0
        self.restart()
        return figures


def means(sums: list[float]) -> dict[str, float]:
    """Return loss and accuracy a predicted token, and a pair where there are pairs, from summed `TOTALS`."""
    loss, right, predicted, pair_loss, pairs_right, pairs, _ = sums
    if not predicted:  # every batch was skipped
        return {}
    figures = {"loss": loss / predicted, "accuracy": right / predicted}
    if pairs:
        figures |= {"pair_loss": pair_loss / pairs, "pair_accuracy": pairs_right / pairs}
    return figures
