"""Batches of training: rows of one set each, in which nothing is a negative that is known not to be one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, count, islice

import numpy as np
from torch.utils.data import BatchSampler

from common.errors import UserError
from data.decontaminate.normalise import text_key
from embed.data import TrainingSet, positives_of
from embed.settings import EmbedSettings


def _batches(dataset: TrainingSet, size: int, seed: Sequence[int], known: dict[str, set[str]]) -> Iterator[list[int]]:
    """Yield the rows of a set as batches; rows that do not go into one wait for the next.

    A batch of ranked rows holds no text twice, and no other row's positive of a query, by `text_key`.
    """
    passes = (np.random.default_rng([*seed, number]).permutation(len(dataset.texts)).tolist() for number in count())
    order, waiting = chain.from_iterable(passes), deque[int]()
    while dataset.shape != "ranking":
        yield list(islice(order, size))
    keys = [tuple(map(text_key, row)) for row in dataset.texts]
    while True:
        taken: list[int] = []
        texts: set[str] = set()
        positives: set[str] = set()  # of the batch's queries
        left, looked = deque[int](), 0
        while len(taken) < size:
            row = waiting.popleft() if waiting else next(order)
            looked += 1
            query, *candidates = keys[row]
            own = known[query]
            if texts.isdisjoint((query, *candidates)) and positives.isdisjoint(candidates) and own.isdisjoint(texts):
                taken.append(row)
                texts.update((query, *candidates))
                positives |= own
                continue
            left.append(row)
            if looked > 2 * len(dataset.texts) + size:
                raise UserError(
                    f"{dataset.name}: {len(taken)} rows go into a batch, embed.batch is {size}",
                    "a batch holds no text twice, and no second positive of a query",
                    "lower embed.batch",
                )
        waiting = left + waiting
        yield taken


def epoch_batches(dataset: TrainingSet, size: int) -> int:
    """Return the batches of a set in an epoch: its rows × weight, in whole batches."""
    return max(1, round(len(dataset.texts) * dataset.settings.weight / size))


def draw_batches(sets: Sequence[TrainingSet], size: int, steps: int, seed: int) -> Iterator[tuple[int, list[int]]]:
    """Yield a set's number and rows for each step; an epoch mixes all sets. UserError where a set fills no batch."""
    known = positives_of(sets)
    streams = [_batches(dataset, size, (seed, 0, number), known) for number, dataset in enumerate(sets)]
    turns = np.repeat(np.arange(len(sets)), [epoch_batches(dataset, size) for dataset in sets])
    epochs = (np.random.default_rng([seed, 1, epoch]).permutation(turns).tolist() for epoch in count())
    for number in islice((number for epoch in epochs for number in epoch), steps):
        yield number, next(streams[number])


class Drawn(BatchSampler):
    """The batches of a run, as rows of all sets joined, each in `world` parts, of which a process takes its own."""

    def __init__(self, sets: Sequence[TrainingSet], s: EmbedSettings, steps: int, world: int) -> None:
        super().__init__(range(sum(len(dataset.texts) for dataset in sets)), s.batch // world, drop_last=True)
        self.starts = [0, *accumulate(len(dataset.texts) for dataset in sets)]
        self.draw = (sets, s.batch, steps, s.seed)
        self.parts = steps * world

    def __iter__(self) -> Iterator[list[int]]:
        for number, rows in draw_batches(*self.draw):
            for begin in range(0, len(rows), self.batch_size):
                yield [self.starts[number] + row for row in rows[begin : begin + self.batch_size]]

    def __len__(self) -> int:
        return self.parts
