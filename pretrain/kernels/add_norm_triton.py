"""Triton kernels of `pretrain.kernels.add_norm`: a row is read once, and what is dropped is drawn again, not kept.

A row of W numbers is a tile of (G, 8), G the power of two from W / 8 on, so that a thread that reads eight neighbours
draws for all of them at once. Sums are of fp32.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _stays(seed, row, group, lane, limit, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return which numbers of a row's tile stay: those whose 16 bits are not below the limit."""
    first, second, third, fourth = tl.randint4x(seed, row * ((WIDTH + 7) // 8) + group)
    low = tl.where(lane < 2, first[:, None], second[:, None])
    high = tl.where(lane < 6, third[:, None], fourth[:, None])
    word = tl.where(lane < 4, low, high).to(tl.uint32, bitcast=True)
    return ((word >> ((lane % 2) * 16).to(tl.uint32)) & 0xFFFF) >= limit


@triton.jit
def forward_kernel(  # type: ignore[no-untyped-def]
    branch_TW, bias_W, residual_TW, weight_W, shift_W, seed, normed_TW, sum_TW, eps, limit, scale,
    WIDTH: tl.constexpr, GROUPS: tl.constexpr, DROPS: tl.constexpr, BIASED: tl.constexpr, SHIFTED: tl.constexpr,
):  # fmt: skip
    """Write sum = residual + dropout(branch + bias) and its norm, of the row that the program's number says."""
    row = tl.program_id(0)
    group = tl.arange(0, GROUPS)
    lane = tl.arange(0, 8)[None, :]
    at = group[:, None] * 8 + lane
    inside = at < WIDTH
    here = row * tl.full((), WIDTH, tl.int64) + at
    total = tl.load(branch_TW + here, mask=inside, other=0.0).to(tl.float32)
    if BIASED:
        total += tl.load(bias_W + at, mask=inside, other=0.0)
    if DROPS:
        total = tl.where(_stays(tl.load(seed), row, group, lane, limit, WIDTH), total * scale, 0.0)
    total += tl.load(residual_TW + here, mask=inside, other=0.0).to(tl.float32)
    rounded = total.to(sum_TW.dtype.element_ty)
    tl.store(sum_TW + here, rounded, mask=inside)
    total = tl.where(inside, rounded.to(tl.float32), 0.0)
    centred = tl.where(inside, total - tl.sum(total) / WIDTH, 0.0)
    normed = (
        centred * tl.rsqrt(tl.sum(centred * centred) / WIDTH + eps) * tl.load(weight_W + at, mask=inside, other=0.0)
    )
    if SHIFTED:
        normed += tl.load(shift_W + at, mask=inside, other=0.0)
    tl.store(normed_TW + here, normed.to(normed_TW.dtype.element_ty), mask=inside)


@triton.jit
def backward_kernel(  # type: ignore[no-untyped-def]
    by_normed_TW, by_sum_TW, sum_TW, weight_W, seed, by_residual_TW, by_branch_TW,
    by_weight_PW, by_shift_PW, by_bias_PW, rows, eps, limit, scale,
    WIDTH: tl.constexpr, GROUPS: tl.constexpr, DROPS: tl.constexpr, BIASED: tl.constexpr, SHIFTED: tl.constexpr,
    SUM_USED: tl.constexpr,
):  # fmt: skip
    """Write the gradients of every P-th row, P programs, and each program's part of those of weight, shift and bias."""
    program = tl.program_id(0)
    group = tl.arange(0, GROUPS)
    lane = tl.arange(0, 8)[None, :]
    at = group[:, None] * 8 + lane
    inside = at < WIDTH
    weight = tl.load(weight_W + at, mask=inside, other=0.0)
    by_weight = tl.zeros((GROUPS, 8), tl.float32)
    by_shift = tl.zeros((GROUPS, 8), tl.float32)
    by_bias = tl.zeros((GROUPS, 8), tl.float32)
    for row in range(program, rows, tl.num_programs(0)):
        here = row * tl.full((), WIDTH, tl.int64) + at
        total = tl.load(sum_TW + here, mask=inside, other=0.0).to(tl.float32)
        by_normed = tl.load(by_normed_TW + here, mask=inside, other=0.0).to(tl.float32)
        centred = tl.where(inside, total - tl.sum(total) / WIDTH, 0.0)
        inverse = tl.rsqrt(tl.sum(centred * centred) / WIDTH + eps)
        unit = centred * inverse
        by_unit = by_normed * weight
        by_total = (by_unit - tl.sum(by_unit) / WIDTH - unit * (tl.sum(by_unit * unit) / WIDTH)) * inverse
        if SUM_USED:
            by_total += tl.load(by_sum_TW + here, mask=inside, other=0.0).to(tl.float32)
        tl.store(by_residual_TW + here, by_total.to(by_residual_TW.dtype.element_ty), mask=inside)
        by_weight += by_normed * unit
        if SHIFTED:
            by_shift += by_normed
        if DROPS:
            stays = _stays(tl.load(seed), row, group, lane, limit, WIDTH)
            by_total = tl.where(stays, by_total * scale, 0.0)
            tl.store(by_branch_TW + here, by_total.to(by_branch_TW.dtype.element_ty), mask=inside)
        if BIASED:
            by_bias += tl.where(inside, by_total, 0.0)
    part = program * WIDTH + at
    tl.store(by_weight_PW + part, by_weight, mask=inside)
    if SHIFTED:
        tl.store(by_shift_PW + part, by_shift, mask=inside)
    if BIASED:
        tl.store(by_bias_PW + part, by_bias, mask=inside)
