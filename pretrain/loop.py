"""The loop of a run: steps, lines of the log, validation and checkpoints, up to the model that it leaves."""

from __future__ import annotations

import gc
import json
import math
import shutil
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from torch import Tensor

from common.errors import HunminError
from common.files import atomic_write
from common.progress import say
from pretrain.callbacks.checkpoint import save_checkpoint, step_folder
from pretrain.callbacks.guard import GuardFigures
from pretrain.callbacks.log_window import LogWindow, means
from pretrain.callbacks.training_log import Journal
from pretrain.export import load_hub_model, save_hub_model
from pretrain.export.check import check_folder
from pretrain.kernels.compile import COMPILED, save_compiled
from pretrain.optim.schedules import rate_factor
from pretrain.parallel.stragglers import gather_own, spread_of
from pretrain.setup import PLANS, Run
from pretrain.trainer import Trainer

VOTE_STEPS = 2
"""Steps after which a GPU's count of processes that were asked to stop is read: the device still has the work of as
many steps to do then, so waiting for it leaves no gap."""


class Loop:
    """A run from its next step to its last one.

    Args:
        run: what `begin` returned.
        out: the run's folder.
    """

    def __init__(self, run: Run, out: Path) -> None:
        self._run, self._settings, self._out = run, run.loader.settings, out
        self._done = self._saved = run.step
        self._window = LogWindow(run.engine.device, run.saved)
        self._trainer = Trainer(run.engine, run.loader, run.guard)
        run.engine.before_waiting = self._window.own.end_alone
        self._journal = Journal(run, out) if run.process.first else None
        self._votes: deque[Callable[[], float]] = deque()
        self._warned = run.guard.figures().faults

    def run(self, asked: Callable[[], bool]) -> bool:
        """Take the steps and return whether the last one is done; if not, a stop was asked for and the state is saved.

        Args:
            asked: returns whether this process was asked to stop.

        Raises:
            HunminError: too many batches were skipped, or the last weights give no finite loss.
            DiskFullError: no space for a checkpoint; earlier ones stay.
        """
        s, stopped, due = self._settings, False, False
        validation: dict[str, float] = {}
        with ExitStack() as stack:
            stack.enter_context(_collections_between_steps())
            batches = stack.enter_context(closing(self._run.loader.ahead(self._done)))
            if self._journal:
                stack.enter_context(self._journal)
            if self._done == 0:
                self._validate()
            self._window.restart()
            own, before = self._window.own, self._done
            self._run.process.monitor.follow(lambda: before + own.parts())
            while self._done < s.steps and not (stopped and self._saved == self._done):
                with self._window.waiting():
                    micro_batches = next(batches)
                lr = s.optimizer.learning_rate * rate_factor(self._done, s.steps, s.optimizer)
                step = self._trainer.step(self._done, lr, micro_batches, asked())
                self._window.add(step.totals)
                self._done += 1
                last = self._done == s.steps
                stopped = stopped or self._stop_is_asked(asked(), step.asked)
                due = due or stopped or self._done % s.checkpoint_every == 0 or last
                if self._journal:
                    self._journal.advance()
                if self._done % s.log_every == 0 or last:
                    self._log(lr)
                if self._done % s.validate_every == 0 or last:
                    validation = self._validate()
                # weights that a batch has just failed on must not replace good ones: the next good step saves
                if due and self._check_skipped().last == "accepted":
                    self._save()
                    due = False
            if self._done == s.steps and due:
                self._save_last(validation)
            if self._journal and self._done < s.steps:
                say(
                    f"stopped as asked after step {self._done} of {s.steps}; "
                    f"the checkpoint of step {self._saved} is complete"
                )
        return self._done == s.steps

    def finish(self, tokenizer: Path) -> dict[str, Any]:
        """Write the model, as transformers reads it, into `out/model` and return the run's counts, written beside it.

        Args:
            tokenizer: tokenizer folder that goes with the model.
        """
        run, loader = self._run, self._run.loader
        guard = run.guard.figures()
        counts = {
            "steps": self._settings.steps,
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
            hub = load_hub_model(self._settings, run.engine.model.hub.config, weights)
            hub.eval()
            save_hub_model(hub, tokenizer, self._out / "model", lambda folder: check_folder(folder, hub))
            with atomic_write(self._out / "counts.json") as stream:
                json.dump(counts, stream, indent=1, sort_keys=True)

        run.process.on_first("the final model", write)
        return counts

    def _stop_is_asked(self, here: bool, everywhere: Tensor) -> bool:
        """Return whether any process was asked to stop: of the same step on all of them, so that they leave together.

        Args:
            here: whether this one was.
            everywhere: how many were when the step began, on the device.
        """
        if self._run.process.world == 1:
            return here
        self._votes.append(self._run.engine.later(everywhere))
        if len(self._votes) <= (0 if self._run.engine.device.type == "cpu" else VOTE_STEPS):
            return False
        return self._votes.popleft()() > 0

    def _log(self, lr: float) -> None:
        guard = self._check_skipped()
        figures = self._window.line()
        spread = self._spread()
        if self._journal:
            self._journal.write(self._done, lr, figures, guard, spread)
        gc.collect()  # recomputed layers leave cycles behind

    def _spread(self) -> dict[str, Any]:
        """Return how far the processes' own work in the steps since the last line differs; {} of one process."""
        process, own = self._run.process, self._window.own
        own_seconds, step_seconds = own.take()
        if process.world == 1 or self._run.engine.device.type == "tpu":  # the host's clock does not see a TPU's work
            return {}
        spread = spread_of(gather_own(self._run.engine, process.rank, own_seconds).tolist(), step_seconds)
        own.begin()  # processes have waited for each other
        figures: dict[str, Any] = {
            "step_seconds": step_seconds,
            "own_seconds_fastest": spread.fastest,
            "own_seconds_median": spread.median,
            "own_seconds_slowest": spread.slowest,
        }
        figures = {name: round(value, 6) for name, value in figures.items()}
        if spread.rank is not None:
            figures |= {"slowest_rank": spread.rank, "slowest_host": process.monitor.hosts[spread.rank]}
        return figures

    def _check_skipped(self) -> GuardFigures:
        """Return the guard's figures; warn of batches that were skipped since, and stop after too many."""
        guard, most = self._run.guard.figures(), self._settings.max_skipped
        if self._journal:
            for step in guard.skipped[self._warned :]:
                say(f"warning: batch {step} is skipped: its loss is not finite, or leaps up", style="yellow")
        self._warned = len(guard.skipped)
        if guard.faults > most:
            raise HunminError(
                f"{guard.faults} batches had no finite loss, or one more than {self._settings.spike} times the mean: "
                f"{', '.join(map(str, guard.skipped))}{' …' if guard.faults > len(guard.skipped) else ''}",
                f"a run passes over at most {most} (pretrain.max_skipped)",
                self._remedy(),
            )
        return guard

    def _remedy(self) -> str:
        """Return what to do about a run that diverges, as a command where there is a checkpoint to go on from."""
        if not self._saved:
            return (
                "lower pretrain.optimizer.learning_rate or lengthen the warm-up, and begin anew in another `out` folder"
            )
        source = step_folder(self._out / "checkpoints", self._saved)
        s = self._settings
        half = (
            s.optimizer.learning_rate * rate_factor(self._done - 1, s.steps, s.optimizer) / 2
        )  # of the rate that was too high
        return (
            f"the checkpoint of step {self._saved} is kept; go on from it with a lower rate: hunmin pretrain RECIPE "
            f"pretrain.branch_from={source} pretrain.optimizer.learning_rate={half:.2g}"
        )

    def _validate(self) -> dict[str, float]:
        """Write the figures of the held-out samples and return them; {} when none are held out."""
        figures: dict[str, float] = {}
        if len(self._run.loader.validation_ids):
            figures = means(self._trainer.validate().tolist())
            if self._journal:
                self._journal.write_validation(self._done, figures)
            self._window.restart()
        return figures

    def _save(self) -> None:
        guard = self._run.guard.figures()._asdict()
        metadata = {
            **self._run.metadata,
            **self._window.state(),
            "guard": {name: value for name, value in guard.items() if name not in ("last", "gradient_norm")},
            "samples_seen": self._run.loader.first_sample + self._settings.samples_before(self._done),
        }
        keep_last, keep_every = self._settings.keep_last, self._settings.keep_every
        folder, beside = self._out / "checkpoints", self._run.vocabulary
        save_checkpoint(self._run.engine, folder, self._done, metadata, keep_last, keep_every, beside)
        if self._run.process.first:
            save_compiled(self._out)
        self._saved = self._done
        self._window.restart()

    def _save_last(self, validation: dict[str, float]) -> None:
        """Save after a last step whose batch was skipped, if the weights are not to blame: by their validation, or as
        only the loss scale was too large."""
        overflowed = self._run.guard.figures().last == "overflow"
        if not (overflowed or math.isfinite(validation.get("loss", math.nan))):
            raise HunminError(
                f"the last batch was skipped, and no held-out text shows that the weights after step {self._done} "
                "are sound",
                "a run ends with weights that give a finite loss",
                self._remedy(),
            )
        self._save()


class _collections_between_steps:
    """Collections amid a step cost a few percent; what is there now stays to the end, so none need look at it."""

    def __enter__(self) -> None:
        gc.collect()
        gc.freeze()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        gc.enable()
        gc.unfreeze()
