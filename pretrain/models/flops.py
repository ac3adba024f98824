"""FLOPs and parameters of an encoder, in closed form."""

from __future__ import annotations

from pretrain.settings import ModelSettings


def flops_per_token(model: ModelSettings, vocab_size: int, span: float, masked_share: float) -> float:
    """Return forward + backward FLOPs per token.

    Formula: 6·L·(4h² + 2hf) + 12·L·h·s + 6·m·(V·h + h²), a multiply-add counted as two.

    Args:
        model: the encoder; L layers, h width, f feed-forward.
        vocab_size: V.
        span: s, mean attention span of a token, E[len²] / E[len].
        masked_share: m, share of positions that pass through the head.
    """
    h, f, layers = model.hidden, model.intermediate, model.layers
    return (
        6 * layers * (4 * h * h + 2 * h * f)
        + 12 * layers * h * span
        + 6 * masked_share * (vocab_size * h + h * h)
    )  # fmt: skip


def parameters(model: ModelSettings, vocab_size: int, positions: int, nsp: bool = False) -> int:
    """Return the number of parameters with tied decoder: embeddings, layers, head transform, output bias.

    Args:
        model: the encoder.
        vocab_size: entries.
        positions: rows of the position table.
        nsp: whether there are a pooler and a head for next-sentence prediction.
    """
    h, f = model.hidden, model.intermediate
    types = 2 if model.type == "bert" else 1
    embeddings = (vocab_size + positions + types) * h + 2 * h
    layer = 4 * (h * h + h) + (h * f + f) + (f * h + h) + 4 * h
    head = h * h + h + 2 * h + vocab_size
    return embeddings + model.layers * layer + head + (h * h + 3 * h + 2 if nsp else 0)
