"""Compilation and numeric types for the device of a model; its weights keep their meaning."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch._dynamo import config as dynamo_config
from torch._functorch import config as functorch_config
from torch._inductor import config as inductor_config
from transformers import PreTrainedModel

from common.errors import HunminError
from common.files import atomic_write
from pretrain.kernels.attention import NAME, unpadded
from pretrain.models.encoder import MaskedRowsModel
from pretrain.settings import PretrainSettings

COMPILED = Path("logs") / "compiled"
"""Folder, in that of a run, of its compiled kernels."""
ARTIFACTS = COMPILED / "artifacts"
"""File that torch's compiler keeps them in."""


def speed_up(
    model: MaskedRowsModel,
    settings: PretrainSettings,
    device: torch.device,
    fuse: bool | None = None,
    world: int = 1,
) -> None:
    """Make the model as fast as the device allows; the weights and their names stay transformers' own.

    Queries, keys and values come from one matrix product (`fuse`), by default on GPUs, where it is faster, but not at
    ZeRO stage 3, which fetches each weight for its own layer. Several processes compile layer by layer.
    """
    config = model.hf_model.config
    if model.half:
        _keep_norms_narrow(model, model.half, device)
    compiled = is_compiled(settings, device)
    width = config.hidden_size // config.num_attention_heads
    model.one_shape = device.type == "tpu"
    model.unpadded = model.architecture.unpadded and unpadded(device, model.half, width, settings.longest, compiled)
    if model.unpadded:
        attend_unpadded(model.hf_model)
    if fuse is None:
        fuse = device.type != "cpu" and settings.zero_stage < 3
    if fuse:
        model.architecture.fuse(model.hf_model)
    if settings.fused_norms:
        model.architecture.fuse_norms(model.hf_model)
    if compiled:
        model.compiles = True
        dynamo_config.recompile_limit = 8 * len(settings.every_phase)  # a phase has graphs of its own; 8 by default
        if settings.model.dropout or settings.model.dropped_attention:
            draw_dropout_as_eager()
        if world == 1 or model.one_shape:
            compile_whole(model)
        else:
            compile_layers(model)


def attend_unpadded(hf_model: PreTrainedModel) -> None:
    """Have a model attend by `attend`, or raise a HunminError: else texts would see each other."""
    hf_model.set_attn_implementation(NAME)
    if hf_model.config._attn_implementation != NAME:
        raise HunminError(
            f"{type(hf_model).__name__} has an attention of its own, and its architecture is marked `unpadded`",
            "unpadded sequences are kept apart by the attention that they are computed with",
            "set unpadded = False in its file in pretrain/models",
        )


def draw_dropout_as_eager() -> None:
    """Have Inductor draw dropout's masks as eager torch does, where it can (torch 2.13 and later).

    By default a mask depends on the shape of the kernel that draws it: drawn again in the backward pass, by another
    kernel, it is another mask, and in some kernels four entries share a draw (PyTorch issue 198333).
    """
    if hasattr(inductor_config, "align_random_eager"):
        inductor_config.align_random_eager = True


def is_compiled(settings: PretrainSettings, device: torch.device) -> bool:
    """Return whether a run compiles its model on a device: the setting, or where there is none, what is faster."""
    if settings.compile is not None:
        return settings.compile
    return device.type in ("cuda", "tpu") and settings.zero_stage < 3


def compile_whole(model: MaskedRowsModel, backend: str | Callable[..., Any] = "inductor") -> None:
    """Compile the model as one graph; its cross-entropy, a function of our own, may come from the compiler's cache."""
    functorch_config.autograd_cache_allow_custom_autograd_functions = True
    model.sums = torch.compile(model.sums, dynamic=False, backend=backend)  # type: ignore[method-assign]


def compile_layers(model: MaskedRowsModel, backend: str | Callable[..., Any] = "inductor") -> None:
    """Compile embeddings, layers and head each for itself.

    The backward pass of a model that is compiled as a whole hands over all gradients when it ends. Of single layers
    they come one layer after the other, and are averaged over the processes meanwhile. The layers share a graph.
    """
    parts = model.architecture
    if model.unpadded:  # what is marked in the batch is not marked in what is computed of it
        model.hf_model.base_model.register_forward_pre_hook(_mark_texts, with_kwargs=True)
        parts.before_layers(model.hf_model, lambda tensor: torch._dynamo.mark_dynamic(tensor, 1))
    for part in (parts.embeddings(model.hf_model), *parts.layers(model.hf_model)):
        # not the module, whose hooks would be compiled with it: they mark what it is given
        part.forward = torch.compile(part.forward, dynamic=False, backend=backend)
    model.head_sums = torch.compile(model.head_sums, dynamic=False, backend=backend)  # type: ignore[method-assign]


def _mark_texts(_: torch.nn.Module, __: tuple[Any, ...], inputs: dict[str, Any]) -> None:
    """Mark the length of unpadded sequences as one that differs between batches."""
    for value in inputs.values():
        if isinstance(value, Tensor) and value.shape == inputs["input_ids"].shape:
            torch._dynamo.mark_dynamic(value, 1)


def load_compiled(out: Path) -> None:
    """Hand the compiler what a run has kept, so that a resumed run does not compile again.

    The compiler's caches are folders of the node, as torch places them: processes of several nodes that write into one
    shared folder disturb each other (PyTorch issue 173679, Triton issue 11512).
    """
    os.environ.setdefault("TORCH_TPU_TIER3_COMPILATION_CACHE_ROOT", str((out / COMPILED / "tpu").absolute()))
    file = out / ARTIFACTS
    if file.is_file() and file.stat().st_uid == os.geteuid():  # torch unpickles it: nobody else's
        torch.compiler.load_cache_artifacts(file.read_bytes())


def save_compiled(out: Path) -> None:
    """Keep beside a run's logs what has been compiled so far; the first process calls it."""
    artifacts = torch.compiler.save_cache_artifacts()
    file = out / ARTIFACTS
    if artifacts and not (file.is_file() and file.read_bytes() == artifacts[0]):
        with atomic_write(file, "wb") as stream:
            stream.write(artifacts[0])


def _keep_norms_narrow(model: MaskedRowsModel, half: torch.dtype, device: torch.device) -> None:
    """Make layer norms return 16 bits: autocast's fp32 would double the memory traffic between the layers.

    On a TPU autocast leaves them alone, and TorchTPU lowers no norm of 16 bits with weights of 32: there they are
    handed single precision, as autocast does on a GPU.
    """
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            if device.type == "tpu":
                module.register_forward_pre_hook(lambda _module, inputs: (inputs[0].float(), *inputs[1:]))
            module.register_forward_hook(lambda _module, _inputs, output: output.to(half))
