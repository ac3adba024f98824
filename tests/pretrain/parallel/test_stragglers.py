"""The spread of the processes' own work: who is slow is named, whoever waits for it is not."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pretrain.callbacks.metrics import read_metrics
from pretrain.parallel import stragglers
from pretrain.parallel.ddp import TorchEngine
from pretrain.parallel.stragglers import OwnWork, spread_of
from pretrain.parallel.zero import DeepSpeedEngine

sys.path.insert(0, str(Path(__file__).parent))
from training_runs import finish, start


@pytest.mark.parametrize(
    ("own", "step", "expected"),
    [
        # half as long again as the median, and the others wait a sixth of each step: named
        ([0.30, 0.45, 0.31, 0.30], 0.9, (0.30, 0.30, 0.45, 1)),
        ([0.30, 0.35, 0.31, 0.30], 0.9, (0.30, 0.30, 0.35, None)),  # 0.35 < 1.2 · 0.30
        ([0.30, 0.36, 0.31, 0.30], 0.9, (0.30, 0.30, 0.36, 1)),  # 0.36 = 1.2 · 0.30, and 0.06 > 0.05 · 0.9
        # twice the median, but a step has 0.9 s: its hundredth
        ([0.01, 0.01, 0.02], 0.9, (0.01, 0.01, 0.02, None)),
        ([0.3, 0.2], 0.5, (0.2, 0.2, 0.3, 0)),  # of two the faster one is the median
        # most are slow: then nobody is
        ([0.1, 0.3, 0.3], 0.5, (0.1, 0.3, 0.3, None)),
    ],
)
def test_who_stands_out(own: list[float], step: float, expected: tuple[Any, ...]) -> None:
    assert tuple(spread_of(own, step)) == expected


def test_own_work_is_from_the_end_of_a_step_to_the_first_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 10.0, 10.3, 11.0, 11.5, 12.0, 20.0, 20.1, 21.0])
    monkeypatch.setattr(stragglers, "time", SimpleNamespace(perf_counter=lambda: next(times)))
    own = OwnWork(torch.device("cpu"))  # 0
    own.begin()  # 10
    own.end_alone()  # 10.3
    own.end()  # 11
    own.end_alone()  # 11.5
    own.end()  # 12
    assert own.parts() == 2
    own.begin()  # 20: a validation is no step's work
    own.end_alone()  # 20.1
    own.end()  # 21
    assert own.take() == pytest.approx(((0.3 + 0.5 + 0.1) / 3, (1 + 1 + 1) / 3))
    assert own.parts() == 3 and all(value != value for value in own.take())


class Event:
    """Stands for torch.cuda.Event: times of a device that has come to a point; a host that waits is an error."""

    made: list[Event] = []  # noqa: RUF012
    reached = 0

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        self.made.append(self)

    def query(self) -> bool:
        return self.made.index(self) < Event.reached

    def elapsed_time(self, other: Event) -> float:
        assert self.query() and other.query()  # else torch raises
        return 100.0 * (self.made.index(other) - self.made.index(self))

    def synchronize(self) -> None:
        raise AssertionError


def test_on_a_gpu_the_device_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    Event.made, Event.reached = [], 0
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(stragglers, "Moment", float | Event)
    chosen: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    own = OwnWork(torch.device("cuda", 3))
    for _ in range(2):
        own.end_alone()
        own.end()
    counts = []
    for reached in range(len(Event.made) + 1):
        Event.reached = reached
        counts.append(own.parts())
    # events: beginning, own part, end = beginning, own part, end, a tenth of a second from one to the next
    assert counts == [0, 0, 1, 1, 2, 2] and own.take() == pytest.approx((0.1, 0.2))
    assert set(chosen) == {torch.device("cuda", 3)}


def test_a_failed_device_is_not_the_monitors_to_report(monkeypatch: pytest.MonkeyPatch) -> None:
    Event.made, Event.reached = [], 0
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    own = OwnWork(torch.device("cuda", 0))
    own.end_alone()

    def fail(event: Event) -> bool:
        raise RuntimeError("CUDA error: device-side assert triggered")

    monkeypatch.setattr(Event, "query", fail)
    assert own.parts() == 0


@pytest.mark.parametrize(
    ("stage", "own"), [(None, "fbfbf|b"), (0, "fbfbf|b"), (1, "fbfbf|b"), (2, "f|bfbfb"), (3, "|fbfbfb")]
)
def test_zero_decides_where_processes_first_wait(stage: int | None, own: str) -> None:
    """Gradients meet in the last backward pass, at ZeRO 2 in each; at ZeRO 3 weights meet at once."""
    done = ""

    def note(what: str) -> Any:
        def call(*_: Any, **__: Any) -> Any:
            nonlocal done
            done += what
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


# instead of the clock: which process it is, each one reads when it is called
TAKE = """
import os, pretrain.parallel.stragglers as s
s.OwnWork.take = lambda self: (0.4 if os.environ["RANK"] == "1" else 0.1 + 0.1 * int(os.environ["RANK"]), 0.5)
"""


@pytest.mark.slow
def test_a_slow_process_is_named_in_each_line_of_the_log(tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    changes: dict[str, Any] = {
        "global_batch": 24,
        "steps": 4,
        "log_every": 2,
        "validation_samples": 0,
        "optimizer": {"warmup_steps": 2},
    }
    code, errors = finish(start(tmp_path, tokens, tokenizer, 3, patch=TAKE, **changes))
    assert code == 0, errors
    rows = [row for row in read_metrics(tmp_path / "logs" / "metrics.jsonl") if "loss" in row]
    assert [row["step"] for row in rows] == [2, 4]
    for row in rows:
        own = [row[f"own_seconds_{name}"] for name in ("fastest", "median", "slowest")]
        assert own == [0.1, 0.3, 0.4] and row["step_seconds"] == 0.5
        assert (row["slowest_rank"], row["slowest_host"]) == (1, socket.gethostname())
