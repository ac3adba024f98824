"""A device "tpu" without a TPU: torch's own stand-in for a backend, whose tensors have shapes and types and no values.

Run in a process of its own, since a device type is registered for good:

    python tests/pretrain/tpu_stand_in.py TOKENS TOKENIZER PLANS KIND …

It takes steps with samples of each kind and prints, as JSON: what the host read, and the operators that were called
with shapes, types or numbers that had not been seen before, by step. An XLA device compiles each of those.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from tests.pretrain.spy import HOST_READS  # noqa: E402 - found by the path that is set first

HELD: list[torch.library.Library] = []
"""Their rules end with them."""


class Backend(_DummyBackendModule):
    """What torch asks of a device's module."""

    def is_available(self) -> bool:
        return True

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16]

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed_all(self, seed: int) -> None:
        pass


class Watch(TorchDispatchMode):
    """Notes what an XLA device would have to do for each operator."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: set[Any] = set()
        self.new: list[str] = []
        self.reads: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        leaves = tree_flatten((args, kwargs))[0]
        tensors = [leaf for leaf in leaves + tree_flatten(out)[0] if isinstance(leaf, torch.Tensor)]
        if str(func) in HOST_READS and any(tensor.device.type == "tpu" for tensor in tensors):
            self.reads.append(str(func))
        if any(tensor.device.type == "tpu" for tensor in tensors):
            key = (str(func), *(_key(leaf) for leaf in leaves))
            if key not in self.keys:
                self.keys.add(key)
                self.new.append(str(key))
        return out


def _empty(size: list[int], dtype: torch.dtype) -> torch.Tensor:
    empty: torch.Tensor = torch._C._acc.create_empty_tensor(size, dtype)  # type: ignore[attr-defined]
    return empty


def _key(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return tuple(leaf.shape), str(leaf.dtype), leaf.device.type
    return repr(leaf)


def _move(model: torch.nn.Module, device: torch.device) -> None:
    """Put weights on the device; `Module.to` would read them."""
    moved: dict[int, torch.nn.Parameter] = {}
    for module in model.modules():
        for name, weight in list(module.named_parameters(recurse=False)):
            there = moved.setdefault(id(weight), torch.nn.Parameter(torch.empty(weight.shape, device=device)))
            module._parameters[name] = there
        for name, buffer in list(module.named_buffers(recurse=False)):
            module._buffers[name] = torch.empty(buffer.shape, dtype=buffer.dtype, device=device)


def register() -> None:
    """Make the device type known to torch."""
    _setup_privateuseone_for_python_backend("tpu", Backend())
    # a number made on the host is copied with its value, even where no other tensor has one
    library = torch.library.Library("aten", "IMPL")
    HELD.append(library)
    library.impl("empty_strided", lambda size, stride, **kinds: _empty(size, kinds["dtype"]), "PrivateUse1")
    # which torch gives shapes to with a number as the learning rate, and not with a tensor
    library.impl("_fused_adamw_.tensor_lr", lambda *_, **__: None, "Meta")
    everything = torch.library.Library("_", "IMPL")  # autocast has no rules for the stand-in: all stays in fp32
    HELD.append(everything)
    everything.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    library.impl("_copy_from", lambda source, target, non_blocking=False: target, "PrivateUse1")
    torch.nn.Module.to = lambda self, *_, **__: self  # type: ignore[method-assign,assignment]  # it is there already


def seen(samples: str, tokens: Path, tokenizer: Path, plans: Path) -> dict[str, Any]:
    """Return what was seen in steps with samples of a kind."""
    from pretrain.batches.loader import Loader, plan_samples
    from pretrain.callbacks.guard import StepGuard
    from pretrain.kernels.compile import speed_up
    from pretrain.kernels.precision import half_type
    from pretrain.models.encoder import MaskedRowsModel, build_config, build_model
    from pretrain.parallel.accelerator import accelerator
    from pretrain.parallel.ddp import TorchEngine
    from pretrain.trainer import Trainer
    from tests.pretrain.small_tokens import small_run
    from tokenizer.shards import TokenShards

    device = torch.device("tpu")
    settings = small_run(samples, compile=False)
    plans.mkdir()
    plan_samples(settings, tokens, plans)
    shards = TokenShards(tokens)
    hf_model = build_model(settings, build_config(settings, shards.vocab_size, shards.special_ids))
    model = MaskedRowsModel(hf_model, half_type(settings.dtype))
    speed_up(model, settings, device)
    loader = Loader(settings, tokens, tokenizer, plans, 0, 1, form=model.input_form(device))
    watch, by_step = Watch(), []
    with FakeTensorMode(allow_non_fake_inputs=True) as shapes:
        _move(model, device)
        guard = StepGuard(settings, settings.dtype == "fp16", device)
        trainer = Trainer(TorchEngine(model, settings, device, None), loader, guard)
    for step in range(6):
        made = loader.micro_batches(step)
        with shapes, watch:
            trainer.step(step, 1e-3 / (step + 1), made)
        by_step.append(list(watch.new))
        watch.new.clear()
    with shapes, watch:
        trainer.validate(0)
    return {"accelerator": accelerator(), "half": str(model.half), "reads": watch.reads, "new": by_step}


if __name__ == "__main__":
    register()
    folders = [Path(name) for name in sys.argv[1:4]]
    print(json.dumps({kind: seen(kind, *folders[:2], folders[2] / kind) for kind in sys.argv[4:]}))
