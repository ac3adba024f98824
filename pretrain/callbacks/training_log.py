"""What a person follows a run by: what it measures of itself between two lines of its log, the lines, its progress bar,
and what it says at the beginning.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from common.code import code_changes
from common.progress import ProgressBar, say, short_number
from common.settings import dump_settings
from pretrain.callbacks.guard import GuardFigures
from pretrain.callbacks.metrics import MetricsLog, note_start
from pretrain.cost.peak import device_peak
from pretrain.objectives.objective import Objective
from pretrain.setup import Run


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
        """Return the state for a checkpoint; waits for the device."""
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


class TrainingLog:
    """Metrics and progress of a run, kept by its first process; a context that closes both."""

    def __init__(self, run: Run, out: Path) -> None:
        settings = run.loader.settings
        self._settings = settings
        self._scaled = run.metadata["dtype"] == "fp16"
        vocab_size = run.engine.model.hf_model.config.vocab_size
        self._peak = device_peak(run.engine.device) * run.process.world
        architecture = run.engine.model.architecture
        self._loader = loader = run.loader
        spans = {phase.first: loader.at(phase.first)[1].samples.attention_span for phase in settings.every_phase}

        def flops(step: int) -> float:
            objective, (phase, first, _) = loader.objective(step), settings.phase_at(step)
            span = objective.span(spans[first])
            return architecture.flops_per_token(phase.model, vocab_size, span, objective.rate(phase, step))

        self._flops = flops
        if run.parent:
            say(f"branching from {run.parent} at step {run.step} of {settings.steps}")
        elif run.step:
            say(f"resuming at step {run.step} of {settings.steps}")
        for note in run.notes:
            say(note)
        config = dump_settings(settings, drop="secret")
        self._log = MetricsLog(out / "logs", run.step, settings, config)
        changed = code_changes(run.saved["code"], run.process.code) if "code" in run.saved else []
        note_start(out / "logs", run.step, run.process.world, changed)
        self._bar = ProgressBar("pretrain", settings.steps, "steps", run.step)

    def __enter__(self) -> TrainingLog:
        self._bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)
        self._log.close()

    def advance(self) -> None:
        """Show one more step."""
        self._bar.advance()

    def write(self, done: int, lr: float, figures: dict[str, Any], guard: GuardFigures) -> None:
        """Write a line of the log: the figures of the window that ends with step `done`, and the guard's."""
        settings = self._settings
        objective, named = self._learned(done)
        flops = figures["tokens_per_second"] * self._flops(done - 1)
        row = {
            "step": done,
            **named,
            **figures,
            "lr": lr,
            "batch": settings.samples_before(done) - settings.samples_before(done - 1),
            **objective.noted(settings.phase_at(done - 1).settings, done - 1),
            "gradient_norm": guard.gradient_norm,
            "tflops": round(flops / 1e12, 4),
            "skipped": guard.faults + guard.overflows,
        }
        if (share := flops / self._peak) <= 1:  # a measured peak may lie below what the device can do
            row["mfu"] = round(share, 4)
        if self._scaled:
            row["loss_scale"] = guard.scale
        self._log.log(row)
        loss = row.get("loss", math.nan)
        tokens = short_number(figures["tokens_per_second"])
        note = f"loss {loss:.3f}, {tokens} tokens/s" + (f", {row['mfu']:.0%} MFU" if "mfu" in row else "")
        self._bar.advance(0, note)

    def write_validation(self, done: int, figures: dict[str, float]) -> None:
        """Write the figures of the held-out samples after so many steps."""
        _, named = self._learned(done)
        self._log.log({"step": done, **named, **{f"validation_{name}": value for name, value in figures.items()}})

    def _learned(self, done: int) -> tuple[Objective, dict[str, str]]:
        """Return the objective of step `done`, and its entry in the line of a run with several objectives."""
        objective = self._loader.objective(max(0, done - 1))
        return objective, {"objective": objective.name} if len(self._settings.objectives) > 1 else {}
