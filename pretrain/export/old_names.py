"""Settings of a saved model under the names of transformers 4, which older installations read.

transformers 5 keeps rotary positions in `rope_parameters`, which readers of the old names pass over: they then compute
with the defaults, and give other vectors without an error. It reads the old names beside its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from common.files import atomic_write

LOADED = ("backend", "is_local", "local_files_only")
"""Keys of a tokenizer's configuration that say how it was loaded."""


def add_old_names(folder: Path) -> None:
    """Add the old names to `config.json` and `tokenizer_config.json` of a folder, where it has these files."""
    for name, old in (("config.json", old_config), ("tokenizer_config.json", old_tokenizer)):
        path = folder / name
        if path.is_file():
            settings = json.loads(path.read_bytes())
            if old(settings) == settings:
                continue
            with atomic_write(path) as stream:
                json.dump(old(settings), stream, ensure_ascii=False, indent=2, sort_keys=True)
                stream.write("\n")


def save_tokenizer(tokenizer: Any, folder: Path) -> None:
    """Write a tokenizer that transformers has loaded into a saved model's folder, and add the old names there."""
    tokenizer.save_pretrained(folder)
    add_old_names(folder)


def old_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return a model's configuration with the old names of its rotary positions and layers."""
    rope = config.get("rope_parameters") or {}
    kinds = config.get("layer_types") or []
    if {"full_attention", "sliding_attention"} <= rope.keys():  # ModernBERT's names
        named = (("global_rope_theta", "full_attention"), ("local_rope_theta", "sliding_attention"))
        thetas = {name: rope[kind]["rope_theta"] for name, kind in named}
        wide = [layer for layer, kind in enumerate(kinds) if kind == "full_attention"]
        every = wide[1] if len(wide) > 1 else max(1, len(kinds))
        periodic = wide == list(range(0, len(kinds), every))
        return config | thetas | ({"global_attn_every_n_layers": every} if periodic else {})
    if "rope_theta" not in rope:  # none, or some for each kind of layers, which the old names cannot say
        return config
    theta = rope["rope_theta"]
    share = rope.get("partial_rotary_factor")
    if config.get("model_type") == "gpt_neox":
        config = config | {"rotary_emb_base": theta, "rotary_pct": share}
    else:
        config = config | {"rope_theta": theta} | ({} if share is None else {"partial_rotary_factor": share})
    return config if rope.get("rope_type", "default") == "default" else config | {"rope_scaling": rope}


def old_tokenizer(config: dict[str, Any]) -> dict[str, Any]:
    """Return a tokenizer's configuration with the old name of its class, without how it was loaded."""
    renamed = {name: value for name, value in config.items() if name not in LOADED}
    if renamed.get("tokenizer_class") == "TokenizersBackend":
        renamed["tokenizer_class"] = "PreTrainedTokenizerFast"
    if isinstance(renamed.get("extra_special_tokens"), list):  # a mapping in transformers 4
        renamed["additional_special_tokens"] = renamed.pop("extra_special_tokens")
    return renamed
