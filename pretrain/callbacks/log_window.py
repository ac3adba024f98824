"""What a run measures of itself between two lines of its log: the sums of its steps, and how fast they went."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch


class LogWindow:
    """Sums and seconds since the last line, from a checkpoint's metadata on; skipped batches count for nothing."""

    def __init__(self, device: torch.device, names: tuple[str, ...], saved: dict[str, Any]) -> None:
        sums = saved.get("window", {})
        self._names = names
        self._sums = torch.tensor([sums.get(name, 0.0) for name in names], dtype=torch.float64, device=device)
        self._timed = torch.zeros_like(self._sums)
        self.tokens = int(saved.get("tokens_logged", 0))
        """Tokens of the run up to the last line."""
        self.restart()

    def restart(self) -> None:
        """Count seconds from here on: what came before was no training."""
        self._began, self._waited = time.perf_counter(), 0.0
        self._timed.zero_()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the body's seconds as waiting for data."""
        began = time.perf_counter()
        yield
        self._waited += time.perf_counter() - began

    def add(self, totals: torch.Tensor) -> None:
        """Add a step's totals; nothing waits for the device."""
        self._sums += totals
        self._timed += totals

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint must hold of this; waits for the device."""
        sums = dict(zip(self._names, self._sums.tolist(), strict=True))
        tokens = round(sums["tokens"])
        return {"tokens": self.tokens + tokens, "tokens_logged": self.tokens, "window": sums}

    def line(self, means: Callable[[Mapping[str, float]], dict[str, float]]) -> dict[str, Any]:
        """Return the figures since the last line, and loss and more by `means` of the totals; waits for the device."""
        sums, timed = torch.stack([self._sums, self._timed]).tolist()
        seconds = time.perf_counter() - self._began  # after the device has done it all
        total, within = (dict(zip(self._names, values, strict=True)) for values in (sums, timed))
        self.tokens += round(total["tokens"])
        positions = total["positions"]
        figures = {
            "tokens": self.tokens,
            **means(total),
            "tokens_per_second": round(within["tokens"] / seconds, 1),
            "padding": round(1 - total["tokens"] / positions, 5) if positions else 0.0,
            "data_wait_share": round(self._waited / seconds, 5),
        }
        self._sums.zero_()
        self.restart()
        return figures
