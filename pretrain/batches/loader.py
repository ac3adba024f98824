"""The loader: the n-th global batch of a run, this process's part of it, built ahead in a thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from common.errors import HunminError
from pretrain.batches.budgets import mean_budget
from pretrain.batches.inputs import RECTANGLES, InputForm, MicroBatch, prepare
from pretrain.batches.masking import IGNORE, VALIDATION_EPOCH, MaskedBatch, MaskTable, mask_batch, rows_for
from pretrain.batches.order import SampleOrder
from pretrain.batches.plans import plan_samples, read_by_ordinary_tokens, read_parts
from pretrain.batches.samples import Batch, SampleSet
from pretrain.optim.schedules import masking_rate
from pretrain.settings import MaskingSettings, PretrainSettings
from tokenizer.shards import TokenShards

__all__ = ["Loader", "mask_table", "plan_samples", "read_vocabulary"]


def read_vocabulary(tokenizer: Path) -> list[str]:
    """Return the entries of a tokenizer folder in the order of their ids (`vocab.txt`, an entry a line)."""
    vocabulary = (tokenizer / "vocab.txt").read_text(encoding="utf-8").split("\n")
    if vocabulary[-1] == "":
        vocabulary.pop()
    return vocabulary


def mask_table(tokenizer: Path, special_ids: dict[str, int]) -> MaskTable:
    """Return what masking must know of the vocabulary in a tokenizer folder."""
    vocabulary = read_vocabulary(tokenizer)
    special = np.zeros(len(vocabulary), np.bool_)
    special[list(special_ids.values())] = True
    special |= np.array([entry.startswith("[unused") and entry.endswith("]") for entry in vocabulary], np.bool_)
    continues = np.array([entry.startswith("##") and len(entry) > 2 for entry in vocabulary], np.bool_)
    return MaskTable(continues, special, special_ids["mask"])


class Loader:
    """Batches of a run as a function of the step.

    Args:
        settings: the run.
        tokens: token folder.
        tokenizer: tokenizer folder.
        plans: folder that `plan_samples` has written.
        rank: this process.
        world: number of processes.
        first_sample: place in the data at step 0, for a run that branches from another: there it goes on, at its own
            step and with its own batches, behind what that one has seen. Negative when its batches are larger.
        form: in which the model takes its batches.

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
        self.settings, self.rank, self.world, self.first_sample = settings, rank, world, first_sample
        self.form = form
        self.table = mask_table(tokenizer, shards.special_ids)
        self.pairs = settings.packing == "sentence-pairs"
        length, continues_V = settings.max_seq_len, self.table.continues_V
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
        self._by_ordinary = read_by_ordinary_tokens(settings, shards, plans, parts)
        if not min(
            mean_budget(self._by_ordinary, rate) for rate in (settings.masking.rate, settings.masking.last_rate)
        ):
            raise HunminError(
                f"at pretrain.masking.rate={settings.masking.rate} no sample of {tokens} is long enough to predict a "
                "token of",
                "the share of a sample's tokens, rounded, is at least 1 in some of them",
                "raise pretrain.masking.rate or pretrain.max_seq_len, or give the corpus stage longer texts",
            )
        self._rows = rows_for(length, settings.masking.largest_rate)  # shapes stay the same at any rate

    @property
    def epochs(self) -> float:
        """How often each training sample has been seen when the run ends, by those it branches from too."""
        return (self.first_sample + self.settings.samples_before(self.settings.steps)) / self.order.size

    def micro_batches(self, step: int) -> list[MicroBatch]:
        """Return this process's micro-batches of global batch `step`, in order, as the model takes them."""
        return [prepare(*both, self.settings.packing, self.form) for both in self.masked_batches(step)]

    def masked_batches(self, step: int) -> list[tuple[Batch, MaskedBatch]]:
        """Return this process's micro-batches of global batch `step` before and after masking, in order.

        The global batch is cut into accumulation × world micro-batches; process r takes number a·world + r.
        """
        size, begin, end = self.settings.micro_batch, *map(self.settings.samples_before, (step, step + 1))
        rate = masking_rate(step, self.settings.steps, self.settings.masking)
        out = []
        for first in range(begin + self.rank * size, end, self.world * size):
            ids, epochs = self.order.train(self.first_sample + first, size)
            if self.settings.masking.kind == "static":
                epochs = epochs % (1 if self.pairs else self.settings.masking.dupe_factor)
            out.append(self._masked(self.samples, ids, epochs, rate))
        return out

    @property
    def validation_batches(self) -> int:
        """Return the number of micro-batches of held-out samples, the same for every process."""
        most = -(-len(self.validation_ids) // self.world)
        return -(-most // self.settings.micro_batch)

    def validation(self) -> Iterator[MicroBatch]:
        """Yield this process's share of the held-out samples as the model takes them; see `masked_validation`."""
        for both in self.masked_validation():
            yield prepare(*both, self.settings.packing, self.form)

    def masked_validation(self) -> Iterator[tuple[Batch, MaskedBatch]]:
        """Yield this process's share of the held-out samples, always with the same masks, in `validation_batches`.

        All have the size of a micro-batch, so that no other shape has to be compiled. The last ones are filled up with
        samples that add to no sum: nothing is predicted of them, and `counted_B` is False.
        """
        size, own = self.settings.micro_batch, self.validation_ids[self.rank :: self.world]
        fill = self.validation_batches * size - len(own)
        ids = np.concatenate([own, np.resize(self.validation_ids, fill)])
        for start in range(0, len(ids), size):
            counted_B = np.arange(start, start + size) < len(own)
            epochs = np.full(size, VALIDATION_EPOCH, np.int64)
            rate = self.settings.masking.last_rate
            batch, masked = self._masked(self._held_out, ids[start : start + size], epochs, rate)
            labels_BM = np.where(counted_B[:, None], masked.labels_BM, IGNORE)
            expected = masked.expected * counted_B.mean()
            yield replace(batch, counted_B=counted_B), replace(masked, labels_BM=labels_BM, expected=expected)

    def _masked(
        self, samples: SampleSet, ids: np.ndarray, epochs: np.ndarray, rate: float
    ) -> tuple[Batch, MaskedBatch]:
        batch = samples.batch(ids)
        masking: MaskingSettings = self.settings.masking
        masked = mask_batch(
            batch.ids_BS, batch.barred_BS, ids, epochs, self.table, self.settings.seed,
            rate, masking.mask_share, masking.random_share, masking.whole_word, masking.max_word_tokens, self._rows,
        )  # fmt: skip
        return batch, replace(masked, expected=len(ids) * mean_budget(self._by_ordinary, rate))

    def ahead(self, first_step: int, depth: int = 4) -> Generator[list[MicroBatch]]:
        """Yield `micro_batches` for first_step, first_step + 1 … to the last step, built ahead by a thread.

        The thread holds no state that a restart would need, and ends when the iterator is closed.

        Args:
            first_step: the next step of the run.
            depth: global batches that wait at most.
        """
        ready: queue.Queue[list[MicroBatch] | BaseException] = queue.Queue(depth)
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
