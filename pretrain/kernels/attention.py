"""Attention over unpadded (packed) sequences, without a mask, and the kernels for it.

Shapes: T tokens of a micro-batch, all texts one after the other, A heads, D width of a head, K borders of texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import AttentionInterface
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

FILL = 128
"""T is a multiple of this: matrix products are fastest so, and it is a fraction of a percent of a batch."""
NAME = "hunmin"
"""Name by which transformers' layers find `attend`."""
PRIORITY = (
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
)
"""Kernels for samples of one length, the fastest with dropout first; of texts of any length there is one."""
CPU_LENGTH = 512
"""Tokens a sample from which a CPU computes texts one after the other faster than all of them with a mask."""


def attend(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    cu_seq_lens_q: Tensor | None = None,
    max_length_q: int | None = None,
    sliding_window: int | None = None,
    causal: bool = False,
    **_: Any,
) -> tuple[Tensor, None]:
    """Return the attention of a layer, as transformers' layers ask for it: (B, S, A, D), and no weights.

    Args:
        query: (B, A, S, D), like `key` and `value`; with borders B is 1, and S is T.
        attention_mask: (B, 1, 1 or S, S) bool, or None.
        cu_seq_lens_q: int32 borders of the texts that see themselves alone, from 0 to T; None: rows see themselves.
        sliding_window: of layers with local attention: places from which on a token is too far away to be seen.
    """
    if cu_seq_lens_q is None:
        if sliding_window is not None and attention_mask is None:
            attention_mask = near(query.shape[2], sliding_window, query.device)
        out = functional.scaled_dot_product_attention(
            query, key, value, attention_mask, dropout_p=dropout, scale=scaling
        )
        return out.transpose(1, 2), None
    assert max_length_q is not None
    query_TAD, key_TAD, value_TAD = (x.transpose(1, 2).squeeze(0) for x in (query, key, value))
    out_TAD = attend_texts(
        query_TAD, key_TAD, value_TAD, cu_seq_lens_q, max_length_q, dropout, scaling, sliding_window, causal
    )
    return out_TAD[None], None


def near(size: int, window: int, device: torch.device, causal: bool = False) -> Tensor:
    """Return which positions of a text see which, (size, size) bool: those less than `window` places away."""
    at_S = torch.arange(size, device=device)
    away_SS = at_S[:, None] - at_S
    return (away_SS < window) & (away_SS >= 0 if causal else away_SS > -window)


def attend_texts(
    query_TAD: Tensor, key_TAD: Tensor, value_TAD: Tensor, cu_seqlens_K: Tensor, longest: int, dropout: float,
    scaling: float | None, window: int | None = None, causal: bool = False,
) -> Tensor:  # fmt: skip
    """Return the attention of texts that see themselves alone, (T, A, D); on a GPU by torch's FlashAttention kernel.

    `torch.nn.attention.varlen` knows no dropout, which the recipes have; the operator below it does.

    Args:
        query_TAD: 16 bits on a GPU; likewise keys and values.
        cu_seqlens_K: int32, from 0 to T; texts may be empty.
        window: places from which on a token is too far away to be seen; None sees the whole text.
    """
    if query_TAD.device.type == "cpu":
        texts = []
        for start, end in pairwise(cu_seqlens_K.tolist()):
            if end > start:
                query, key, value = (x[start:end].transpose(0, 1) for x in (query_TAD, key_TAD, value_TAD))
                mask = None if window is None else near(end - start, window, query.device, causal)
                texts.append(
                    functional.scaled_dot_product_attention(
                        query, key, value, mask, dropout, is_causal=causal and mask is None, scale=scaling
                    )
                )
        return torch.cat(texts, 1).transpose(0, 1)
    left = None if window is None else window - 1
    return torch.ops.aten._flash_attention_forward(
        query_TAD, key_TAD, value_TAD, cu_seqlens_K, cu_seqlens_K, longest, longest, dropout, causal, False,
        scale=scaling, window_size_left=left, window_size_right=0 if causal and left is not None else left,
    )[0]  # fmt: skip


AttentionInterface.register(NAME, attend)


def attend_fused(
    self: Any, hidden_states: Tensor, attention_mask: Tensor | None = None, past_key_values: Any = None, **more: Any
) -> tuple[Tensor, Any]:
    """Return the output of transformers' BERT self-attention, from one matrix product instead of three."""
    parts = (self.query, self.key, self.value)
    weight = torch.cat([part.weight for part in parts])
    bias = torch.cat([part.bias for part in parts])
    shape = (*hidden_states.shape[:-1], 3, self.num_attention_heads, self.attention_head_size)
    query, key, value = functional.linear(hidden_states, weight, bias).view(shape).unbind(-3)
    interface = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, attend)
    out, weights = interface(
        self, query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), attention_mask,
        dropout=self.dropout.p if self.training else 0.0, scaling=self.scaling, **more,
    )  # fmt: skip
    return out.reshape(*hidden_states.shape[:-1], -1).contiguous(), weights


def unpadded(device: torch.device, half: torch.dtype | None, width: int, length: int, compiled: bool) -> bool:
    """Return whether unpadded sequences are faster than padded ones with a mask.

    They are on a GPU from Ampere on in 16 bits, whose kernel wants a `width` (D) of a multiple of 8 up to 256, and on a
    CPU where samples are long, unless compiled: its loop over the texts would break the graph.
    """
    if device.type == "cpu":
        return length >= CPU_LENGTH and not compiled
    if half is None or width % 8 or width > 256:
        return False
    if device.type == "meta":  # stands for a GPU where there is none
        return True
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)


@contextmanager
def fastest_kernels(dropout: float) -> Iterator[None]:
    """Use the first kernel of `PRIORITY` that supports the inputs, for samples of one length.

    cuDNN drops a whole number of sixteenths (PyTorch issue 174245), so it serves no other `dropout`.
    """
    exact = (16 * dropout).is_integer()
    with sdpa_kernel([kind for kind in PRIORITY if exact or kind != SDPBackend.CUDNN_ATTENTION], set_priority=True):
        yield
