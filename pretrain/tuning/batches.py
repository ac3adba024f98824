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

IGNORED = -100
"""Label of what is not learned."""


def draw_micro_batches(lengths_N: np.ndarray, micro_batch: int, per_step: int, seed: int) -> list[np.ndarray]:
    """Return the examples of each micro-batch: as many micro-batches as fill whole steps, each example in one.

    Sizes differ by one at most, so an epoch has no short last step and any number of processes shares it evenly. Where
    there are fewer examples than micro-batches, some are empty, but never all of a step.

    Args:
        lengths_N: ids of each example.
        micro_batch: most examples of one.
        per_step: micro-batches of a step over all processes.
        seed: decides among examples of equal length.
    """
    order_N = np.random.default_rng(seed).permutation(len(lengths_N))
    order_N = order_N[np.argsort(lengths_N[order_N], kind="stable")]
    steps = -(-len(order_N) // (micro_batch * per_step))
    return np.array_split(order_N, steps * per_step)


class MicroBatches(Dataset[dict[str, Tensor]]):
    """Micro-batches as a model's arguments, each one item.

    Args:
        examples: all of them.
        drawn: indices of each micro-batch's examples.
    """

    def __init__(self, examples: Sequence[Example], drawn: Sequence[np.ndarray]) -> None:
        self.examples, self.drawn = examples, drawn

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.drawn)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        """Return ids, attention mask and labels; an empty one is an example of which nothing is learned."""
        own = [self.examples[i] for i in self.drawn[index]]
        return collate(own or [min(self.examples, key=lambda e: len(e.ids))], learned=bool(own))


def collate(examples: Sequence[Example], learned: bool = True) -> dict[str, Tensor]:
    """Return a model's arguments, padded on the right; padding is told by position, as its id may be the end mark's.

    Args:
        examples: at least one.
        learned: whether answers have labels.
    """
    shape = len(examples), max(len(example.ids) for example in examples)
    ids_BL, mask_BL = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)
    labels_BL = torch.full(shape, IGNORED)
    for row, example in enumerate(examples):
        end = len(example.ids)
        ids_BL[row, :end] = torch.from_numpy(example.ids)
        mask_BL[row, :end] = 1
        if learned:
            labels_BL[row, example.prompt : end] = ids_BL[row, example.prompt : end]
    return {"input_ids": ids_BL, "attention_mask": mask_BL, "labels": labels_BL}
