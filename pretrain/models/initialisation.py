"""Initial weights beyond transformers' own: a start from which short runs learn word order soon.

Legend: P positions, H hidden width, D width of a head.
"""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import PreTrainedModel

from pretrain.models.registry import ARCHITECTURES, first_position

WAVELENGTHS = 50.0
"""Ratio of the longest wavelength of the positions to the shortest, 2π tokens: the likeness of two positions falls off
within some ten tokens. With the 10,000 of Vaswani et al. all positions of a short text are much alike."""


def begin_local(model: PreTrainedModel, seed: int) -> None:
    """Change fresh weights so that attention begins by looking near; all of them are trained as usual.

    Initialised at random, a model learns from the bag of words of a text alone for thousands of steps. Here positions
    begin as sinusoids, of which near ones are alike, and the query and key weights of a head as the same matrix with
    orthogonal rows, so that a head's scores are the likeness of its inputs (mimetic initialisation, Trockman and Kolter
    2023, section 3). Sizes stay those of the configuration's `initializer_range`.
    """
    config = model.config
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        architecture = ARCHITECTURES[config.model_type]
        table_PH = architecture.position_table(model)
        first = first_position(config)
        assert table_PH is not None  # settings refuse others
        table_PH[first:] = sinusoids(len(table_PH) - first, config.hidden_size) * config.initializer_range
        width = config.hidden_size // config.num_attention_heads
        size = config.initializer_range * config.hidden_size**0.5
        for layer in architecture.layers(model):
            query_and_key = architecture.query_and_key(layer)
            for first_row in range(0, config.hidden_size, width):
                rows_DH = orthogonal_rows(width, config.hidden_size, generator) * size
                for weight in query_and_key:
                    weight[first_row : first_row + width] = rows_DH


def sinusoids(positions: int, hidden: int) -> Tensor:
    """Return sin(p · w) and cos(p · w), joined, for ⌈H/2⌉ falling frequencies w; mean square 1, float32 (P, H)."""
    rate_I = WAVELENGTHS ** (-torch.arange(0, hidden, 2, dtype=torch.float64) / hidden)
    angle_PI = torch.arange(positions, dtype=torch.float64)[:, None] * rate_I
    return (torch.stack([angle_PI.sin(), angle_PI.cos()], -1).flatten(1)[:, :hidden] * 2**0.5).float()


def orthogonal_rows(rows: int, columns: int, generator: torch.Generator) -> Tensor:
    """Return random rows of length 1, orthogonal to each other: (rows, columns), rows <= columns."""
    return torch.linalg.qr(torch.randn(columns, rows, generator=generator, dtype=torch.float64))[0].T.float()
