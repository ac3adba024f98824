"""The tokens that TRADE writes, out of a mixture of vocabulary and dialogue: their loss, and the likeliest.

Logits over the vocabulary are by far the largest thing in a step. They are made for a block of rows at a time, and
their one normalisation serves the loss, its gradient and the choice of the likeliest token; nothing keeps them.
Lengths: N rows (a slot of an input at a step), V vocabulary, D width, S tokens of the dialogue.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

SMALLEST = 1e-12
"""Probabilities below count as this much: the logarithm of none has no gradient."""
BLOCK = {"cpu": 1 << 22, "cuda": 1 << 28}
"""Logits at once at most: what a processor's caches hold."""


class Copies(NamedTuple):
    """The tokens of the dialogue that a row may copy."""

    ids: Tensor
    """Token ids, (N, S)."""
    share: Tensor
    """A token's share of the dialogue, at all its places together, (N, S)."""


def loss_and_choice(
    state: Tensor, weight: Tensor, mixed: Tensor, target_share: Tensor, target: Tensor, copies: Copies | None
) -> tuple[Tensor, Tensor]:
    """Return the sum of the tokens' negative log likelihoods, and with `copies` the likeliest token of each row.

    Args:
        state: what the logits are made of, (N, D).
        weight: embeddings of the vocabulary, (V, D).
        mixed: share of the vocabulary in the mixture, (N,).
        target_share: share of the target in the dialogue, (N,).
        copies: None where the likeliest token is not asked for, and `target` comes back in its place.
    """
    loss, best = _Lost.apply(state, weight, mixed, target_share, target, copies)  # type: ignore[no-untyped-call]
    return loss, best


@torch.no_grad()
def choice(state: Tensor, weight: Tensor, mixed: Tensor, copies: Copies) -> Tensor:
    """Return the likeliest token of each row, (N,); see `loss_and_choice`."""
    best = []
    for rows in _blocks(state, weight):
        logits = (state[rows] @ weight.T).float()
        highest, first = logits.max(-1)
        dialogue_logits = logits.gather(-1, copies.ids[rows])
        total = highest + logits.sub_(highest[:, None]).exp_().sum(-1).log()
        best.append(
            _likeliest(highest, first, dialogue_logits, total, mixed[rows], Copies(*(part[rows] for part in copies)))
        )
    return torch.cat(best) if best else state.new_empty(0, dtype=torch.long)


class _Lost(torch.autograd.Function):
    """`loss_and_choice`; gradients are made on the way, while a block's logits are there."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor]:
        state, weight, mixed, target_share, target, copies = arguments
        learns = any(ctx.needs_input_grad)
        reduced = torch.is_autocast_enabled(state.device.type)
        kind = torch.get_autocast_dtype(state.device.type) if reduced else state.dtype
        states, table = state.to(kind), weight.to(kind)
        loss = state.new_zeros((), dtype=torch.float32)
        grad_state = torch.empty_like(state)
        grad_weight = torch.zeros_like(weight) if learns else weight
        grad_mixed = torch.empty_like(mixed)
        grad_share = torch.empty_like(target_share)
        best = []
        with torch.autocast(state.device.type, enabled=False):
            for rows in _blocks(state, weight):
                logits = (states[rows] @ table.T).float()
                highest, first = logits.max(-1) if copies else (logits.amax(-1), target)
                at = logits.gather(-1, target[rows, None])[:, 0]
                dialogue_logits = logits.gather(-1, copies.ids[rows]) if copies else at
                summed = logits.sub_(highest[:, None]).exp_().sum(-1)
                total = highest + summed.log()
                if copies:
                    row_copies = Copies(*(part[rows] for part in copies))
                    best.append(_likeliest(highest, first, dialogue_logits, total, mixed[rows], row_copies))
                written = (at - total).exp()
                chance = mixed[rows] * written + (1 - mixed[rows]) * target_share[rows]
                loss -= chance.clamp_min(SMALLEST).log().sum()
                if learns:
                    over = torch.where(chance >= SMALLEST, 1 / chance, 0)
                    grad_mixed[rows] = (target_share[rows] - written) * over
                    grad_share[rows] = (mixed[rows] - 1) * over
                    pull = mixed[rows] * written * over
                    logits.mul_((pull / summed)[:, None])
                    logits.scatter_add_(-1, target[rows, None], -pull[:, None])
                    grad_logits = logits.to(kind)
                    grad_state[rows] = (grad_logits @ table).to(state.dtype)
                    if reduced:
                        grad_weight += grad_logits.T @ states[rows]
                    else:
                        grad_weight.addmm_(grad_logits.T, states[rows])
        ctx.save_for_backward(grad_state, grad_weight, grad_mixed, grad_share)
        chosen = torch.cat(best) if best else target
        ctx.mark_non_differentiable(chosen)
        return loss, chosen

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        return (*(part * gradients[0].to(part.dtype) for part in ctx.saved_tensors), None, None)


def _blocks(state: Tensor, weight: Tensor) -> list[slice]:
    size = max(1, BLOCK.get(state.device.type, BLOCK["cpu"]) // len(weight))
    return [slice(start, start + size) for start in range(0, len(state), size)]


def _likeliest(
    highest: Tensor, first: Tensor, dialogue_logits: Tensor, total: Tensor, mixed: Tensor, copies: Copies
) -> Tensor:
    """Return the likeliest token of each row: of the vocabulary, or of the dialogue; nothing else gains by the mixture.

    Args:
        highest: the highest logit, (N,).
        first: its token, (N,).
        dialogue_logits: of the dialogue's tokens, (N, S).
        total: logarithm of the sum over the vocabulary, (N,).
        mixed: share of the vocabulary in the mixture, (N,).
    """
    chances = mixed[:, None] * (dialogue_logits - total[:, None]).exp() + (1 - mixed[:, None]) * copies.share
    chance, place = chances.max(-1)
    return torch.where(chance >= mixed * (highest - total).exp(), copies.ids.gather(-1, place[:, None])[:, 0], first)
