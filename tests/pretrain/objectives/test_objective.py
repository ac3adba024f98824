"""What all objectives have in common: figures, the loss that is judged, shares, and what a checkpoint learned last."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from pretrain.callbacks.guard import StepGuard
from pretrain.objectives.mlm import MaskingSettings
from pretrain.objectives.objective import Corpus
from pretrain.objectives.registry import OBJECTIVES
from pretrain.phase import learned, values_at
from pretrain.settings import PretrainSettings

NSP, MLM, CLM = (OBJECTIVES[name] for name in ("mlm+nsp", "mlm", "clm"))
TOTALS = {"loss": 6.0, "correct": 1.0, "predicted": 4.0, "pair_loss": 3.0, "pairs_correct": 1.0, "pairs": 2.0}
TOKENS = {"loss": 1.5, "accuracy": 0.25}


def test_figures_are_means_and_none_of_nothing() -> None:
    assert MLM.figures(TOTALS) == CLM.figures(TOTALS) == TOKENS
    assert NSP.figures(TOTALS) == {**TOKENS, "pair_loss": 1.5, "pair_accuracy": 0.5}
    assert NSP.figures({**TOTALS, "pairs": 0.0}) == TOKENS
    assert all(objective.figures(dict.fromkeys(TOTALS, 0.0)) == {} for objective in OBJECTIVES.values())


@pytest.mark.parametrize("pair_loss", [3.0, math.nan, math.inf])
def test_a_step_is_judged_by_a_tokens_loss_and_by_whether_all_losses_are_finite(pair_loss: float) -> None:
    totals = {name: torch.tensor(value) for name, value in {**TOTALS, "pair_loss": pair_loss}.items()}
    assert float(MLM.judged(totals)) == 1.5
    assert bool(NSP.judged(totals).isfinite()) == math.isfinite(pair_loss)


def test_the_share_that_is_predicted_is_the_mean_over_the_steps() -> None:
    masking = MaskingSettings(rate=0.4, rate_end=0.1)
    run = PretrainSettings(steps=31, masking=masking, optimizer={"warmup_steps": 1})  # type: ignore[arg-type]
    rates = [MLM.rate(run, step) for step in range(31)]
    assert MLM.predicted_share(run) == pytest.approx(sum(rates) / 31) == pytest.approx(0.25)
    assert MLM.predicted_share(run, 20) == pytest.approx(sum(rates[20:]) / 11)
    assert MLM.predicted_share(run, 5, 9) == pytest.approx(sum(rates[5:9]) / 4)
    assert CLM.predicted_share(run, 5, 9) == 1 and MLM.rate(run, None) == 0.1
    assert MLM.noted(run, 10) == {"masking_rate": 0.3} and CLM.noted(run, 10) == {}


def test_samples_are_counted_once_and_only_where_they_are_asked_for() -> None:
    asked: list[int] = []

    def count() -> np.ndarray:
        asked.append(1)
        return np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2])

    table: Any = None
    samples: Any = type("Samples", (), {"positions": 24, "texts": 2, "__len__": lambda self: 2})()
    corpus = Corpus(PretrainSettings(), table, samples, count)
    CLM.predict(corpus)
    assert asked == []
    MLM.predict(corpus)
    NSP.predict(corpus)
    assert asked == [1]


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, ["mlm", "mlm", "mlm"]),
        ({"objective": "clm", "phases": []}, ["clm", "clm", "clm"]),
        ({"objective": "mlm", "phases": [{"objective": "clm", "steps": 30}, {"steps": 30}]}, ["clm", "clm", "mlm"]),
    ],
)
def test_what_a_checkpoint_learned_last(settings: dict[str, Any], names: list[str]) -> None:
    assert [learned(settings, step)[-1].name for step in (1, 30, 31)] == names
    assert [objective.name for objective in learned(settings, 60)] == list(dict.fromkeys(names))
    assert [objective.name for objective in learned({}, 1)] == [PretrainSettings().objective]


def test_a_step_has_the_settings_of_its_phase() -> None:
    phases = [{"steps": 30, "objective": "clm", "max_seq_len": None}, {"steps": 20, "max_seq_len": 256}]
    run = {"objective": "mlm", "max_seq_len": 128, "phases": phases}
    taken = [(values_at(run, step)["objective"], values_at(run, step)["max_seq_len"]) for step in (1, 30, 31, 50)]
    assert taken == [("clm", 128), ("clm", 128), ("mlm", 256), ("mlm", 256)]
    assert values_at({"objective": "clm"}, 7) == {"objective": "clm"}


def test_the_guard_forgets_the_losses_of_another_objective() -> None:
    guard = StepGuard(PretrainSettings(spike=2.0), False, torch.device("cpu"))

    def skipped(step: int, loss: float) -> bool:
        return bool(guard.judge(step, torch.tensor(loss, dtype=torch.float64), torch.tensor(0.5)).skip)

    assert [skipped(step, loss) for step, loss in enumerate((1.0, 5.0))] == [False, True]
    guard.restart()
    assert guard.figures().average is None and guard.figures().faults == 1
    assert [skipped(step, loss) for step, loss in enumerate((5.0, 9.0, 11.0), 2)] == [False, False, True]
    assert guard.figures().average == pytest.approx(5.04)
