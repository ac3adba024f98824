"""The tuned model: its last checkpoint as a folder for transformers, LoRA merged, the adapter beside it, a card."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import yaml
from safetensors.torch import load_file

from common.files import atomic_write, publish_folder, write_text
from common.names import pinned_name, shown_name
from common.settings import dump_settings, load_yaml
from pretrain.callbacks.hf_trainer import publish_tuned
from pretrain.decoders.load import load_model
from pretrain.export.old_names import save_tokenizer
from pretrain.kernels.precision import half_type
from pretrain.tuning.inputs import Inputs, with_lora
from pretrain.tuning.settings import TuneSettings

ADAPTER = "adapter_model.safetensors"


def save_model(s: TuneSettings, inputs: Inputs, checkpoint: Path, out: Path) -> None:
    """Write `out/model`, of LoRA `out/adapter`, `out/rejects` and `out/counts.json`; no file in them is a pickle."""
    losses = inputs.counts["held_out_loss"] = {}
    for row in json.loads((checkpoint / "trainer_state.json").read_bytes())["log_history"]:
        for name in (name for name in sorted(row) if name.startswith("eval_loss")):
            losses.setdefault(name[10:] or "all", []).append(round(row[name], 6))
    name = shown_name(inputs.base)
    pinned = pinned_name(inputs.base)
    partial = out / ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    model = load_model(inputs.base if s.lora else checkpoint, None)
    if s.lora:
        from peft import set_peft_model_state_dict

        model = with_lora(model, s)
        set_peft_model_state_dict(model, load_file(checkpoint / ADAPTER))
        config = {**model.peft_config["default"].to_dict(), "base_model_name_or_path": pinned or name}
        partial.mkdir(parents=True)
        shutil.copyfile(checkpoint / ADAPTER, partial / ADAPTER)
        write_text(partial / "adapter_config.json", json.dumps(config, indent=1, sort_keys=True, default=sorted))
        publish_folder(partial, out / "adapter", replace=True)
        model = model.merge_and_unload()
    model.config.use_cache = True  # the Trainer has turned it off
    model.to(half_type(s.dtype)).save_pretrained(partial)
    save_tokenizer(inputs.tokenizer, partial)
    card = load_yaml(Path(__file__).with_name("card.yaml"))["card"].format(
        name=name,
        base_model=f"base_model: {name}\n" if pinned else "",
        counts=inputs.counts,
        sets="\n".join(f"| {of} | {licence} | {n:,} |" for (of, licence), n in sorted(inputs.train.sets.items())),
        losses="\n".join(f"| {use} | {' → '.join(map(str, by_epoch))} |" for use, by_epoch in losses.items()),
        settings=yaml.safe_dump({**dump_settings(s), "base": pinned or name}, allow_unicode=True, sort_keys=False),
    )
    write_text(partial / "README.md", card)
    with atomic_write(out / "rejects" / "examples.jsonl") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in inputs.rejects)
    publish_tuned(partial, out, inputs.counts)
