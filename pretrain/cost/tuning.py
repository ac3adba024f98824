"""Cost of tuning a decoder: examples, tokens, steps, bytes of a device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from common.names import find
from pretrain.cost.peak import this_device
from pretrain.cost.run import REACHED_FP32
from pretrain.decoders.load import read_base
from pretrain.kernels.precision import half_type
from pretrain.tuning.inputs import Inputs, parameter_counts
from pretrain.tuning.settings import TuneSettings


def plan_tuning(settings: TuneSettings, instructions: Path | None) -> dict[str, Any]:
    """Return a run's examples, tokens of an epoch, steps, parameters and bytes of a device; nothing is trained.

    Activations are an estimate: 17 values of a layer's width a token, or one with gradient checkpointing, and logits.
    Without a build of instructions examples are of `max_seq_len` tokens, and not counted. Raises UserError as `Inputs`.
    """
    s = settings
    if instructions is None:
        whole = read_base(find(s.base, "model"), s.max_seq_len)
        counts = dict[str, Any](parameter_counts(whole, s))
        longest = s.max_seq_len
    else:
        inputs = Inputs(s, instructions)
        whole = inputs.config
        counts = inputs.counts
        longest = max(len(example.ids) for example in inputs.train.accepted)
    config = whole.get_text_config()
    trained = counts["trained_parameters"]
    frozen = counts["parameters"] - counts["trained_parameters"]
    wide = 2 if half_type(s.dtype) else 4
    trained_bytes = wide if s.zero_stage else 4  # DeepSpeed keeps an fp32 copy of each trained weight
    shared = [s.processes if s.zero_stage >= stage else 1 for stage in range(4)]
    layers = config.num_hidden_layers * (1 if s.gradient_checkpointing else 17)
    values = wide * layers * config.hidden_size + (8 + wide) * config.vocab_size
    parts = {
        "weights": (wide * frozen + trained_bytes * trained) // shared[3],
        "gradients": trained_bytes * trained // shared[2],
        "optimizer": (8 + 4 * bool(s.zero_stage)) * trained // shared[1],
        "activations": s.micro_batch * longest * values,
    }
    return {**counts, "bytes": {**parts, "total": sum(parts.values())}}


def tuning_seconds(settings: TuneSettings, plan: dict[str, Any]) -> float:
    """Return about how many seconds a planned run takes on this machine; a peak not published is measured."""
    device, half = this_device(), half_type(settings.dtype)
    reached = REACHED_FP32 if device.kind == "gpu" and not half else device.reached
    rate = reached * (device.peak if half else device.peak_fp32)
    rate *= settings.processes if device.kind == "gpu" else 1
    passes = 6 if settings.gradient_checkpointing else 4  # of all weights: forward, backward, forward again
    flops = plan["tokens"] * settings.epochs * (passes * plan["parameters"] + 2 * plan["trained_parameters"])
    return float(flops / rate)
