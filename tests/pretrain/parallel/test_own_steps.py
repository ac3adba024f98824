"""Steps of which a process has done its own part."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pretrain.parallel.ddp import TorchEngine
from pretrain.parallel.own_steps import OwnSteps
from pretrain.parallel.zero import DeepSpeedEngine


def test_without_a_gpu_it_counts() -> None:
    own = OwnSteps(torch.device("cpu"))
    assert own.count() == 0
    own.add()
    own.add()
    assert own.count() == 2


class Event:
    """Stands for torch.cuda.Event: whether a device has come to a point; a host that waits is an error."""

    made: list[Event] = []  # noqa: RUF012
    reached = 0

    def record(self) -> None:
        self.made.append(self)

    def query(self) -> bool:
        return self.made.index(self) < Event.reached

    def synchronize(self) -> None:
        raise AssertionError


def test_on_a_gpu_the_device_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    Event.made, Event.reached = [], 0
    monkeypatch.setattr(torch.cuda, "Event", Event)
    chosen: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    own = OwnSteps(torch.device("cuda", 3))
    for _ in range(2):
        own.add()
    counts = []
    for reached in range(3):
        Event.reached = reached
        counts.append(own.count())
    assert counts == [0, 1, 2]
    assert set(chosen) == {torch.device("cuda", 3)}


def test_a_failed_device_is_not_the_monitors_to_report(monkeypatch: pytest.MonkeyPatch) -> None:
    Event.made, Event.reached = [], 0
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    own = OwnSteps(torch.device("cuda", 0))
    own.add()

    def fail(event: Event) -> bool:
        raise RuntimeError("CUDA error: device-side assert triggered")

    monkeypatch.setattr(Event, "query", fail)
    assert own.count() == 0


@pytest.mark.parametrize(
    ("stage", "own"), [(None, "fbfbf|b"), (0, "fbfbf|b"), (1, "fbfbf|b"), (2, "f|bfbfb"), (3, "|fbfbfb")]
)
def test_zero_decides_where_processes_first_wait(stage: int | None, own: str) -> None:
    """Gradients meet in the last backward pass, at ZeRO 2 in each; at ZeRO 3 weights meet at once."""
    done = ""

    def note(event: str) -> Any:
        def call(*_: Any, **__: Any) -> Any:
            nonlocal done
            done += event
            return SimpleNamespace(backward=note("b"))

        return call

    if stage is None:
        engine: Any = TorchEngine.__new__(TorchEngine)
        engine._shared, engine._forward = False, note("f")
    else:
        engine = DeepSpeedEngine.__new__(DeepSpeedEngine)
        engine._stage, engine._first = stage, True

        class Wrapped:
            __call__, backward = staticmethod(note("f")), staticmethod(note("b"))
            step = set_gradient_accumulation_boundary = staticmethod(lambda *_: None)

        engine._engine = Wrapped()
    engine.before_waiting = note("|")
    for _ in range(2):
        for number in range(3):
            engine.micro_step({}, lambda sums: sums, last=number == 2)
    assert done == 2 * own
