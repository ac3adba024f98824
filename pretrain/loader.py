"""The loader: the n-th global batch of a run, this process's part of it, built ahead in a thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from common.errors import HunminError
from pretrain.masking import VALIDATION_EPOCH, MaskedBatch, MaskTable, mask_batch
from pretrain.order import SampleOrder
from pretrain.samples import Batch, Samples
from pretrain.settings import MaskingSettings, PretrainSettings
from tokenizer.shards import TokenShards


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
        rank: this process.
        world: number of processes.

    Raises:
        HunminError: the corpus has too few tokens for one sample to train on.
    """

    def __init__(self, settings: PretrainSettings, tokens: Path, tokenizer: Path, rank: int, world: int) -> None:
        shards = TokenShards(tokens)
        self.settings, self.rank, self.world = settings, rank, world
        self.table = mask_table(tokenizer, shards.special_ids)
        self.samples = Samples(shards, settings.samples, settings.length, self.table.continues_V)
        if len(self.samples) < 1:
            raise HunminError(
                f"{tokens} holds no tokens", "a run needs at least one sample", "give the corpus stage more text"
            )
        self.order = SampleOrder(len(self.samples), settings.validation_samples, settings.seed)
        self.accumulation = settings.global_batch // (settings.micro_batch * world)

    @property
    def epochs(self) -> float:
        """How often the run sees each training sample."""
        return self.settings.steps * self.settings.global_batch / self.order.size

    def micro_batches(self, step: int) -> list[tuple[Batch, MaskedBatch]]:
        """Return this process's micro-batches of global batch `step`, masked, in order.

        The global batch is cut into accumulation × world micro-batches; process r takes number a·world + r.
        """
        size = self.settings.micro_batch
        out = []
        for a in range(self.accumulation):
            first = step * self.settings.global_batch + (a * self.world + self.rank) * size
            ids, epochs = self.order.train(first, size)
            out.append(self._masked(ids, epochs))
        return out

    def validation(self) -> Iterator[tuple[Batch, MaskedBatch]]:
        """Yield this process's share of the held-out samples in micro-batches, always with the same masks."""
        ids = self.order.validation()[self.rank :: self.world]
        for start in range(0, len(ids), self.settings.micro_batch):
            part = ids[start : start + self.settings.micro_batch]
            yield self._masked(part, np.full(len(part), VALIDATION_EPOCH, np.int64))

    def _masked(self, ids: np.ndarray, epochs: np.ndarray) -> tuple[Batch, MaskedBatch]:
        batch = self.samples.batch(ids)
        masking: MaskingSettings = self.settings.masking
        masked = mask_batch(
            batch.ids_BS, batch.cut_first_B, batch.cut_last_B, ids, epochs, self.table, self.settings.seed,
            masking.rate, masking.mask_share, masking.random_share, masking.whole_word,
        )  # fmt: skip
        return batch, masked

    def ahead(self, first_step: int, depth: int = 4) -> Iterator[list[tuple[Batch, MaskedBatch]]]:
        """Yield `micro_batches` for first_step, first_step + 1 … to the last step, built ahead by a thread.

        The thread holds no state that a restart would need, and ends when the iterator is closed.
        """
        ready: queue.Queue[list[tuple[Batch, MaskedBatch]] | BaseException] = queue.Queue(depth)
        stop = threading.Event()

        def put(item: list[tuple[Batch, MaskedBatch]] | BaseException) -> None:
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
