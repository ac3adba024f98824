"""Attention over texts of any length side by side, without padding and without a mask, and the kernels for it.

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

FILL = 128
"""T is a multiple of this: matrix products are fastest so, and it is a fraction of a percent of a batch."""
NAME = "hunmin"
"""By which transformers' layers find `attend`."""
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
    **_: Any,
) -> tuple[Tensor, None]:
    """Return the attention of a layer, as transformers' layers ask for it: (B, S, A, D), and no weights.

    Args:
        module: the layer's attention.
        query: (B, A, S, D); with borders B is 1, and S is T.
        key: the same.
        value: the same.
        attention_mask: (B, 1, 1 or S, S) bool, or None.
        dropout: share of the weights that is dropped.
        scaling: of the scores.
        cu_seq_lens_q: int32 borders of the texts that see themselves alone, from 0 to T; None: rows see themselves.
        max_length_q: tokens of the longest text.
        sliding_window: of layers with local attention, which this function does not compute.

    Raises:
        NotImplementedError: a layer asks for local attention.
    """
    if sliding_window is not None:
        raise NotImplementedError(f"local attention over {sliding_window} tokens")
    if cu_seq_lens_q is None:
        out = functional.scaled_dot_product_attention(
            query, key, value, attention_mask, dropout_p=dropout, scale=scaling
        )
        return out.transpose(1, 2), None
    assert max_length_q is not None
    query_TAD, key_TAD, value_TAD = (x.transpose(1, 2).squeeze(0) for x in (query, key, value))
    return attend_texts(query_TAD, key_TAD, value_TAD, cu_seq_lens_q, max_length_q, dropout, scaling)[None], None


def attend_texts(
    query_TAD: Tensor, key_TAD: Tensor, value_TAD: Tensor, cu_seqlens_K: Tensor, longest: int, dropout: float,
    scaling: float | None,
) -> Tensor:  # fmt: skip
    """Return the attention of texts that see themselves alone, (T, A, D); on a GPU by torch's FlashAttention kernel.

    `torch.nn.attention.varlen` knows no dropout, which the recipes have; the operator below it does.

    Args:
        query_TAD: 16 bits on a GPU; likewise keys and values.
        key_TAD: keys.
        value_TAD: values.
        cu_seqlens_K: int32, from 0 to T; texts may be empty.
        longest: tokens of the longest text, or more.
        dropout: share of the weights that is dropped.
        scaling: of the scores.
    """
    if query_TAD.device.type == "cpu":
        texts = []
        for start, end in pairwise(cu_seqlens_K.tolist()):
            if end > start:
                query, key, value = (x[start:end].transpose(0, 1) for x in (query_TAD, key_TAD, value_TAD))
                texts.append(
                    functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout, scale=scaling)
                )
        return torch.cat(texts, 1).transpose(0, 1)
    out: Tensor = torch.ops.aten._flash_attention_forward(
        query_TAD,
        key_TAD,
        value_TAD,
        cu_seqlens_K,
        cu_seqlens_K,
        longest,
        longest,
        dropout,
        False,
        False,
        scale=scaling,
    )[0]
    return out


AttentionInterface.register(NAME, attend)


def unpadded(device: torch.device, half: torch.dtype | None, width: int, length: int, compiled: bool) -> bool:
    """Return whether texts side by side are faster than rectangles with a mask.

    They are on a GPU from Ampere on in 16 bits, which has a kernel for them, and on a CPU where samples are long.

    Args:
        device: of the model.
        half: the type that it computes in; None is fp32.
        width: D, of which the kernel wants a multiple of 8 up to 256.
        length: tokens a sample.
        compiled: whether the model is compiled: a CPU's loop over the texts would break its graph.
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

    Args:
        dropout: share of the attention's weights that is dropped. cuDNN drops a whole number of sixteenths (PyTorch
            issue 174245), so it serves only shares that are such a number.
    """
    exact = (16 * dropout).is_integer()
    with sdpa_kernel([kind for kind in PRIORITY if exact or kind != SDPBackend.CUDNN_ATTENTION], set_priority=True):
        yield
