"""A dry run: does a micro-batch fit, and does everything compile, before the run begins and not an hour later."""

from __future__ import annotations

import torch
from torch import Tensor

from common.errors import UserError
from pretrain.models.encoder import MaskedRowsModel
from pretrain.optim.registry import OPTIMIZERS
from pretrain.parallel.buckets import bucket_elements
from pretrain.parallel.engine import nothing
from pretrain.settings import PretrainSettings


def dry_run_batch(
    model: MaskedRowsModel,
    batches: list[dict[str, Tensor]],
    settings: PretrainSettings,
    world: int,
    device: torch.device,
) -> None:
    """Compute micro-batches, the largest first, beside the room that the optimizer will take, and forget them.

    Gradients are kept from the first one on, so that a later one finds as little room as in a run. At ZeRO stage 3,
    where no process ever holds the whole model, its engine dry-runs it (`Engine.settle`).

    Raises:
        UserError: torch.compile does not work here.
    """
    if settings.zero_stage == 3:
        return
    model.to(device).train()
    weights = sum(p.numel() for p in model.parameters())
    reserved = OPTIMIZERS[settings.optimizer.type].state_numbers(settings, weights)
    if settings.zero_stage:  # a part of them, of the weights and of the gradients, and what is being averaged
        reserved = -(-4 * weights // world) + 2 * min(weights, bucket_elements(settings, weights))
    elif world > 1:
        reserved += weights  # the buckets in which gradients are averaged
    try:
        room = torch.empty(reserved, device=device)
        for weight in model.parameters():  # a first batch would be computed without the gradients of one before
            weight.grad = torch.zeros_like(weight)
        for inputs in batches:
            nothing(model(**inputs)).backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            model.eval()  # validation: compiled for itself
            for inputs in batches:
                model(**inputs)
            model.train()
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
    if device.type == "cuda":
        torch.cuda.empty_cache()
