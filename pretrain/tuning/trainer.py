"""transformers' Trainer as tuning uses it: its arguments, held-out loss by use, stops that all processes agree on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from common.errors import UserError
from common.progress import ProgressBar
from common.settings import dump_settings, load_yaml
from pretrain.metrics import MetricsLog
from pretrain.precision import resolve_dtype
from pretrain.train import StopFlag
from pretrain.tuning.plan import Inputs
from pretrain.tuning.settings import TuneSettings


def training_arguments(s: TuneSettings, out: Path, world: int, inputs: Inputs) -> TrainingArguments:
    """Return the Trainer's arguments; making them meets the other processes."""
    dtype, o, fixed = resolve_dtype(s.dtype), s.optimizer, load_yaml(Path(__file__).with_name("trainer.yaml"))
    stage = {"stage": s.zero_stage, "stage3_gather_16bit_weights_on_model_save": True}
    return TrainingArguments(
        **fixed["arguments"], output_dir=str(out), num_train_epochs=s.epochs, seed=s.seed, learning_rate=o.lr,
        adam_beta1=o.beta1, adam_beta2=o.beta2, adam_epsilon=o.eps, weight_decay=o.weight_decay,
        lr_scheduler_type=o.schedule, warmup_steps=o.warmup_share, max_grad_norm=o.max_grad_norm, bf16=dtype == "bf16",
        fp16=dtype == "fp16", save_steps=s.checkpoint_every, save_total_limit=s.keep_last, logging_steps=s.log_every,
        gradient_accumulation_steps=s.global_batch // (s.micro_batch * world), use_cpu=not torch.cuda.is_available(),
        eval_strategy="steps" if inputs.held_out.kept else "no", eval_steps=inputs.batches.steps,
        deepspeed={**fixed["deepspeed"], "zero_optimization": stage} if s.zero_stage else None,
    )  # fmt: skip


class Tuner(Trainer):
    """The Trainer, whose held-out loss is by tokens and by use, and whose checkpoints end when all have written.

    Raises:
        UserError: the model's class takes no loss over a whole global batch.
    """

    def __init__(self, inputs: Inputs, **given: Any) -> None:
        data = {"train_dataset": inputs.batches, "eval_dataset": inputs.held_batches}
        super().__init__(data_collator=lambda items: items[0], **data, **given)
        self.remove_callback(PrinterCallback)
        if not self.model_accepts_loss_kwargs:
            raise UserError(f"{type(self.model).__name__} takes no num_items_in_batch", "the loss is by tokens of a step")

    @torch.no_grad()
    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Return the loss of a held-out token, of all and of each use; no random number is drawn."""
        held, world, model = self.eval_dataset, self.args.world_size, self.model_wrapped
        uses = sorted({example.use for example in held.examples})
        sums = torch.zeros(len(uses), 2, device=self.args.device)
        model.eval()
        for start in range(0, len(held), world):  # as many passes on each process: ZeRO gathers weights in each
            index = start + self.args.process_index
            inputs = self._prepare_inputs(held[index % len(held)])
            labels_BL = inputs.pop("labels")[:, 1:]
            logits = model(**inputs).logits[:, :-1].float()
            losses_B = cross_entropy(logits.transpose(1, 2), labels_BL, reduction="none").sum(1)
            if index < len(held):
                of_B = torch.tensor([uses.index(held.examples[i].use) for i in held.drawn[index]], device=sums.device)
                sums.index_add_(0, of_B, torch.stack([losses_B, (labels_BL >= 0).sum(1)], 1))
        sums = self.accelerator.reduce(sums)
        metrics = {f"eval_loss_{use}": (a / b).item() for use, (a, b) in zip(uses, sums, strict=True)}
        metrics["eval_loss"] = (sums[:, 0].sum() / sums[:, 1].sum()).item()
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _save_rng_state(self, output_dir: str) -> None:
        super()._save_rng_state(output_dir)
        self.accelerator.wait_for_everyone()  # trainer_state.json, written next, says that every file is there


class Follow(TrainerCallback):
    """Progress and metrics on the first process; a stop at the end of a step in which any process was asked."""

    def __init__(self, s: TuneSettings, out: Path, stop: StopFlag, resumed: int, steps: int, first: bool) -> None:
        self.stop, self.stopped, self.log = stop, False, None
        if first:
            self.bar = ProgressBar("tune", steps, "steps", resumed).__enter__()
            self.log = MetricsLog(out / "logs", resumed, s.wandb, s.wandb_project, dump_settings(s, drop="secret"))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Agree on a stop. A checkpoint ends a window of the log, so that a resumed run has the same lines."""
        asked = torch.tensor(float(self.stop.asked), device=args.device)
        if args.world_size > 1:
            torch.distributed.all_reduce(asked)
        if asked and state.global_step < state.max_steps:
            self.stopped = control.should_save = control.should_training_stop = True
        control.should_log |= control.should_save
        if self.log:
            self.bar.advance()

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
        """Write a line: the loss of a window of steps, or the held-out losses."""
        names = {"grad_norm": "gradient_norm", "learning_rate": "lr"}
        row = {names.get(name, name.replace("eval_", "validation_")): value for name, value in logs.items()}
        if self.log and ("loss" in row or "validation_loss" in row):
            self.log.log({"step": state.global_step, **row})
            self.bar.advance(0, ", ".join(f"{name} {row[name]:.3f}" for name in row if name.endswith("loss")))

    def on_train_end(self, *_: Any, **__: Any) -> None:
        """Close log and progress."""
        if self.log:
            self.bar.__exit__(None, None, None)
            self.log.close()
