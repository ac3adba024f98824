"""Bias, dropout, residual sum and layer norm of a transformer block as one operator.

    sum = residual + dropout(branch + bias)
    normed = (sum − mean) / √(variance + ε) · weight + shift

On a GPU it is one Triton kernel forward and one backward (`pretrain.kernels.add_norm_triton`), which read and write
each number once: the mask is drawn again in the backward pass, and the gradients of bias, weight and shift come from
the same pass. Elsewhere it is computed by torch; both draw the same masks.

Shapes: T rows, W numbers a row, P parts of a sum.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.library import triton_op, wrap_triton

DRAWN_BITS = 16
"""Bits of a draw: a probability is one of 65,536 steps; 0.1 becomes 0.100006."""
PARTS = 1024
"""Programs of the backward kernel at most: each adds up its own part of the gradients of weight, shift and bias."""
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_INCREMENTS = (0x9E3779B9, 0xBB67AE85)
_WORD = 0xFFFFFFFF


def add_norm(
    branch_TW: Tensor,
    residual_TW: Tensor,
    weight_W: Tensor,
    shift_W: Tensor | None,
    bias_W: Tensor | None,
    eps: float,
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Return the norm of residual + dropout(branch + bias), and that sum itself, (…, W) like the branch.

    Args:
        branch_TW: (…, W) fp32, bf16 or fp16, what a block has computed; `residual_TW` is of the same shape.
        weight_W: fp32, like `shift_W` and `bias_W`.
        eps: of the norm.
        dropout: probability, in [0, 1); the mask depends on torch's generator of the device.
    """
    limit = round(dropout * 2**DRAWN_BITS)
    seed = torch.randint(2**62, (1,), device=branch_TW.device) if limit else None
    normed, total = _forward(branch_TW, residual_TW, weight_W, shift_W, bias_W, seed, eps, limit)
    return normed, total


def stays(seed: Tensor, rows: int, width: int, limit: int) -> Tensor:
    """Return which numbers stay, (T, W) bool: those whose 16 bits are not below the limit.

    Eight neighbours of a row share a call of Philox 4×32 with 10 rounds (Salmon et al. 2011), whose counter is the
    number of the eight and whose key is the seed.

    Args:
        seed: (1,) int64, not negative.
        limit: 0 to 65,536.
    """
    groups = -(-width // 8)
    counter_N = torch.arange(rows * groups, device=seed.device)
    zero_N = torch.zeros_like(counter_N)
    words_N4 = torch.stack(philox((counter_N, zero_N, zero_N, zero_N), (seed & _WORD, seed >> 32)), 1)
    draws_N8 = torch.stack((words_N4 & 0xFFFF, words_N4 >> 16), 2).flatten(1)
    return draws_N8.view(rows, groups * 8)[:, :width] >= limit


def philox(counter: tuple[Tensor, ...], key: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
    """Return the four words of Philox 4×32 with 10 rounds; all are int64 and hold 32 bits."""
    word0, word1, word2, word3 = counter
    key0, key1 = key
    for _ in range(10):
        high0, low0 = _product(word0, _MULTIPLIERS[0])
        high2, low2 = _product(word2, _MULTIPLIERS[1])
        word0 = high2 ^ word1 ^ key0
        word1 = low2
        word2 = high0 ^ word3 ^ key1
        word3 = low0
        key0 = (key0 + _INCREMENTS[0]) & _WORD
        key1 = (key1 + _INCREMENTS[1]) & _WORD
    return word0, word1, word2, word3


def _product(word: Tensor, factor: int) -> tuple[Tensor, Tensor]:
    """Return the high and the low 32 bits of a product, in 16-bit steps: int64 has no room for its 64."""
    by_high = word * (factor >> 16)
    by_low = word * (factor & 0xFFFF)
    middle = by_low + ((by_high & 0xFFFF) << 16)
    return (by_high >> 16) + (middle >> 32), middle & _WORD


@triton_op("hunmin::add_norm", mutates_args={})
def _forward(
    branch_TW: Tensor,
    residual_TW: Tensor,
    weight_W: Tensor,
    shift_W: Tensor | None,
    bias_W: Tensor | None,
    seed: Tensor | None,
    eps: float,
    limit: int,
) -> tuple[Tensor, Tensor]:
    if branch_TW.device.type == "cuda":
        return launch_forward(branch_TW, residual_TW, weight_W, shift_W, bias_W, seed, eps, limit, wrap_triton)
    total = branch_TW.float() if bias_W is None else branch_TW.float() + bias_W
    if seed is not None:
        total = _dropped(total, seed, limit)
    total = (residual_TW.float() + total).to(branch_TW.dtype)
    unit, _ = _unit(total, eps)
    normed = unit * weight_W if shift_W is None else unit * weight_W + shift_W
    return normed.to(branch_TW.dtype), total


@triton_op("hunmin::add_norm_backward", mutates_args={})
def _backward(
    by_normed_TW: Tensor,
    by_sum_TW: Tensor | None,
    sum_TW: Tensor,
    weight_W: Tensor,
    seed: Tensor | None,
    eps: float,
    limit: int,
    biased: bool,
    shifted: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of residual, branch, weight, shift and bias; empty that of a branch without dropout, which
    is the residual's, and of a shift or a bias that is not there."""
    if sum_TW.device.type == "cuda":
        return launch_backward(
            by_normed_TW, by_sum_TW, sum_TW, weight_W, seed, eps, limit, biased, shifted, wrap_triton
        )
    unit, inverse = _unit(sum_TW, eps)
    by_normed = by_normed_TW.float()
    by_unit = by_normed * weight_W
    along = (by_unit * unit).mean(-1, keepdim=True)
    by_residual = (by_unit - by_unit.mean(-1, keepdim=True) - unit * along) * inverse
    if by_sum_TW is not None:
        by_residual = by_residual + by_sum_TW.float()
    by_branch = by_residual if seed is None else _dropped(by_residual, seed, limit)
    rows = tuple(range(by_residual.dim() - 1))
    return (
        by_residual.to(sum_TW.dtype, copy=True),
        sum_TW.new_empty(0) if seed is None else by_branch.to(sum_TW.dtype, copy=True),
        (by_normed * unit).sum(rows),
        by_normed.sum(rows) if shifted else weight_W.new_empty(0),
        by_branch.sum(rows) if biased else weight_W.new_empty(0),
    )


def _unit(total: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Return the sums with mean 0 and variance 1, and the factor that made them so."""
    centred = total.float() - total.float().mean(-1, keepdim=True)
    inverse = (centred.square().mean(-1, keepdim=True) + eps).rsqrt()
    return centred * inverse, inverse


def _dropped(numbers: Tensor, seed: Tensor, limit: int) -> Tensor:
    width = numbers.shape[-1]
    mask = stays(seed, numbers.numel() // width, width, limit).view(numbers.shape)
    return torch.where(mask, numbers * _scale(limit), 0.0)


def _scale(limit: int) -> float:
    """Return what the numbers that stay are multiplied by, so that their mean stays."""
    return 1.0 / (1.0 - limit / 2**DRAWN_BITS)


def launch_forward(
    branch_TW: Tensor, residual_TW: Tensor, weight_W: Tensor, shift_W: Tensor | None, bias_W: Tensor | None,
    seed: Tensor | None, eps: float, limit: int, wrap: Any,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return what `hunmin::add_norm` does, by the Triton kernel; `wrap` makes the kernel part of a compiled graph."""
    from pretrain.kernels.add_norm_triton import forward_kernel

    branch_TW = branch_TW.contiguous()
    residual_TW = residual_TW.contiguous()
    width = branch_TW.shape[-1]
    normed_TW = torch.empty_like(branch_TW)
    sum_TW = torch.empty_like(branch_TW)
    wrap(forward_kernel)[(branch_TW.numel() // width,)](
        branch_TW, bias_W, residual_TW, weight_W, shift_W, seed, normed_TW, sum_TW, eps, limit, _scale(limit),
        WIDTH=width, GROUPS=_groups(width), DROPS=seed is not None, BIASED=bias_W is not None,
        SHIFTED=shift_W is not None, num_warps=_warps(width),
    )  # fmt: skip
    return normed_TW, sum_TW


def launch_backward(
    by_normed_TW: Tensor, by_sum_TW: Tensor | None, sum_TW: Tensor, weight_W: Tensor, seed: Tensor | None,
    eps: float, limit: int, biased: bool, shifted: bool, wrap: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Return what `hunmin::add_norm_backward` does, by the Triton kernel; see `launch_forward`."""
    from pretrain.kernels.add_norm_triton import backward_kernel

    width = sum_TW.shape[-1]
    rows = sum_TW.numel() // width
    parts = max(1, min(PARTS, rows))
    by_residual_TW = torch.empty_like(sum_TW)
    by_branch_TW = torch.empty_like(sum_TW) if seed is not None else sum_TW.new_empty(0)
    by_weight_PW = weight_W.new_zeros(parts, width)
    by_shift_PW = weight_W.new_zeros(parts, width) if shifted else weight_W.new_empty(0)
    by_bias_PW = weight_W.new_zeros(parts, width) if biased else weight_W.new_empty(0)
    wrap(backward_kernel)[(parts,)](
        by_normed_TW.contiguous(), None if by_sum_TW is None else by_sum_TW.contiguous(), sum_TW, weight_W, seed,
        by_residual_TW, by_branch_TW, by_weight_PW, by_shift_PW, by_bias_PW, rows, eps, limit, _scale(limit),
        WIDTH=width, GROUPS=_groups(width), DROPS=seed is not None, BIASED=biased, SHIFTED=shifted,
        SUM_USED=by_sum_TW is not None, num_warps=_warps(width),
    )  # fmt: skip
    by_shift = by_shift_PW.sum(0) if shifted else by_shift_PW
    by_bias = by_bias_PW.sum(0) if biased else by_bias_PW
    return by_residual_TW, by_branch_TW, by_weight_PW.sum(0), by_shift, by_bias


def _groups(width: int) -> int:
    return 1 << max(0, (-(-width // 8) - 1).bit_length())


def _warps(width: int) -> int:
    """Return the warps of a program: a thread has eight neighbours, so that a warp has 256 numbers."""
    return min(8, max(1, _groups(width) // 32))


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    _, _, weight_W, shift_W, bias_W, seed, ctx.eps, ctx.limit = inputs
    ctx.set_materialize_grads(False)  # a sum that nobody reads has no gradient, not one of zeros
    ctx.save_for_backward(output[1], weight_W, seed)
    ctx.biased = bias_W is not None
    ctx.shifted = shift_W is not None


def _gradients(ctx: Any, by_normed: Tensor | None, by_sum: Tensor | None) -> tuple[Tensor | None, ...]:
    total, weight_W, seed = ctx.saved_tensors
    by_normed = torch.zeros_like(total) if by_normed is None else by_normed
    residual, branch, weight, shift, bias = _backward(
        by_normed, by_sum, total, weight_W, seed, ctx.eps, ctx.limit, ctx.biased, ctx.shifted
    )
    branch = branch if seed is not None else residual
    return branch, residual, weight, shift if ctx.shifted else None, bias if ctx.biased else None, None, None, None


_forward.register_autograd(_gradients, setup_context=_save)
