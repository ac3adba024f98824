"""Spread: how long a step's own work takes each process, and which process the others wait for.

Every process's step takes as long as the slowest one's, so a step's duration names nobody. What a process does by
itself does: from the end of a step to the point in the next one where it first waits for another process. That is its
reading of data, the host's work, and the forward passes up to there (`Engine.before_waiting`).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from pretrain.parallel.engine import Engine

STANDS_OUT = 1.2
"""Times the median's own work from which a process is named …"""
WORTH_NAMING = 0.05
"""… if it is longer than the median's by this share of a step, too: less costs the run nothing to speak of."""
Moment: TypeAlias = float | torch.cuda.Event
"""A point in time: of the host's clock, or in what a GPU does."""


class OwnWork:
    """Takes the time of each step's own work; on a GPU by events, and the host waits for none of them."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._began = self._alone = self._now()
        self._steps: list[tuple[Moment, Moment, Moment]] = []
        self._pending: deque[Moment] = deque()  # ends of own parts that the device may not have reached
        self._parts, self._counting = 0, threading.Lock()

    def begin(self) -> None:
        """Start timing the next step here; what came before belongs to no step."""
        self._began = self._now()

    def end_alone(self) -> None:
        """Note that this process has done its own part of the step: from here on it waits for others."""
        self._alone = self._now()
        self._pending.append(self._alone)

    def end(self) -> None:
        """Note the end of a step, where the next one begins."""
        began, self._began = self._began, self._now()
        self._steps.append((began, self._alone, self._began))

    def take(self) -> tuple[float, float]:
        """Return the mean seconds of own work and of a whole step since the last call (NaN without a step).

        On a GPU it must have done all the steps: the host has waited for a value that comes after them.
        """
        self.parts()  # keeps no more events than those of one line of the log
        steps, self._steps = self._steps, []
        count = len(steps) or float("nan")
        own = sum(_seconds(began, alone) for began, alone, _ in steps)
        return own / count, sum(_seconds(began, end) for began, _, end in steps) / count

    def parts(self) -> int:
        """Return of how many steps this process, and its device, has done its own part; called in any thread."""
        with self._counting:
            if self._device.type == "cuda":
                torch.cuda.set_device(self._device)  # of this thread; else it would open a context on the first GPU
            while self._pending and _is_past(self._pending[0]):
                self._pending.popleft()
                self._parts += 1
            return self._parts

    def _now(self) -> Moment:
        if self._device.type != "cuda":
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()  # type: ignore[no-untyped-call]
        return event


def gather_own(engine: Engine, rank: int, own: float) -> Tensor:
    """Return the own work of every process (world,), float64 on the device; all call it."""
    own_W = torch.zeros(engine.world, dtype=torch.float64, device=engine.device)
    own_W[rank].fill_(own)  # by a kernel, without a copy from the host
    return engine.sum(own_W)


def spread_of(own_W: Sequence[float], step: float) -> tuple[float, float, float, int | None]:
    """Return the own work of the fastest process, the median (of two the faster one) and the slowest, and the rank of
    the slowest where it stands out.

    Args:
        own_W: mean seconds of each process, by rank.
        step: mean seconds of a whole step.
    """
    ordered = sorted(own_W)
    median, slowest = ordered[(len(ordered) - 1) // 2], ordered[-1]
    stands_out = slowest >= STANDS_OUT * median and slowest - median >= WORTH_NAMING * step
    return ordered[0], median, slowest, own_W.index(slowest) if stands_out else None


def _seconds(first: Moment, second: Moment) -> float:
    if isinstance(first, float) and isinstance(second, float):
        return second - first
    return first.elapsed_time(second) / 1000  # type: ignore


def _is_past(moment: Moment) -> bool:
    try:
        return isinstance(moment, float) or bool(moment.query())  # type: ignore[no-untyped-call]
    except RuntimeError:  # the device has failed, which the main thread says better
        return False
