"""The DeepSpeed engine: its configuration, its optimizer, a rehearsal, its state."""

from __future__ import annotations

import math
from typing import Any

import torch

from common.errors import HunminError, UserError
from pretrain.model import MaskedRowsModel
from pretrain.processes import HALVES, computing_in, device, resolve_dtype
from pretrain.settings import PretrainSettings

BUCKET = 50_000_000
"""Elements of the gradient that ZeRO averages at a time; it holds them twice."""


def deepspeed_config(settings: PretrainSettings, world: int) -> dict[str, Any]:
    """Return the DeepSpeed configuration of a run on `world` processes."""
    config: dict[str, Any] = {
        # the largest batch: where a step ends, the trainer says
        "train_batch_size": settings.global_batch,
        "train_micro_batch_size_per_gpu": settings.micro_batch,
        "gradient_accumulation_steps": settings.global_batch // (settings.micro_batch * world),
        "gradient_clipping": settings.optimizer.clip if settings.zero_stage else 0.0,
        "zero_optimization": {"stage": settings.zero_stage, "reduce_bucket_size": BUCKET},
        # it would wait for the device twice a micro-batch
        "timers": {"throughput": {"enabled": False}},
        "zero_allow_untested_optimizer": True,
        "steps_per_print": 10**12,
        "wall_clock_breakdown": False,
    }
    if half := HALVES.get(resolve_dtype(settings.dtype)):
        # autocast keeps the weights in fp32, so checkpoints and exports lose nothing
        # and with no module named here, gradients are averaged in fp32 at every stage
        name = str(half).removeprefix("torch.")
        config["torch_autocast"] = {"enabled": True, "dtype": name, "lower_precision_safe_modules": []}
    return config


def parameter_groups(model: torch.nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Return AdamW groups: biases and LayerNorm weights (every vector) without decay, all else with it."""
    decayed = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    plain = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]
    return [{"params": decayed, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}]


def whole_weights(engine: Any) -> dict[str, torch.Tensor]:
    """Return the weights of the hub model, whole, on the CPU; all processes call this, the first gets them."""
    if engine.zero_optimization_stage() == 3:
        state = engine._zero3_consolidated_16bit_state_dict() or {}  # in the weights' own dtype, which is fp32
    else:
        state = engine.module.state_dict()
    return {name.removeprefix("hub."): tensor.cpu() for name, tensor in state.items()}


class ClippingAdamW(torch.optim.AdamW):
    """AdamW that undoes the loss scale, clips, and leaves a step out that is to be skipped or has no finite gradient.

    Under ZeRO the gradient is in parts, and DeepSpeed does all of it.
    """

    clip: float | None = None
    """Largest norm, 0 for any; None leaves all of that to DeepSpeed."""
    loss_scale = 1.0
    """Factor of the gradient that is undone."""
    skip = False
    """Whether the next step is left out, and afterwards whether it was."""
    norm = 0.0
    """Norm of the last gradient, before clipping."""

    def step(self, closure: Any = None) -> Any:
        """Update the weights, or not."""
        if self.clip is not None and not self.skip:
            clipped = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
            if self.loss_scale != 1:
                torch._foreach_div_([p.grad for p in clipped], self.loss_scale)
            norm = torch.nn.utils.get_total_norm([p.grad for p in clipped])
            self.norm = float(norm)
            self.skip = not math.isfinite(self.norm)
            if self.clip and not self.skip:
                torch.nn.utils.clip_grads_with_norm_(clipped, self.clip, norm)
        return None if self.skip else super().step(closure)


def speed_up(model: MaskedRowsModel, settings: PretrainSettings) -> None:
    """Have the model compute as fast as its device can: in 16 bits throughout, and compiled, where the run asks for it.

    Autocast gives back layer norms in single precision, and with them all that is added up between the layers: twice
    the memory traffic. Here they come out in the type that everything else is computed in.
    """
    half = HALVES.get(resolve_dtype(settings.dtype))
    if half:
        for module in model.modules():
            if isinstance(module, torch.nn.LayerNorm):
                module.register_forward_hook(lambda _module, _inputs, output: output.to(half))
    compiled = settings.compile
    if compiled is None:
        compiled = torch.cuda.is_available() and settings.zero_stage < 3
    if compiled:
        model.compile(dynamic=False)


def rehearse(
    model: MaskedRowsModel, arguments: dict[str, torch.Tensor | None], settings: PretrainSettings, world: int
) -> None:
    """Compute a micro-batch forwards and backwards, beside the room that AdamW will take, and forget it.

    So a micro-batch that does not fit is found before the run begins, not an hour later. At ZeRO stage 3, where no
    process ever holds the whole model, nothing is rehearsed. A batch without padding is computed with an attention
    mask, too: the few that are padded then find their kernels compiled.

    Raises:
        UserError: torch.compile does not work here.
    """
    if settings.zero_stage == 3:
        return
    place = device()
    ids_BS, variants = arguments["ids_BS"], [arguments]
    if ids_BS is not None and settings.samples not in ("packed", "sentence-pairs") and "lengths_B" not in arguments:
        lengths_B = torch.full(ids_BS.shape[:1], ids_BS.shape[1], device=place)
        variants.append({**arguments, "lengths_B": lengths_B})
    model.to(place).train()
    weights = sum(p.numel() for p in model.parameters())
    try:
        held = 2 * weights  # moments
        if settings.zero_stage:  # a part of them, of the weights and of the gradients, and what is being averaged
            held = 4 * weights // world + 2 * min(BUCKET, weights)
        room = torch.empty(held, device=place)
        for variant in variants:
            with computing_in(settings.dtype, place):
                sums = model(**variant)
            (sums.loss + sums.pair_loss).backward()
            del sums
        del room
    except Exception as error:
        if not type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
            raise
        raise UserError(
            f"torch.compile does not work here: {str(error).strip().splitlines()[0]}",
            "it needs a C++ compiler, and on a GPU triton",
            "set pretrain.compile=false",
        ) from None
    model.zero_grad(set_to_none=True)
    if place.type == "cuda":
        torch.cuda.empty_cache()


def start_engine(model: MaskedRowsModel, settings: PretrainSettings, universal: bool = False) -> Any:
    """Return the DeepSpeed engine for the model, with AdamW; after `join_processes`.

    Args:
        model: with fresh weights, or those to go on from.
        settings: the run.
        universal: whether it will load a checkpoint made for any number of processes.
    """
    import deepspeed

    o = settings.optimizer
    optimizer = ClippingAdamW(
        parameter_groups(model, o.weight_decay),
        lr=o.lr,
        betas=(o.beta1, o.beta2),
        eps=o.eps,
        fused=True,
    )
    if not settings.zero_stage:
        optimizer.clip = o.clip
    config = deepspeed_config(settings, torch.distributed.get_world_size())
    engine, *_ = deepspeed.initialize(
        model=model,
        optimizer=optimizer,
        config=config | ({"checkpoint": {"load_universal": True}} if universal else {}),
        dist_init_required=False,
    )
    # DeepSpeed's own scale of autocast is in no checkpoint, and under ZeRO an overflow never lowers it
    engine.torch_autocast_z0_gradscaler = None
    if settings.zero_stage:
        engine.optimizer.torch_autocast_gradscaler = None
    if settings.zero_stage == 3:
        decoder = model.hub.get_output_embeddings()
        for parameter in (decoder.weight, decoder.bias):  # the loss takes them from another module
            deepspeed.zero.register_external_parameter(model, parameter)
    return engine


def restore(engine: Any, folder: str, tag: str) -> None:
    """Load a checkpoint's state into the engine.

    Raises:
        HunminError: DeepSpeed finds none there.
    """
    loaded, _ = engine.load_checkpoint(folder, tag=tag)
    if loaded is None:
        raise HunminError(f"{folder} holds no state", "a checkpoint holds the engine's state", "remove it, run again")
    # a universal checkpoint leaves AdamW's counts of steps on the CPU, where its fused kernel cannot read them
    for parameter, state in engine.basic_optimizer.state.items():
        if "step" in state:
            state["step"] = torch.as_tensor(state["step"], dtype=torch.float32, device=parameter.device)
