"""A masked batch as the model takes it: a rectangle, or where the device can, its texts one after the other.

Shapes: B samples, S tokens a sample, M predicted rows a sample; T tokens of the batch without padding, filled up to a
multiple of `FILL`, R = B·M, K borders of texts, P pairs (= B).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pretrain.batches.predictions import IGNORE, MaskedBatch
from pretrain.batches.samples import Batch
from pretrain.kernels.attention import FILL
from pretrain.objectives.objective import Objective


@dataclass(frozen=True)
class MicroBatch:
    """A masked batch, ready to be copied to the model's device, and what its loss is divided by."""

    inputs: dict[str, Tensor]
    """Arguments of `MaskedRowsModel`, on the host."""
    counts: Tensor
    """Positions that hold text, of the samples that count; and all positions of the rectangle, padding too: float64, on
    the host. They differ from batch to batch, so they go to the device as a tensor: an XLA device would compile anew
    for each number that it is handed as such."""
    expected: float
    """Mean number of tokens predicted in such a batch."""
    size: int
    """Samples."""
    objective: Objective
    """Objective that is learned from it."""


@dataclass(frozen=True)
class InputForm:
    """The form in which a model on its device takes a batch."""

    texts: bool = False
    """Unpadded: the device attends over texts of any length, which follow each other without padding. Samples that are
    never padded stay a rectangle."""
    one_shape: bool = False
    """Batches without padding carry lengths, too, so that all batches have the same arguments."""
    pinned: bool = False
    """Tensors are in pinned memory, from which a GPU copies while it computes; other copies wait for all its work."""


RECTANGLES = InputForm()
"""Rectangles of samples, padded where they are shorter."""


def prepare(batch: Batch, masked: MaskedBatch, kind: str, form: InputForm, objective: Objective) -> MicroBatch:
    """Return a micro-batch as the model takes it, still on the host, of a batch before and after masking."""
    arrays = model_inputs(batch, masked, kind, form, objective)
    inputs = {name: torch.from_numpy(array) for name, array in arrays.items()}
    counts = torch.tensor([batch.tokens, batch.ids_BS.size], dtype=torch.float64)
    if form.pinned:
        inputs = {name: tensor.pin_memory() for name, tensor in inputs.items()}
        counts = counts.pin_memory()
    return MicroBatch(inputs, counts, masked.expected, len(batch.ids_BS), objective)


def model_inputs(
    batch: Batch, masked: MaskedBatch, kind: str, form: InputForm, objective: Objective
) -> dict[str, np.ndarray]:
    """Return the arguments of `MaskedRowsModel` for a micro-batch; see `prepare`."""
    if form.texts and (kind != "contiguous" or batch.padded or objective.causal):
        return _unpadded(batch, masked, kind, objective)
    arrays: dict[str, Any] = {"ids_BS": masked.ids_BS, "rows_BM": masked.rows_BM, "labels_BM": masked.labels_BM}
    if kind == "packed":
        arrays["segment_ids_BS"] = batch.segment_ids_BS
    elif not objective.causal and (batch.padded or form.one_shape):  # padding is behind all that is predicted
        arrays["lengths_B"] = batch.lengths_B
    if kind == "sentence-pairs":
        arrays["segments_BS"] = np.maximum(batch.segment_ids_BS, 0)
    return arrays | objective.inputs(batch, None)


def _unpadded(batch: Batch, masked: MaskedBatch, kind: str, objective: Objective) -> dict[str, np.ndarray]:
    count, length = batch.ids_BS.shape
    real_BS = np.arange(length) < batch.lengths_B[:, None]
    sample_starts_B = np.concatenate(([0], np.cumsum(batch.lengths_B)[:-1]))
    total = int(batch.lengths_B.sum())
    size = -(-total // FILL) * FILL
    if kind == "packed":  # each text by itself
        text_T = (batch.segment_ids_BS + np.arange(count)[:, None] * length)[real_BS]
        starts = np.concatenate(([0], np.flatnonzero(np.diff(text_T)) + 1))
        borders = 1 << int(len(starts) + 1).bit_length()  # few sizes, so that shapes repeat
    else:
        starts, borders = sample_starts_B, count + 2
    cu_seqlens_K = np.full(borders, size, np.int32)  # what fills up is a last text of its own, the rest are empty
    cu_seqlens_K[: len(starts)] = starts
    cu_seqlens_K[len(starts)] = total
    ids_T = np.full(size, batch.ids_BS[0, 0])
    places_T = np.zeros(size, np.int64)
    ids_T[:total] = masked.ids_BS[real_BS]
    places_T[:total] = np.arange(total) - np.repeat(starts, np.diff(np.append(starts, total)))
    used_BM = masked.labels_BM != IGNORE
    rows_BM = np.where(used_BM, masked.rows_BM + sample_starts_B[:, None], 0)
    arrays = {
        "ids_BS": ids_T[None],
        "rows_BM": rows_BM.reshape(1, -1),
        "labels_BM": masked.labels_BM.reshape(1, -1),
        "position_ids_BS": places_T[None],
        "cu_seqlens_K": cu_seqlens_K,
    }
    if kind == "sentence-pairs":
        segments_T = np.zeros(size, np.int64)
        segments_T[:total] = batch.segment_ids_BS[real_BS]
        arrays["segments_BS"] = segments_T[None]
    return arrays | objective.inputs(batch, sample_starts_B)
