"""A run: its steps, lines of its log, validation and checkpoints, up to the model that it leaves."""

from __future__ import annotations

import gc
import json
import math
import shutil
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from common.errors import HunminError
from common.files import atomic_write
from common.progress import say
from pretrain.batches.inputs import MicroBatch
from pretrain.batches.loader import Loader
from pretrain.batches.random_numbers import key_of
from pretrain.callbacks.checkpoint import save_checkpoint
from pretrain.callbacks.checkpoint_metadata import step_folder
from pretrain.callbacks.guard import GuardFigures, StepGuard, TooManySkippedError
from pretrain.callbacks.training_log import LogWindow, TrainingLog
from pretrain.export import load_hf_model, save_hf_model
from pretrain.export.check import check_folder
from pretrain.kernels.compile import COMPILED, save_compiled
from pretrain.objectives.objective import Objective, Sums
from pretrain.objectives.registry import OBJECTIVES
from pretrain.optim.schedules import learning_rate
from pretrain.parallel.engine import Engine
from pretrain.parallel.own_steps import OwnSteps
from pretrain.settings import PretrainSettings
from pretrain.setup import PLANS, Run

COUNTS = ("tokens", "positions")
"""Sums of a step beside its objective's: positions that hold text, and all positions, padding too."""
VOTE_STEPS = 2
"""Steps after which a GPU's count of processes that received a stop signal is read: the device still has the work of as
many steps to do then, so waiting for it leaves no gap."""


class StepResult(NamedTuple):
    """The result of a step, on the device."""

    totals: Tensor
    """The trainer's `names` over all processes, float64; zeros when the batch was skipped."""
    stop_votes: Tensor
    """Number of processes that received a stop signal, float64."""


def names_of(settings: PretrainSettings) -> tuple[str, ...]:
    """Return the names of the sums over a run's steps: those of its objectives, and `COUNTS`."""
    return (*dict.fromkeys(name for objective in settings.objectives for name in OBJECTIVES[objective].sums), *COUNTS)


class Trainer:
    """Takes steps, and validates."""

    def __init__(self, engine: Engine, loader: Loader, guard: StepGuard) -> None:
        self.engine = engine
        self.loader = loader
        self.guard = guard
        self.settings = loader.settings
        self.names = names_of(loader.settings)

    def step(self, step: int, lr: float, micro_batches: list[MicroBatch], stop_requested: bool = False) -> StepResult:
        """Do one optimizer step; the host only hands work to the device and waits for none of it.

        Dropout is drawn from (seed, step, place of the micro-batch), so a resumed run repeats nothing and stores no
        random state.
        """
        engine, totals = self.engine, self._zeros()
        objective = engine.model.enter(self.settings.phase_at(step).settings)
        if self.settings.begins_phase(step):
            self.guard.restart()
        host = torch.tensor([step, stop_requested], dtype=torch.float64)
        host = host.pin_memory() if engine.device.type == "cuda" else host
        this_step, vote = host.to(engine.device, non_blocking=True).split(1)
        weight = self.guard.scale / len(micro_batches)  # the engine averages over processes
        for number, batch in enumerate(micro_batches):
            place = number * self.loader.world + self.loader.rank
            torch.manual_seed(key_of(self.settings.seed, 3, step, place) % 2**63)
            inputs = engine.model.on_device(batch.inputs, engine.device)

            def loss(sums: Sums, batch: MicroBatch = batch) -> Tensor:
                return objective.loss(sums, batch) * weight

            sums = engine.micro_step(inputs, loss, last=number + 1 == len(micro_batches))
            totals += self._count(sums, batch)
        totals = engine.sum(torch.cat([totals, vote]))
        mean = objective.judged(dict(zip(self.names, totals, strict=False)))
        verdict = self.guard.judge(this_step[0], mean, engine.gradient_norm())
        engine.apply(lr, verdict.divisor, verdict.skip)
        return StepResult(torch.where(verdict.skip > 0, 0.0, totals[:-1]), totals[-1])

    @torch.no_grad()
    def validate(self, step: int) -> Tensor:
        """Return `names` over the held-out samples of all processes, by a step's objective; draws no random number."""
        model, totals = self.engine.model.eval(), self._zeros()
        model.enter(self.settings.phase_at(step).settings)
        for batch in self.loader.validation(step):
            totals += self._count(model(**model.on_device(batch.inputs, self.engine.device)), batch)
        model.train()
        return self.engine.sum(totals)

    def _zeros(self) -> Tensor:
        return torch.zeros(len(self.names), dtype=torch.float64, device=self.engine.device)

    def _count(self, sums: Sums, batch: MicroBatch) -> Tensor:
        """Return a micro-batch's `names` on the device; nothing waits for it."""
        counts = batch.counts.to(self.engine.device, non_blocking=True)
        zero = torch.zeros_like(sums["loss"])
        own = [sums.get(name, zero).detach().double() for name in self.names[: -len(COUNTS)]]
        return torch.cat([torch.stack(own), counts])


class TrainingRun(Trainer):
    """A run from its next step to its last one."""

    def __init__(self, run: Run, out: Path) -> None:
        super().__init__(run.engine, run.loader, run.guard)
        self._run, self._out = run, out
        self._done = self._saved = run.step
        self._window = LogWindow(run.engine.device, self.names, run.saved)
        self._own = OwnSteps(run.engine.device)
        run.engine.before_waiting = self._own.add
        self._training_log = TrainingLog(run, out) if run.process.first else None
        self._votes: deque[Callable[[], float]] = deque()
        self._warned = run.guard.figures().faults

    def run(self, stop_requested: Callable[[], bool]) -> bool:
        """Take the steps and return whether the last one is done; if not, a stop was asked for and the state is saved.

        Raises:
            HunminError: too many batches were skipped, or the last weights give no finite loss.
            DiskFullError: no space for a checkpoint; earlier ones stay.
        """
        settings = self.settings
        stopped = False
        due = False
        validation: dict[str, float] = {}
        with ExitStack() as stack:
            stack.enter_context(_collections_between_steps())
            batches = stack.enter_context(closing(self.loader.ahead(self._done)))
            if self._training_log:
                stack.enter_context(self._training_log)
            if self._done == 0:
                self._validate()
            self._window.restart()
            before = self._done
            self._run.process.monitor.follow(lambda: before + self._own.count())
            while self._done < settings.steps and not (stopped and self._saved == self._done):
                with self._window.waiting():
                    micro_batches = next(batches)
                lr = learning_rate(self._done, settings)
                step = self.step(self._done, lr, micro_batches, stop_requested())
                self._window.add(step.totals)
                self._done += 1
                last = self._done == settings.steps
                stopped = stopped or self._stop_is_asked(stop_requested(), step.stop_votes)
                due = due or stopped or self._done % settings.checkpoint_every == 0 or last
                if self._training_log:
                    self._training_log.advance()
                # a line is of one phase
                if self._done % settings.log_every == 0 or last or settings.begins_phase(self._done):
                    self._log(lr)
                if self._done % settings.validate_every == 0 or last:
                    validation = self._validate()
                # weights that a batch has just failed on must not replace good ones: the next good step saves
                if due and self._check_skipped().last == "accepted":
                    self._save()
                    due = False
            if self._done == settings.steps and due:
                self._save_last(validation)
            if self._training_log and self._done < settings.steps:
                say(
                    f"stopped as asked after step {self._done} of {settings.steps}; "
                    f"the checkpoint of step {self._saved} is complete"
                )
        return self._done == settings.steps

    def finish(self, tokenizer: Path) -> dict[str, Any]:
        """Write the model for transformers into `out/model`, the run's counts into `out`, and return the counts."""
        run, loader = self._run, self.loader
        guard = self.guard.figures()
        counts = {
            "steps": self.settings.steps,
            "tokens": self._window.tokens,
            "samples": len(loader.samples),
            "validation_samples": len(loader.validation_ids),
            "epochs": round(loader.epochs, 4),
            "padding": round(loader.samples.padding, 6),
            "skipped": guard.faults + guard.overflows,
        }
        if run.metadata["parent"]:
            counts["parent"] = run.metadata["parent"]
        weights = run.engine.weights()  # of all processes together

        def write() -> None:
            for leftover in (*self._out.glob(PLANS), self._out / COMPILED):
                shutil.rmtree(leftover, ignore_errors=True)
            hf_model = load_hf_model(self.settings, run.engine.model.hf_model.config, weights)
            hf_model.eval()
            save_hf_model(hf_model, tokenizer, self._out / "model", lambda folder: check_folder(folder, hf_model))
            with atomic_write(self._out / "counts.json") as stream:
                json.dump(counts, stream, indent=1, sort_keys=True)

        run.process.on_first("the final model", write)
        return counts

    def _stop_is_asked(self, here: bool, votes: Tensor) -> bool:
        """Return whether any process received a stop signal, at the same step on all, so that they leave together."""
        if self._run.process.world == 1:
            return here
        self._votes.append(self.engine.later(votes))
        if len(self._votes) <= (0 if self.engine.device.type == "cpu" else VOTE_STEPS):
            return False
        asked = self._votes.popleft()
        return asked() > 0

    def _log(self, lr: float) -> None:
        guard = self._check_skipped()
        figures = self._window.line(self._last_objective().figures)
        if self._training_log:
            self._training_log.write(self._done, lr, figures, guard)
        gc.collect()  # recomputed layers leave cycles behind

    def _check_skipped(self) -> GuardFigures:
        """Return the guard's figures; warn of batches that were skipped since, and stop after too many."""
        guard, most = self.guard.figures(), self.settings.max_skipped
        if self._training_log:
            for step in guard.skipped[self._warned :]:
                say(f"warning: batch {step} is skipped: its loss is not finite, or spikes", style="yellow")
        self._warned = len(guard.skipped)
        if guard.faults > most:
            raise TooManySkippedError(
                f"{guard.faults} batches had no finite loss, or one more than {self.settings.spike} times the mean: "
                f"{', '.join(map(str, guard.skipped))}{' …' if guard.faults > len(guard.skipped) else ''}",
                f"a run passes over at most {most} (pretrain.max_skipped)",
                self._remedy(),
            )
        return guard

    def _remedy(self) -> str:
        """Return the fix for a run that diverges, as a command where there is a checkpoint to continue from."""
        if not self._saved:
            return (
                "lower pretrain.optimizer.learning_rate or lengthen the warm-up, and begin anew in another `out` folder"
            )
        source = step_folder(self._out / "checkpoints", self._saved)
        half = learning_rate(self._done - 1, self.settings) / 2  # of what was too high
        return (
            f"the checkpoint of step {self._saved} is kept; continue from it with a lower rate: hunmin pretrain RECIPE "
            f"pretrain.branch_from={source} pretrain.optimizer.learning_rate={half:.2g}"
        )

    def _last_objective(self) -> Objective:
        return self.loader.objective(max(0, self._done - 1))

    def _validate(self) -> dict[str, float]:
        """Write the figures of the held-out samples and return them; {} when none are held out."""
        figures: dict[str, float] = {}
        if len(self.loader.validation_ids):
            totals = self.validate(max(0, self._done - 1)).tolist()
            figures = self._last_objective().figures(dict(zip(self.names, totals, strict=True)))
            if self._training_log:
                self._training_log.write_validation(self._done, figures)
            self._window.restart()
        return figures

    def _save(self) -> None:
        guard = self.guard.figures()._asdict()
        metadata = {
            **self._run.metadata,
            **self._window.state(),
            "code": self._run.process.code,
            "guard": {name: value for name, value in guard.items() if name not in ("last", "gradient_norm")},
            "positions_seen": self.loader.first_position + self.settings.positions_before(self._done),
            "config": self.engine.model.hf_model.config.to_diff_dict(),
        }
        keep_last = self.settings.keep_last
        keep_every = self.settings.keep_every
        folder, beside = self._out / "checkpoints", self._run.vocabulary
        save_checkpoint(self.engine, folder, self._done, metadata, keep_last, keep_every, beside)
        if self._run.process.first:
            save_compiled(self._out)
        self._saved = self._done
        self._window.restart()

    def _save_last(self, validation: dict[str, float]) -> None:
        """Save after a skipped last batch if validation, or an overflow alone, clears the weights."""
        overflowed = self.guard.figures().last == "overflow"
        if not (overflowed or math.isfinite(validation.get("loss", math.nan))):
            raise HunminError(
                f"the last batch was skipped, and no held-out text shows that the weights after step {self._done} "
                "are sound",
                "a run ends with weights that give a finite loss",
                self._remedy(),
            )
        self._save()


@contextmanager
def _collections_between_steps() -> Iterator[None]:
    """Collections amid a step cost a few percent; what is there now stays to the end, so none need look at it."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
