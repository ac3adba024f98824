"""The loop of a run: steps, lines of the log, validation and checkpoints, up to the model that it leaves."""

from __future__ import annotations

import gc
import json
import math
import shutil
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import torch.distributed as dist

from common.errors import HunminError
from common.files import atomic_write
from common.progress import ProgressBar, say, short_number
from common.settings import dump_settings
from pretrain.begin import PLANS, Beginning
from pretrain.checkpoint import save_checkpoint
from pretrain.engine import whole_weights
from pretrain.export import check_export, save_hub_model
from pretrain.flops import flops_per_token
from pretrain.masking import MaskedBatch
from pretrain.meter import Meter, means
from pretrain.metrics import MetricsLog
from pretrain.model import model_class
from pretrain.peak import device_peak
from pretrain.processes import any_process, summed
from pretrain.samples import Batch
from pretrain.schedule import masking_rate, rate_factor
from pretrain.trainer import Trainer


class Loop:
    """A run from its next step to its last one.

    Args:
        run: what `begin` returned.
        out: the run's folder.
    """

    def __init__(self, run: Beginning, out: Path) -> None:
        settings, device = run.loader.settings, run.engine.device
        self._run, self._settings, self._out = run, settings, out
        self._trainer = Trainer(run.engine, run.loader, run.mark)
        self._done = self._saved = int(run.mark.get("step", 0))
        first = dist.get_rank() == 0
        self._meter = Meter(settings.length, device, run.mark, first)
        self._peak = device_peak(device) * dist.get_world_size()
        self._log: MetricsLog | None = None
        self._bar: ProgressBar | None = None
        if first:
            if self._done:
                say(f"resuming at step {self._done} of {settings.steps}")
            config = dump_settings(settings, drop="secret")
            self._log = MetricsLog(out / "logs", self._done, settings.wandb, settings.wandb_project, config)
            self._bar = ProgressBar("pretrain", settings.steps, "steps", self._done)

    def run(self, asked: Callable[[], bool]) -> bool:
        """Take the steps and return whether the last one is done; if not, a stop was asked for and the state is saved.

        Args:
            asked: returns whether this process was asked to stop.

        Raises:
            HunminError: too many batches were skipped, or the last weights give no finite loss.
            DiskFullError: no space for a checkpoint; earlier ones stay.
        """
        steps, stopped, due = self._settings.steps, False, False
        figures: dict[str, float] = {}
        # collections amid a step cost a few percent; what is there now stays to the end, so none need look at it
        gc.collect()
        gc.freeze()
        gc.disable()
        with ExitStack() as stack:
            stack.callback(gc.enable)
            batches = stack.enter_context(closing(self._run.loader.ahead(self._done)))
            if self._bar:
                stack.enter_context(self._bar)
            if self._done == 0:
                self._validate()
            self._meter.restart()
            while self._done < steps and not (stopped and self._saved == self._done):
                with self._meter.waiting():
                    micro_batches = next(batches)
                self._step(micro_batches)
                if self._done % self._settings.validate_every == 0 or self._done == steps:
                    figures = self._validate()
                stopped = any_process(asked())
                due = due or stopped or self._done % self._settings.checkpoint_every == 0 or self._done == steps
                # weights that a batch has just failed on must not replace good ones: the next good step saves
                if due and not self._trainer.skipped:
                    self._save()
                    due = False
            if self._done == steps and due:
                self._save_last(figures)
        if self._log:
            self._log.close()
            if self._done < steps:
                say(
                    f"stopped as asked after step {self._done} of {steps}; "
                    f"the checkpoint of step {self._saved} is complete"
                )
        return self._done == steps

    def finish(self, tokenizer: Path) -> dict[str, Any]:
        """Write the model, as transformers reads it, into `out/model` and return the run's counts, written beside it.

        Args:
            tokenizer: tokenizer folder that goes with the model.
        """
        loader, settings = self._run.loader, self._settings
        counts = {
            "steps": settings.steps,
            "tokens": self._meter.tokens,
            "samples": len(loader.samples),
            "validation_samples": len(loader.validation_ids),
            "epochs": round(loader.epochs, 4),
            "padding": round(loader.samples.padding, 6),
            "skipped": self._trainer.skips,
        }
        weights = whole_weights(self._run.engine)  # of all processes together
        if self._log:
            for plans in self._out.glob(PLANS):
                shutil.rmtree(plans, ignore_errors=True)
            hub = model_class(settings)(self._run.engine.module.hub.config)
            hub.load_state_dict(weights)
            save_hub_model(hub, tokenizer, self._out / "model")
            check_export(self._out / "model", hub)
            with atomic_write(self._out / "counts.json") as stream:
                json.dump(counts, stream, indent=1, sort_keys=True)
        return counts

    def _step(self, micro_batches: list[tuple[Batch, MaskedBatch]]) -> None:
        settings, trainer, step = self._settings, self._trainer, self._done
        logs = (step + 1) % settings.log_every == 0 or step + 1 == settings.steps
        lr = settings.optimizer.lr * rate_factor(step, settings.steps, settings.optimizer)
        totals = trainer.step(step, lr, micro_batches, measure_norm=logs)
        self._done += 1
        if trainer.skipped:
            if not trainer.overflowed:
                self._note_skipped(step)
        else:
            self._meter.add(totals, settings.samples_before(step + 1) - settings.samples_before(step))
        if self._bar:
            self._bar.advance()
        if logs:
            self._write_line(lr)
            gc.collect()  # recomputed layers leave cycles behind

    def _note_skipped(self, step: int) -> None:
        skipped, most = self._trainer.skipped_steps, self._settings.max_skipped
        if self._log:
            say(f"warning: batch {step} is skipped: its loss is not finite, or leaps up", style="yellow")
        if len(skipped) > most:
            raise HunminError(
                f"{len(skipped)} batches had no finite loss, or one more than {self._settings.spike} times the mean: "
                f"{', '.join(map(str, skipped))}",
                f"a run passes over at most {most} (pretrain.max_skipped)",
                f"lower pretrain.optimizer.lr, or lengthen the warm-up; the checkpoint of step {self._saved} is kept",
            )

    def _write_line(self, lr: float) -> None:
        settings, trainer, done = self._settings, self._trainer, self._done
        figures = self._meter.line()
        if not (self._log and self._bar):
            return
        masked = masking_rate(done - 1, settings.steps, settings.masking)
        span, vocab_size = self._run.loader.samples.attention_span, self._run.engine.module.hub.config.vocab_size
        rate = figures["tokens_per_second"]
        flops = rate * flops_per_token(settings.model, vocab_size, span, masked)
        row = {
            "step": done,
            **figures,
            "lr": lr,
            "batch": settings.samples_before(done) - settings.samples_before(done - 1),
            "masking_rate": round(masked, 5),
            "gradient_norm": trainer.gradient_norm,
            "tflops": round(flops / 1e12, 4),
            "mfu": round(flops / self._peak, 4),
            "skipped": trainer.skips,
        }
        if trainer.scale:
            row["loss_scale"] = trainer.scale.factor
        self._log.log(row)
        loss = row.get("loss", math.nan)
        self._bar.advance(0, f"loss {loss:.3f}, {short_number(rate)} tokens/s, {row['mfu']:.0%} MFU")

    def _validate(self) -> dict[str, float]:
        """Write the figures of the held-out samples and return them; {} when none are held out."""
        figures: dict[str, float] = {}
        if len(self._run.loader.validation_ids):
            figures = means(summed(self._trainer.validate()))
            if self._log:
                self._log.log({"step": self._done, **{f"validation_{name}": value for name, value in figures.items()}})
            self._meter.restart()
        return figures

    def _save(self) -> None:
        facts = {**self._run.facts, **self._meter.state(), **self._trainer.state}
        keep_last, keep_every = self._settings.keep_last, self._settings.keep_every
        save_checkpoint(self._run.engine, self._out / "checkpoints", self._done, facts, keep_last, keep_every)
        self._saved = self._done
        self._meter.restart()

    def _save_last(self, figures: dict[str, float]) -> None:
        """Save after a last step whose batch was skipped, if the weights are not to blame: by their validation, or as
        only the loss scale was too large."""
        if not (self._trainer.overflowed or math.isfinite(figures.get("loss", math.nan))):
            raise HunminError(
                f"the last batch was skipped, and no held-out text shows that the weights after step {self._done} "
                "are sound",
                "a run ends with weights that give a finite loss",
                f"lower pretrain.optimizer.lr, or lengthen the warm-up; the checkpoint of step {self._saved} is kept",
            )
        self._save()
