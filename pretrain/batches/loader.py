"""The loader: the n-th global batch of a run, this process's part of it, built ahead in a thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from common.errors import HunminError
from pretrain.batches.inputs import RECTANGLES, InputForm, MicroBatch, prepare
from pretrain.batches.masking import VALIDATION_EPOCH, MaskTable
from pretrain.batches.order import SampleOrder
from pretrain.batches.plans import copies, plan_samples, read_by_ordinary_tokens, read_parts
from pretrain.batches.predictions import IGNORE, MaskedBatch
from pretrain.batches.samples import Batch, SampleSet
from pretrain.objectives.objective import Corpus, Objective
from pretrain.objectives.registry import OBJECTIVES
from pretrain.settings import PretrainSettings
from tokenizer.shards import TokenShards

DEPTH = 4
"""Global batches that are built ahead at most."""
__all__ = ["Loader", "mask_table", "plan_samples", "read_vocabulary"]


def read_vocabulary(tokenizer: Path) -> list[str]:
    """Return the entries of a tokenizer folder in the order of their ids (`vocab.txt`, an entry a line)."""
    vocabulary = (tokenizer / "vocab.txt").read_text(encoding="utf-8").split("\n")
    if vocabulary[-1] == "":
        vocabulary.pop()
    return vocabulary


def mask_table(tokenizer: Path, special_ids: dict[str, int]) -> MaskTable:
    """Return the mask table of the vocabulary in a tokenizer folder."""
    vocabulary = read_vocabulary(tokenizer)
    special = np.zeros(len(vocabulary), np.bool_)
    special[list(special_ids.values())] = True
    special |= np.array([entry.startswith("[unused") and entry.endswith("]") for entry in vocabulary], np.bool_)
    continues = np.array([entry.startswith("##") and len(entry) > 2 for entry in vocabulary], np.bool_)
    return MaskTable(continues, special, special_ids["mask"])


class Loader:
    """Batches of a run as a function of the step, by the sample plans in `plans` (see `plan_samples`).

    Args:
        first_sample: position in the data at step 0 of a branch, which continues after its parent's data; negative
            where its batches are larger.

    Raises:
        HunminError: the corpus has too few tokens for one sample to train on, or to predict one of them.
    """

    def __init__(
        self,
        settings: PretrainSettings,
        tokens: Path,
        tokenizer: Path,
        plans: Path,
        rank: int,
        world: int,
        first_sample: int = 0,
        form: InputForm = RECTANGLES,
    ) -> None:
        shards = TokenShards(tokens)
        self.settings = settings
        self.rank = rank
        self.world = world
        self.first_sample = first_sample
        self.form = form
        self.table = mask_table(tokenizer, shards.special_ids)
        self.pairs = settings.packing == "sentence-pairs"
        length = settings.max_seq_len
        continues_V = self.table.continues_V
        parts, held_out = read_parts(settings, shards, plans)
        self.samples = SampleSet(shards, parts, length, continues_V)
        self._held_out = SampleSet(shards, held_out, length, continues_V) if held_out is not None else self.samples
        if len(self.samples) < 1:
            raise HunminError(
                f"{tokens} holds no tokens", "a run needs at least one sample", "give the corpus stage more text"
            )
        # texts that come several times, as those of pairs do in every copy, are held out by document
        by_document = held_out is not None
        self.order = SampleOrder(len(self.samples), 0 if by_document else settings.validation_samples, settings.seed)
        if by_document:
            count = min(settings.validation_samples, len(self._held_out))
            self.validation_ids = np.arange(count) * len(self._held_out) // max(1, count)  # from all shards alike
        else:
            self.validation_ids = self.order.validation()
        corpus = Corpus(
            settings, self.table, self.samples, lambda: read_by_ordinary_tokens(settings, shards, plans, parts)
        )
        self._predict = {name: OBJECTIVES[name].predict(corpus) for name in settings.objectives}

    @property
    def epochs(self) -> float:
        """Epochs over the corpus at the end of the run, those of the runs that it branches from included."""
        seen = (self.first_sample + self.settings.samples_before(self.settings.steps)) / self.order.size
        return seen * copies(self.settings) if self.pairs else seen  # an epoch of the order holds all copies of pairs

    def objective(self, step: int) -> Objective:
        """Return the objective of global batch `step`."""
        return OBJECTIVES[self.settings.objective_at(step)]

    def micro_batches(self, step: int) -> list[MicroBatch]:
        """Return this process's micro-batches of global batch `step`, in order, as the model takes them."""
        objective = self.objective(step)
        return [prepare(*both, self.settings.packing, self.form, objective) for both in self.masked_batches(step)]

    def masked_batches(self, step: int) -> list[tuple[Batch, MaskedBatch]]:
        """Return this process's micro-batches of global batch `step` before and after masking, in order.

        The global batch is cut into accumulation × world micro-batches; process r takes number a·world + r.
        """
        size, begin, end = self.settings.micro_batch, *map(self.settings.samples_before, (step, step + 1))
        predict = self._predict[self.settings.objective_at(step)]
        out = []
        for first in range(begin + self.rank * size, end, self.world * size):
            ids, epochs = self.order.train(self.first_sample + first, size)
            if self.settings.masking.kind == "static":
                epochs = epochs % (1 if self.pairs else self.settings.masking.dupe_factor)
            batch = self.samples.batch(ids)
            out.append((batch, predict(batch, ids, epochs, step)))
        return out

    @property
    def validation_batches(self) -> int:
        """Return the number of micro-batches of held-out samples, the same for every process."""
        most = -(-len(self.validation_ids) // self.world)
        return -(-most // self.settings.micro_batch)

    def validation(self, step: int = 0) -> Iterator[MicroBatch]:
        """Yield this process's share of the held-out samples as the model takes them; see `masked_validation`."""
        objective = self.objective(step)
        for both in self.masked_validation(step):
            yield prepare(*both, self.settings.packing, self.form, objective)

    def masked_validation(self, step: int = 0) -> Iterator[tuple[Batch, MaskedBatch]]:
        """Yield this process's share of the held-out samples, always with the same masks, in `validation_batches`.

        All have the size of a micro-batch, so that no other shape has to be compiled. The last ones are filled up with
        samples that add to no sum: nothing is predicted of them, and `counted_B` is False.
        """
        size = self.settings.micro_batch
        own = self.validation_ids[self.rank :: self.world]
        fill = self.validation_batches * size - len(own)
        ids = np.concatenate([own, np.resize(self.validation_ids, fill)])
        predict = self._predict[self.settings.objective_at(step)]
        epochs = np.full(size, VALIDATION_EPOCH, np.int64)
        for start in range(0, len(ids), size):
            counted_B = np.arange(start, start + size) < len(own)
            some = ids[start : start + size]
            batch = self._held_out.batch(some)
            masked = predict(batch, some, epochs, None)
            labels_BM = np.where(counted_B[:, None], masked.labels_BM, IGNORE)
            expected = masked.expected * counted_B.mean()
            yield replace(batch, counted_B=counted_B), replace(masked, labels_BM=labels_BM, expected=expected)

    def ahead(self, first_step: int) -> Generator[list[MicroBatch]]:
        """Yield `micro_batches` for first_step, first_step + 1 … to the last step, built ahead by a thread.

        The thread holds no state that a restart would need, and ends when the iterator is closed.
        """
        ready: queue.Queue[list[MicroBatch] | BaseException] = queue.Queue(DEPTH)
        stop = threading.Event()

        def put(item: list[MicroBatch] | BaseException) -> None:
            while not stop.is_set():
                try:
                    return ready.put(item, timeout=0.2)
                except queue.Full:
                    continue

        def build() -> None:
            try:
                for step in range(first_step, self.settings.steps):
                    put(self.micro_batches(step))
                    if stop.is_set():
                        return
            except BaseException as error:
                put(error)

        worker = threading.Thread(target=build, daemon=True, name="loader")
        worker.start()
        try:
            for _ in range(first_step, self.settings.steps):
                item = ready.get()
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            stop.set()
            worker.join()
