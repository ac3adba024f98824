"""transformers' Trainer as tuning uses it: held-out loss by use, stops that all processes agree on, exact resuming, and
the last checkpoint as a folder for transformers (LoRA merged, the adapter beside it, a card).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import torch
import yaml
from safetensors.torch import load_file
from transformers import TrainingArguments
from transformers.integrations.deepspeed import unset_hf_deepspeed_config
from transformers.utils.logging import disable_progress_bar

from common.errors import UserError
from common.files import atomic_write, disk_errors, publish_folder, sha256_file, write_text
from common.names import pinned_name, shown_name
from common.settings import dump_settings, load_yaml
from pretrain.callbacks.checkpoint import library_disk_errors
from pretrain.callbacks.hf_trainer import Follow, WholeCheckpoints, begin_or_resume, publish_tuned, train_or_stop
from pretrain.decoders.load import load_model
from pretrain.export.old_names import save_tokenizer
from pretrain.kernels.precision import half_type, resolve_dtype
from pretrain.models.encoder import recompute_layers
from pretrain.train import StopFlag
from pretrain.tuning.inputs import Inputs, arguments_of, beginning, with_lora
from pretrain.tuning.settings import TuneSettings

ADAPTER = "adapter_model.safetensors"


def save_model(settings: TuneSettings, inputs: Inputs, checkpoint: Path, out: Path) -> None:
    """Write `out/model`, of LoRA `out/adapter`, `out/rejects` and `out/counts.json`; no file in them is a pickle."""
    losses = inputs.counts["held_out_loss"] = {}
    for row in json.loads((checkpoint / "trainer_state.json").read_bytes())["log_history"]:
        for name in (name for name in sorted(row) if name.startswith("eval_loss")):
            losses.setdefault(name[10:] or "all", []).append(round(row[name], 6))
    name = shown_name(inputs.base)
    pinned = pinned_name(inputs.base)
    partial = out / ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    model = load_model(inputs.base if settings.lora else checkpoint, None)
    if settings.lora:
        from peft import set_peft_model_state_dict

        model = with_lora(model, settings)
        set_peft_model_state_dict(model, load_file(checkpoint / ADAPTER))
        config = {**model.peft_config["default"].to_dict(), "base_model_name_or_path": pinned or name}
        partial.mkdir(parents=True)
        shutil.copyfile(checkpoint / ADAPTER, partial / ADAPTER)
        write_text(partial / "adapter_config.json", json.dumps(config, indent=1, sort_keys=True, default=sorted))
        publish_folder(partial, out / "adapter", replace=True)
        model = model.merge_and_unload()
    model.config.use_cache = True  # the Trainer has turned it off
    model.to(half_type(settings.dtype)).save_pretrained(partial)
    save_tokenizer(inputs.tokenizer, partial)
    shown = {**dump_settings(settings), "base": pinned or name}
    card = load_yaml(Path(__file__).with_name("card.yaml"))["card"].format(
        name=name,
        base_model=f"base_model: {name}\n" if pinned else "",
        counts=inputs.counts,
        sets="\n".join(f"| {use} | {licence} | {n:,} |" for (use, licence), n in sorted(inputs.train.sets.items())),
        losses="\n".join(f"| {use} | {' → '.join(map(str, by_epoch))} |" for use, by_epoch in losses.items()),
        settings=yaml.safe_dump(shown, allow_unicode=True, sort_keys=False),
    )
    write_text(partial / "README.md", card)
    with atomic_write(out / "rejects" / "examples.jsonl") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in inputs.rejects)
    publish_tuned(partial, out, inputs.counts)


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
    """Return the counts of `pretrain.tuning.train.tune`, as one of `world` processes."""
    disable_progress_bar()
    inputs = Inputs(s, instructions)
    folder = out / "checkpoints"
    o = s.optimizer
    dtype = resolve_dtype(s.dtype)
    steps = inputs.counts["steps"]
    fixed = load_yaml(Path(__file__).with_name("trainer.yaml"))
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
