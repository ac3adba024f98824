"""A model's graphs as TorchTPU lowers them in bf16, compiled for a TPU v5e by libtpu's compiler: no TPU is needed.

    python tests/pretrain/xla_for_tpu.py SETTINGS TOKENS TOKENIZER PLANS

It takes the first steps of a run and a batch of its validation, without values, and prints as JSON what each graph
takes of a chip's memory, and whether a kernel of TorchTPU's own is in it.
"""

# ruff: noqa: E402 - what is imported is found by the path that is set first

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

import torch
from xla_on_cpu import by_torch_tpu, compiled_for_tpu, modules

from pretrain.batches.inputs import prepare
from pretrain.batches.loader import Loader, plan_samples
from pretrain.kernels.compile import compile_whole, speed_up
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model
from pretrain.settings import PretrainSettings
from tests.pretrain.small_tokens import both_losses
from tokenizer.shards import TokenShards


def main(settings: PretrainSettings, tokens: Path, tokenizer: Path, plans: Path) -> None:
    """Lower the graphs of a run, compile them and print what they take."""
    plan_samples(settings, tokens, plans)
    loader, shards = Loader(settings, tokens, tokenizer, plans, 0, 1), TokenShards(tokens)
    config = build_config(settings, shards.vocab_size, shards.special_ids)
    model = MaskedRowsModel(build_model(settings, config), torch.bfloat16)
    compile_whole.__defaults__ = (by_torch_tpu,)
    speed_up(model, settings, SimpleNamespace(type="tpu"))  # type: ignore[arg-type]

    def loss(batch: object, masked: object) -> torch.Tensor:
        made = prepare(batch, masked, settings.packing, model.input_form(torch.device("cpu")), model.objective)  # type: ignore
        sums = model(**model.on_device(made.inputs, torch.device("cpu")))
        return both_losses(sums)

    for step in range(3):
        for masked in loader.masked_batches(step):
            loss(*masked).backward()
    model.eval()
    with torch.no_grad():
        loss(*next(iter(loader.masked_validation())))
    graphs = [{**compiled_for_tpu(module), "kernel": b"tpu_custom_call" in module} for module in modules]
    print(json.dumps({"parameters": sum(p.numel() for p in model.hf_model.parameters()), "graphs": graphs}))


if __name__ == "__main__":
    main(PretrainSettings.model_validate_json(sys.argv[1]), *map(Path, sys.argv[2:5]))
