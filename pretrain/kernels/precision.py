"""Numeric types: what a run computes in on the device at hand. Weights and optimizer state are always fp32."""

from __future__ import annotations

import torch

from pretrain.parallel.accelerator import accelerator

HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}
"""Types of 16 bits, by the names that settings use."""


def resolve_dtype(dtype: str) -> str:
    """Return "fp32", "bf16" or "fp16" for a `dtype` setting; `auto` is decided by the device of this machine."""
    if dtype != "auto":
        return dtype
    kind = accelerator()
    has_bf16 = kind == "tpu" or (kind == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False))
    return "bf16" if has_bf16 else "fp32"


def half_type(dtype: str) -> torch.dtype | None:
    """Return the 16-bit type that a `dtype` setting computes in, or None for fp32."""
    return HALVES.get(resolve_dtype(dtype))
