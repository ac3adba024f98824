"""The lines of the log: by a run of which only the speed is made up."""

from types import SimpleNamespace
from typing import Any

import pytest

from pretrain.callbacks.training_log import TrainingLog
from pretrain.objectives.registry import OBJECTIVES
from pretrain.settings import PretrainSettings


@pytest.mark.parametrize(("rate", "share"), [(500.0, 0.5), (1000.0, 1.0), (1040.0, None)])
def test_no_share_above_the_whole_is_told(rate: float, share: float | None) -> None:
    """A measured peak may lie below what the device can do: then the run is no part of it."""
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    objective = OBJECTIVES["mlm"]
    journal: Any = TrainingLog.__new__(TrainingLog)
    journal._settings, journal._scaled, journal._peak = PretrainSettings(), False, 1e9
    journal._flops = lambda step: 1e6
    journal._loader = SimpleNamespace(objective=lambda step: objective)
    journal._log = SimpleNamespace(log=rows.append)
    journal._bar = SimpleNamespace(advance=lambda steps, note="": notes.append(note))
    guard: Any = SimpleNamespace(gradient_norm=1.0, faults=0, overflows=0, scale=1.0)
    journal.write(1, 1e-3, {"tokens_per_second": rate, "loss": 2.0}, guard)
    assert rows[0].get("mfu") == share and rows[0]["tflops"] == pytest.approx(rate * 1e6 / 1e12, abs=1e-4)
    assert ("MFU" in notes[0]) == (share is not None) and "loss 2.000" in notes[0]
