"""Cross-entropy of a vocabulary projection, a few rows at a time, so that the logits never exist as a whole.

Forward computes loss and gradients in one pass over chunks that stay in a processor's cache; backward only scales
them. Against projection, log-softmax and their backward passes this saves several trips through R·V numbers.

Shapes: R rows, C rows of a chunk, H hidden width, V vocabulary.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from pretrain.batches.predictions import IGNORE

CPU_CHUNK_BYTES, CHUNK_BYTES = 32 << 20, 1 << 30
"""Logits at work, in fp32: what a last-level cache holds on a CPU; elsewhere large enough for full speed."""


def linear_cross_entropy(
    hidden_RH: Tensor, weight_VH: Tensor, bias_V: Tensor, labels_R: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return (sum of −log softmax(hidden·weightᵀ + bias)[label], rows predicted correct, rows counted), three scalars.

    Rows labelled IGNORE do not count. Under autocast the products are taken in its dtype; sums, exponentials and
    gradients of the weights are fp32.
    """
    device = hidden_RH.device.type
    autocast = _has_autocast(device) and torch.is_autocast_enabled(device)
    dtype = torch.get_autocast_dtype(device) if autocast else hidden_RH.dtype
    needs_grad = torch.is_grad_enabled()  # within `forward` it never is, and `needs_input_grad` does not ask
    loss, correct = _LinearCrossEntropy.apply(hidden_RH, weight_VH, bias_V, labels_R, dtype, needs_grad)  # type: ignore[no-untyped-call]
    return loss, correct, (labels_R != IGNORE).sum()


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _has_autocast(device: str) -> bool:
    """Return whether there is autocast for a kind of device; before torch 2.13 asking would cut a compiled graph."""
    return torch.amp.is_autocast_available(device)


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden_RH: Tensor,
        weight_VH: Tensor,
        bias_V: Tensor,
        labels_R: Tensor,
        dtype: torch.dtype,
        needs_grad: bool,
    ) -> tuple[Tensor, Tensor]:
        """Return loss and rows predicted correct; where `needs_grad`, gradients are computed as well and kept."""
        needs_grad = needs_grad and any(ctx.needs_input_grad[:3])
        device = hidden_RH.device.type
        with torch.autocast(device, enabled=False) if _has_autocast(device) else nullcontext():
            on_cpu = device == "cpu"
            loss, correct, *gradients = _compute(hidden_RH, weight_VH, bias_V, labels_R, dtype, needs_grad, on_cpu)
        ctx.save_for_backward(*gradients)
        ctx.dtypes = hidden_RH.dtype, weight_VH.dtype, bias_V.dtype
        ctx.mark_non_differentiable(correct)
        return loss, correct

    @staticmethod
    def backward(ctx: Any, loss_gradient: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        scaled = (gradient.mul(loss_gradient).to(t) for gradient, t in zip(ctx.saved_tensors, ctx.dtypes, strict=True))
        return (*scaled, None, None, None)


def _compute(
    hidden_RH: Tensor,
    weight_VH: Tensor,
    bias_V: Tensor,
    labels_R: Tensor,
    dtype: torch.dtype,
    needs_grad: bool,
    cpu: bool,
) -> tuple[Tensor, ...]:
    rows, vocabulary = len(hidden_RH), len(weight_VH)
    inputs_RH, weights_VH = hidden_RH.to(dtype), weight_VH.to(dtype)
    device = hidden_RH.device
    loss = torch.zeros((), dtype=torch.float32, device=device)
    correct = torch.zeros((), dtype=torch.int64, device=device)
    gradients: tuple[Tensor, ...] = ()
    if needs_grad:
        by_hidden_RH = torch.empty_like(hidden_RH, dtype=torch.float32)
        by_weight_VH = torch.zeros_like(weight_VH, dtype=torch.float32)
        by_bias_V = torch.zeros_like(bias_V, dtype=torch.float32)
        gradients = by_hidden_RH, by_weight_VH, by_bias_V
    step = max(1, (CPU_CHUNK_BYTES if cpu else CHUNK_BYTES) // (4 * vocabulary))
    if not cpu:  # chunks of one size: kernels of one shape
        step = max(1, -(-rows // max(1, -(-rows // step))))
    for start in range(0, rows, step):
        part = slice(start, start + step)
        labels_C1 = labels_R[part, None]
        counted_C1 = labels_C1 != IGNORE
        target_C1 = labels_C1.clamp(min=0)
        logits_CV = torch.addmm(bias_V.to(dtype), inputs_RH[part], weights_VH.T).float()
        largest_C1, guess_C1 = logits_CV.max(1, keepdim=True)
        correct = correct + ((guess_C1 == labels_C1) & counted_C1).sum()
        margin_C1 = logits_CV.gather(1, target_C1) - largest_C1
        odds_CV = logits_CV.sub_(largest_C1).exp_()
        total_C1 = odds_CV.sum(1, keepdim=True)
        # not in place: compiled by torch 2.11, a result that is written to has no gradient, and nothing is learned
        loss = loss + ((total_C1.log() - margin_C1) * counted_C1).sum()
        if needs_grad:
            # the gradient of a row by its logits: softmax, less 1 at the label; nothing for a row that does not count
            by_logits_CV = odds_CV.mul_(counted_C1 / total_C1)
            if cpu:
                by_logits_CV.scatter_add_(1, target_C1, -counted_C1.float())
            else:  # compiled, this is part of the pass above, where a scatter would write the fp32 matrix first
                at_V = torch.arange(vocabulary, device=device)
                by_logits_CV = by_logits_CV - ((at_V == target_C1) & counted_C1).float()
            by_bias_V += by_logits_CV.sum(0)
            by_logits_CV = by_logits_CV.to(dtype)
            by_hidden_RH[part] = by_logits_CV @ weights_VH
            if dtype == torch.float32:
                by_weight_VH.addmm_(by_logits_CV.T, inputs_RH[part])
            else:
                by_weight_VH += by_logits_CV.T @ inputs_RH[part]
    return loss, correct, *gradients
