"""Steps of which a process has done its own part: one that hangs is behind, those that wait for it are not."""

from __future__ import annotations

import threading
from collections import deque

import torch


class OwnSteps:
    """Counts a process's own steps: on a GPU by events, for which the host never waits."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pending: deque[torch.cuda.Event] = deque()  # ends of own parts that the GPU may not have reached
        self._count, self._counting = 0, threading.Lock()

    def add(self) -> None:
        """Note that this process has done its own part of a step (`Engine.before_waiting`)."""
        if self._device.type == "cuda":
            event = torch.cuda.Event()
            event.record()  # type: ignore[no-untyped-call]
            self._pending.append(event)
        else:
            self._count += 1

    def count(self) -> int:
        """Return the number of steps of which this process, and its GPU, has done its part; called in any thread."""
        with self._counting:
            if self._device.type == "cuda":
                torch.cuda.set_device(self._device)  # of this thread; else it would open a context on the first GPU
            while self._pending and _is_past(self._pending[0]):
                self._pending.popleft()
                self._count += 1
            return self._count


def _is_past(event: torch.cuda.Event) -> bool:
    try:
        return bool(event.query())  # type: ignore[no-untyped-call]
    except RuntimeError:  # the device has failed, which the main thread says better
        return False
