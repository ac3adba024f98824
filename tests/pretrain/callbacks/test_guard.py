"""The guard: which batches count, how far gradients are divided, how the loss scale moves; truth in plain Python."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pretrain.callbacks.guard import FIRST_SCALE, GROWTH_STEPS, StepGuard
from pretrain.settings import OptimizerSettings, PretrainSettings

CPU = torch.device("cpu")


def settings(clip: float = 1.0, spike: float = 2.0, max_skipped: int = 3) -> PretrainSettings:
    return PretrainSettings(
        steps=100,
        spike=spike,
        max_skipped=max_skipped,
        optimizer=OptimizerSettings(max_grad_norm=clip, warmup_steps=10),
    )


def number(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


def judged(guard: StepGuard, step: int, loss: float, norm: float = 0.5) -> tuple[float, bool]:
    verdict = guard.judge(step, number(loss), torch.tensor(norm))
    assert verdict.divisor.dtype == verdict.skip.dtype == torch.float32  # as a fused optimizer takes them
    return float(verdict.divisor), bool(verdict.skip)


class Plain:
    """The rules, step by step on the host."""

    def __init__(self) -> None:
        self.average: float | None = None
        self.faults: list[int] = []
        self.overflows, self.scale, self.clean = 0, FIRST_SCALE, 0

    def accepts(self, step: int, loss: float, norm: float) -> bool:
        if not math.isfinite(loss) or (self.average is not None and loss > 2.0 * self.average):
            self.faults.append(step)
            return False
        if not math.isfinite(norm):
            self.clean = 0
            if self.scale > 1:
                self.overflows, self.scale = self.overflows + 1, self.scale / 2
            else:
                self.faults.append(step)
            return False
        self.average = loss if self.average is None else self.average + (loss - self.average) / 100
        self.clean += 1
        if self.clean == GROWTH_STEPS:
            self.scale, self.clean = self.scale * 2, 0
        return True


VALUES = st.sampled_from([0.5, 1.0, 1.9, 3.0, 10.0, math.nan, math.inf])


@given(st.lists(st.tuples(VALUES, st.sampled_from([0.1, 2.0, math.nan, math.inf])), max_size=40))
def test_every_step_is_judged_by_the_rules_and_a_resumed_guard_goes_on(steps: list[tuple[float, float]]) -> None:
    plain, guard = Plain(), StepGuard(settings(), True, CPU)
    for step, (loss, norm) in enumerate(steps):
        scale = plain.scale
        divisor, skipped = judged(guard, step, loss, norm * scale)
        assert skipped == (not plain.accepts(step, loss, norm))
        if not skipped:
            assert divisor == pytest.approx(scale * max(1.0, norm + 1e-6))
        figures = guard.figures()
        assert figures.average == plain.average and figures.scale == plain.scale
        assert figures.skipped == plain.faults[:4] and figures.faults == len(plain.faults)
        assert figures.overflows == plain.overflows and figures.clean_steps == plain.clean
        if step % 7 == 3:
            guard = StepGuard(settings(), True, CPU, figures._asdict())


def test_a_batch_in_which_nothing_is_predicted_changes_nothing_and_is_no_fault() -> None:
    guard = StepGuard(settings(), True, CPU)
    judged(guard, 0, 2.0)
    before = guard.figures()
    assert judged(guard, 1, 0.0, 0.0)[1]
    assert guard.figures() == before._replace(gradient_norm=0.0)
    assert not judged(guard, 2, 2.0)[1]


def test_clipping_is_that_of_torch() -> None:
    gradient = torch.randn(100, generator=torch.Generator().manual_seed(0)) * 3
    weight = torch.nn.Parameter(torch.zeros(100))
    weight.grad = gradient.clone()
    torch.nn.utils.clip_grad_norm_([weight], 1.0)
    divisor, _ = judged(StepGuard(settings(), False, CPU), 0, 1.0, float(gradient.norm()))
    torch.testing.assert_close(gradient / divisor, weight.grad)
    assert judged(StepGuard(settings(clip=0.0), False, CPU), 0, 1.0, 1e9)[0] == 1


def test_the_scale_doubles_after_many_clean_steps() -> None:
    guard = StepGuard(settings(), True, CPU, {"scale": 4.0, "clean_steps": GROWTH_STEPS - 1})
    judged(guard, 0, 1.0)
    assert guard.figures().scale == 8 and guard.figures().clean_steps == 0


def test_the_smallest_scale_is_not_to_blame() -> None:
    guard = StepGuard(settings(), True, CPU, {"scale": 1.0})
    judged(guard, 5, 1.0, math.inf)
    assert guard.figures().last == "fault" and guard.figures().skipped == [5] and guard.figures().scale == 1


def test_without_fp16_there_is_no_scale() -> None:
    guard = StepGuard(settings(), False, CPU, {"scale": 64.0})
    for step in range(3):
        judged(guard, step, 1.0, math.nan)
    figures = guard.figures()
    assert figures.scale == 1 and figures.overflows == 0 and figures.skipped == [0, 1, 2]


def test_nothing_is_read_from_the_device() -> None:
    """On meta tensors, which have no values, every read of one fails."""
    guard, loss = StepGuard(settings(), True, torch.device("meta")), torch.zeros((), device="meta")
    verdicts = [guard.judge(step, loss.double(), loss) for step in range(3)]
    for verdict in verdicts:
        with pytest.raises(RuntimeError, match="meta tensors"):
            bool(verdict.skip)
