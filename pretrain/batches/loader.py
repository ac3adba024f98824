"""The loader: the n-th global batch of a run, this process's part of it, built ahead in a thread."""

from __future__ import annotations

import queue
import threading
from bisect import bisect_right
from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from common.errors import HunminError
from pretrain.batches.inputs import RECTANGLES, InputForm, MicroBatch, prepare
from pretrain.batches.masking import VALIDATION_EPOCH, MaskTable
from pretrain.batches.order import SampleOrder
from pretrain.batches.plans import copies, plan_samples, read_by_ordinary_tokens, read_parts
from pretrain.batches.predictions import IGNORE, MaskedBatch
from pretrain.batches.samples import Batch, SampleSet
from pretrain.objectives.objective import Corpus, Objective, Predict
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


class Cut:
    """The corpus in samples of one length, and their order."""

    def __init__(self, settings: PretrainSettings, shards: TokenShards, plans: Path, table: MaskTable) -> None:
        parts, held_out = read_parts(settings, shards, plans)
        self.table = table
        self.samples = SampleSet(shards, parts, settings.max_seq_len, table.continues_V)
        self.held_out = self.samples
        if len(self.samples) < 1:
            raise HunminError(
                f"{shards.folder} holds no tokens", "a run needs at least one sample", "give the corpus stage more text"
            )
        # texts that come several times, as those of pairs do in every copy, are held out by document
        count = 0 if held_out is not None else settings.validation_samples
        self.order = SampleOrder(len(self.samples), count, settings.seed)
        self.validation_ids = self.order.validation()
        if held_out is not None:
            self.held_out = SampleSet(shards, held_out, settings.max_seq_len, table.continues_V)
            count = min(settings.validation_samples, len(self.held_out))
            self.validation_ids = np.arange(count) * len(self.held_out) // max(1, count)  # from all shards alike
        self._count = cache(lambda: read_by_ordinary_tokens(settings, shards, plans, parts))

    def predict(self, settings: PretrainSettings) -> Predict:
        """Return the predictions of a phase with such samples."""
        return OBJECTIVES[settings.objective].predict(Corpus(settings, self.table, self.samples, self._count))


class Loader:
    """Batches of a run as a function of the step, by the sample plans in `plans` (see `plan_samples`).

    A phase continues where the one before it stood: with samples of another length, at the same share of an epoch.

    Args:
        first_position: place in the data at step 0 of a branch, in positions of samples; the branch continues after its
            parent's data. It is negative where its batches are larger.

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
        first_position: int = 0,
        form: InputForm = RECTANGLES,
    ) -> None:
        shards = TokenShards(tokens)
        self.settings = settings
        self.rank = rank
        self.world = world
        self.first_position = first_position
        self.form = form
        self.table = mask_table(tokenizer, shards.special_ids)
        self.pairs = settings.packing == "sentence-pairs"
        cuts: dict[int, Cut] = {}
        self._parts = []
        for phase, *_ in settings.every_phase:
            length = phase.max_seq_len
            if length not in cuts:
                cuts[length] = Cut(phase, shards, plans, self.table)
            self._parts.append((phase, cuts[length], cuts[length].predict(phase)))
        self._borders = [phase.first for phase in settings.every_phase[1:]]
        last = self._parts[-1][1]
        self.samples = last.samples
        self.order = last.order
        self.validation_ids = last.validation_ids

    @property
    def epochs(self) -> float:
        """Epochs over the corpus at the end of the run, those of the runs that it branches from included."""
        length = self._parts[-1][0].max_seq_len
        seen = (self.first_position + self.settings.positions_before(self.settings.steps)) / length / self.order.size
        return seen * copies(self.settings) if self.pairs else seen  # an epoch of the order holds all copies of pairs

    def at(self, step: int) -> tuple[PretrainSettings, Cut, Predict]:
        """Return the settings of global batch `step`, the samples it is taken from, and what is predicted of them."""
        return self._parts[bisect_right(self._borders, step)]

    def objective(self, step: int) -> Objective:
        """Return the objective of global batch `step`."""
        return OBJECTIVES[self.at(step)[0].objective]

    def micro_batches(self, step: int) -> list[MicroBatch]:
        """Return this process's micro-batches of global batch `step`, in order, as the model takes them."""
        objective = self.objective(step)
        return [prepare(*both, self.settings.packing, self.form, objective) for both in self.masked_batches(step)]

    def masked_batches(self, step: int) -> list[tuple[Batch, MaskedBatch]]:
        """Return this process's micro-batches of global batch `step` before and after masking, in order.

        The global batch is cut into accumulation × world micro-batches; process r takes number a·world + r.
        """
        phase, cut, predict = self.at(step)
        begin = -(-(self.first_position + self.settings.positions_before(step)) // phase.max_seq_len)
        end = begin + self.settings.samples_before(step + 1) - self.settings.samples_before(step)
        size, out = phase.micro_batch, []
        for first in range(begin + self.rank * size, end, self.world * size):
            ids, epochs = cut.order.train(first, size)
            if phase.masking.kind == "static":
                epochs = epochs % (1 if self.pairs else phase.masking.dupe_factor)
            batch = cut.samples.batch(ids)
            out.append((batch, predict(batch, ids, epochs, step)))
        return out

    def validation_batches(self, step: int = 0) -> int:
        """Return the number of micro-batches of held-out samples at a step, the same for every process."""
        phase, cut, _ = self.at(step)
        return -(-len(cut.validation_ids) // (self.world * phase.micro_batch))

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
        phase, cut, predict = self.at(step)
        size = phase.micro_batch
        own = cut.validation_ids[self.rank :: self.world]
        fill = self.validation_batches(step) * size - len(own)
        ids = np.concatenate([own, np.resize(cut.validation_ids, fill)])
        epochs = np.full(size, VALIDATION_EPOCH, np.int64)
        for start in range(0, len(ids), size):
            counted_B = np.arange(start, start + size) < len(own)
            some = ids[start : start + size]
            batch = cut.held_out.batch(some)
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
