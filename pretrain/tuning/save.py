"""The tuned model: its last checkpoint as a folder for transformers, LoRA merged, the adapter beside it, a card."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
import yaml
from safetensors.torch import load_file, save_file

from common.files import atomic_write, follow_umask, publish_folder
from common.names import pinned_name, shown_name
from common.settings import dump_settings
from pretrain.precision import half_type
from pretrain.tuning.base import load_model, with_lora
from pretrain.tuning.plan import Inputs
from pretrain.tuning.settings import TuneSettings

ADAPTER = "adapter_model.safetensors"


def save_model(s: TuneSettings, inputs: Inputs, checkpoint: Path, out: Path) -> None:
    """Write `out/model`, of LoRA `out/adapter`, `out/rejects` and `out/counts.json`; no file in them is a pickle.

    Args:
        s: the run.
        inputs: of it; their counts get the held-out losses by epoch.
        checkpoint: the last one.
        out: the run's folder.
    """
    state = json.loads((checkpoint / "trainer_state.json").read_bytes())
    losses = inputs.counts["held_out_loss"] = {}
    for row in state["log_history"]:
        for name in sorted(row):
            if name.startswith("eval_loss"):
                losses.setdefault(name[10:] or "all", []).append(round(row[name], 6))
    model, partial = load_model(inputs.base if s.lora else checkpoint, torch.float32), out / ".model.partial"
    shutil.rmtree(partial, ignore_errors=True)
    if s.lora:
        from peft import set_peft_model_state_dict

        model, weights = with_lora(model, s), load_file(checkpoint / ADAPTER)
        set_peft_model_state_dict(model, weights)
        config = {k: sorted(v) if isinstance(v, set) else v for k, v in model.peft_config["default"].to_dict().items()}
        config["base_model_name_or_path"] = pinned_name(inputs.base) or shown_name(inputs.base)
        partial.mkdir(parents=True)
        save_file(weights, partial / ADAPTER, {"format": "pt"})
        (partial / "adapter_config.json").write_text(json.dumps(config, indent=1, sort_keys=True, default=str) + "\n")
        follow_umask(partial / ADAPTER)
        publish_folder(partial, out / "adapter", replace=True)
        model = model.merge_and_unload()
    model.config.use_cache = True  # the Trainer has turned it off
    model.to(half_type(s.dtype) or torch.float32).save_pretrained(partial)
    inputs.tokenizer.save_pretrained(partial)
    (partial / "README.md").write_text(_card(s, inputs), encoding="utf-8")
    follow_umask(*partial.glob("*.safetensors"))
    publish_folder(partial, out / "model", replace=True)
    with atomic_write(out / "rejects" / "examples.jsonl") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in inputs.rejects)
    with atomic_write(out / "counts.json") as stream:
        json.dump(inputs.counts, stream, ensure_ascii=False, indent=1, sort_keys=True)


def _card(s: TuneSettings, inputs: Inputs) -> str:
    """Return the model card: base, data sets with licences, held-out loss, settings."""
    counts, name, pinned = inputs.counts, shown_name(inputs.base), pinned_name(inputs.base)
    facts = {"language": "ko", "library_name": "transformers", "pipeline_tag": "text-generation", "tags": ["hunmin"]}
    settings = {**dump_settings(s), "base": pinned or name}
    rows = [f"| {dataset} | {licence} | {n:,} |" for (dataset, licence), n in sorted(inputs.train.sets.items())]
    losses = [f"| {use} | {' → '.join(f'{x:.4f}' for x in of)} |" for use, of in counts["held_out_loss"].items()]
    return "\n".join([
        "---", yaml.safe_dump(facts | ({"base_model": name} if pinned else {}), sort_keys=False) + "---", "",
        f"# {name}, tuned on instructions", "",
        f"Trained {counts['trained_parameters']:,} of {counts['parameters']:,} parameters for {counts['steps']:,} steps "
        f"on {counts['examples']:,} examples. The prompt is the tokenizer's chat template.", "",
        "## Data", "", "| data set | licence | examples |", "|---|---|---|", *rows, "",
        "The licences of the base and of each data set hold for this model.", "",
        "## Held-out loss by epoch", "", "| use | loss of a token |", "|---|---|", *losses, "",
        "## Settings", "", "```yaml", yaml.safe_dump(settings, allow_unicode=True, sort_keys=False) + "```", "",
    ])  # fmt: skip
