"""Training by transformers' Trainer in the process of a test."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def restored() -> Iterator[None]:
    """Undo what a run sets in this process."""
    import torch

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    environment, threads = dict(os.environ), torch.get_num_threads()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    os.environ.clear()
    os.environ.update(environment)
    torch.set_num_threads(threads)


def tuned(tune: Callable[[], dict[str, Any] | None], out: Path, stop_at: int | None) -> Path:
    """Tune into a folder by a function that returns counts, stopped after a step where one is named."""
    from pretrain.callbacks.hf_trainer import Follow

    end_of_step = Follow.on_step_end

    def stopping(self: Any, args: Any, state: Any, control: Any, **arguments: Any) -> None:
        self.stop.asked = state.global_step == stop_at
        end_of_step(self, args, state, control, **arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Follow, "on_step_end", stopping)
        counts = tune()
    assert (counts is None) == (out / "logs" / "stopped").exists() == (stop_at is not None)
    (out / "logs" / "stopped").unlink(missing_ok=True)
    return out
