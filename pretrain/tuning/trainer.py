"""transformers' Trainer as tuning uses it: held-out loss by use, stops that all processes agree on, exact resuming."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import torch
from transformers import TrainingArguments
from transformers.integrations.deepspeed import unset_hf_deepspeed_config
from transformers.utils.logging import disable_progress_bar

from common.errors import UserError
from common.files import disk_errors, sha256_file
from common.settings import dump_settings, load_yaml
from pretrain.callbacks.checkpoint import library_disk_errors
from pretrain.callbacks.hf_trainer import Follow, WholeCheckpoints, begin_or_resume, train_or_stop
from pretrain.decoders.load import load_model
from pretrain.kernels.precision import half_type, resolve_dtype
from pretrain.models.encoder import recompute_layers
from pretrain.train import StopFlag
from pretrain.tuning.encode import arguments_of
from pretrain.tuning.inputs import Inputs, beginning, with_lora
from pretrain.tuning.save import save_model
from pretrain.tuning.settings import TuneSettings


class Tuner(WholeCheckpoints):
    """The Trainer, whose held-out loss is by tokens and by use."""

    @torch.no_grad()
    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Return the loss of a held-out token, of all and of each use; no random number is drawn."""
        batches = self.eval_dataset
        world = self.args.world_size
        model = self.model_wrapped
        uses = sorted({batch[0].use for batch in batches})
        sums = torch.zeros(len(uses), 2, device=self.args.device)
        model.eval()
        for start in range(0, len(batches), world):  # as many passes on each process: ZeRO gathers weights in each
            index = start + self.args.process_index
            batch = batches[index % len(batches)]
            loss = model(**self._prepare_inputs(arguments_of(batch))).loss
            count = sum(len(x.ids) - x.prompt for x in batch)
            sums[uses.index(batch[0].use)] += torch.tensor([loss * count, count]).to(sums) * (index < len(batches))
        sums = self.accelerator.reduce(sums)
        metrics = {f"eval_loss_{use}": (a / b).item() for use, (a, b) in zip(uses, sums, strict=True)}
        metrics["eval_loss"] = (sums[:, 0].sum() / sums[:, 1].sum()).item()
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics


def train_to_end(s: TuneSettings, instructions: Path, out: Path, stop: StopFlag, world: int) -> dict[str, Any] | None:
    """Return what `pretrain.tuning.train.tune` does, in one of `world` processes."""
    disable_progress_bar()
    inputs = Inputs(s, instructions)
    folder = out / "checkpoints"
    o = s.optimizer
    dtype = resolve_dtype(s.dtype)
    steps, fixed = inputs.counts["steps"], load_yaml(Path(__file__).with_name("trainer.yaml"))
    stage = {"stage": s.zero_stage, "stage3_gather_16bit_weights_on_model_save": True}
    arguments = TrainingArguments(  # it meets the other processes
        **fixed["arguments"], output_dir=str(folder), num_train_epochs=s.epochs, max_grad_norm=o.max_grad_norm,
        learning_rate=o.learning_rate, adam_beta1=o.beta1, adam_beta2=o.beta2, weight_decay=o.weight_decay,
        lr_scheduler_type=o.schedule, warmup_steps=o.warmup_share, bf16=dtype == "bf16", fp16=dtype == "fp16",
        save_steps=s.checkpoint_every, save_total_limit=s.keep_last, logging_steps=s.log_every, seed=s.seed,
        gradient_accumulation_steps=s.global_batch // (s.micro_batch * world), use_cpu=not torch.cuda.is_available(),
        eval_strategy="steps" if inputs.held_out_batches else "no", eval_steps=inputs.batches.steps,
        deepspeed={**fixed["deepspeed"], "zero_optimization": stage} if s.zero_stage else None,
    )  # fmt: skip
    identity = [dump_settings(s), world, s.zero_stage, sha256_file(instructions / "train.jsonl")]
    done, checkpoint = begin_or_resume(arguments, identity, "settings, examples, ZeRO stage and number of processes")
    if s.zero_stage:  # classes in DeepSpeed's checkpoints: as all pickles, these are read with weights_only
        torch.serialization.add_safe_globals([resolve_name(name) for name in fixed["safe"]])
    with disk_errors(out), library_disk_errors(out):
        if done < steps:
            model = load_model(beginning(inputs.base, checkpoint, s), half_type(s.dtype) if s.lora else None)
            if s.gradient_checkpointing:
                recompute_layers(model)
            cure = "lower tune.optimizer.learning_rate, or compute in fp32"
            follow = Follow("tune", s, out, stop, done, steps, arguments.process_index == 0, cure)
            trainer = Tuner(
                with_lora(model, s), arguments, lambda items: dict(*items), inputs.batches,
                inputs.held_out_batches, callbacks=[follow],
            )  # fmt: skip
            if not trainer.model_accepts_loss_kwargs:
                raise UserError(f"{type(model).__name__} takes no num_items_in_batch", "the loss is by a step's tokens")
            if not train_or_stop(trainer, follow, checkpoint, out):
                return None
            del model, trainer
        unset_hf_deepspeed_config()  # it would part the weights that are loaded now
        if arguments.process_index == 0:
            save_model(s, inputs, folder / f"checkpoint-{steps}", out)
    return inputs.counts
