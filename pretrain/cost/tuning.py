"""What tuning a decoder takes: examples, tokens, steps, bytes of a device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pretrain.kernels.precision import half_type
from pretrain.tuning.inputs import Inputs
from pretrain.tuning.settings import TuneSettings


def plan_tuning(settings: TuneSettings, instructions: Path) -> dict[str, Any]:
    """Return a run's examples, tokens of an epoch, steps, parameters and bytes of a device; nothing is trained.

    Activations are an estimate: 17 values of a layer's width a token, or one with gradient checkpointing, and logits.

    Raises:
        UserError: as `Inputs`.
    """
    s, inputs = settings, Inputs(settings, instructions)
    counts, config = inputs.counts, inputs.config.get_text_config()
    trained, frozen = counts["trained_parameters"], counts["parameters"] - counts["trained_parameters"]
    wide = 2 if half_type(s.dtype) else 4
    kept = wide if s.zero_stage else 4  # DeepSpeed has a master of each trained weight beside it
    shared = [s.processes if s.zero_stage >= stage else 1 for stage in range(4)]
    layers = config.num_hidden_layers * (1 if s.gradient_checkpointing else 17)
    values = wide * layers * config.hidden_size + (8 + wide) * config.vocab_size
    parts = {
        "weights": (wide * frozen + kept * trained) // shared[3],
        "gradients": kept * trained // shared[2],
        "optimizer": (8 + 4 * bool(s.zero_stage)) * trained // shared[1],
        "activations": s.micro_batch * max(len(one.ids) for one in inputs.train.kept) * values,
    }
    return {**counts, "bytes": {**parts, "total": sum(parts.values())}}
