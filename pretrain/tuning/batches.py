"""Micro-batches of examples of like length, drawn once; their order is the Trainer's, anew each epoch.

N examples, B of a micro-batch, L ids of the longest of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from pretrain.tuning.encode import Example


class MicroBatches(Dataset[dict[str, Tensor]]):
    """Micro-batches as a model's arguments, each one item; as many as fill whole steps, with each example in one.

    Sizes differ by one at most, so an epoch has no short last step and any number of processes shares it evenly. Where
    there are fewer examples than micro-batches some are empty, but never all of a step.

    Args:
        examples: all of them.
        size: most examples of a micro-batch.
        per_step: micro-batches of a step over all processes.
        seed: decides among examples of equal length.
    """

    def __init__(self, examples: Sequence[Example], size: int, per_step: int, seed: int) -> None:
        self.examples = examples
        lengths_N = np.array([len(example.ids) for example in examples])
        order_N = np.random.default_rng(seed).permutation(len(examples))
        order_N = order_N[np.argsort(lengths_N[order_N], kind="stable")]
        self.steps = -(-len(examples) // (size * per_step))
        self.drawn = np.array_split(order_N, self.steps * per_step) if self.steps else []

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.drawn)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        """Return ids, attention mask and labels; an empty one is an example of which nothing is learned.

        Padding is told by position: its id may be the end mark's.
        """
        rows = [self.examples[i] for i in self.drawn[index]] or [min(self.examples, key=lambda one: len(one.ids))]
        shape = len(rows), max(len(row.ids) for row in rows)
        ids_BL, mask_BL, labels_BL = (torch.full(shape, value) for value in (0, 0, -100))
        for row, example in enumerate(rows):
            end = len(example.ids)
            ids_BL[row, :end] = torch.from_numpy(example.ids)
            mask_BL[row, :end] = 1
            if len(self.drawn[index]):
                labels_BL[row, example.prompt : end] = ids_BL[row, example.prompt : end]
        return {"input_ids": ids_BL, "attention_mask": mask_BL, "labels": labels_BL}
