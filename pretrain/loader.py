"""The loader: the n-th global batch of a run, this process's part of it, built ahead in a thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from common.errors import HunminError
from pretrain.layouts import Layout, contiguous, doc_sentences, full_sentences, packed
from pretrain.masking import VALIDATION_EPOCH, MaskedBatch, MaskTable, mask_batch, rows_for
from pretrain.order import SampleOrder
from pretrain.packing import holds_groups, read_groups, write_groups
from pretrain.pairs import plan_pairs, read_pairs
from pretrain.samples import Batch, Samples
from pretrain.schedule import masking_rate
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


def plan_samples(settings: PretrainSettings, tokens: Path, plans: Path) -> None:
    """Write what is worked out once for a run, its sentence pairs or packed documents; one process does this."""
    if settings.samples == "sentence-pairs":
        plan_pairs(
            TokenShards(tokens), plans, settings.length, _copies(settings), settings.validation_samples, settings.seed
        )
    elif settings.samples == "packed":
        shards = TokenShards(tokens)
        for index in range(len(shards.shards)):
            if not holds_groups(plans, index):
                write_groups(plans, index, packed(shards.documents(index), settings.length))


def _copies(settings: PretrainSettings) -> int:
    """Return how many copies of the corpus have masks of their own; 1 where each epoch draws new ones."""
    return settings.masking.dupe_factor if settings.masking.kind == "static" else 1


def make_layout(kind: str, shards: TokenShards, index: int, length: int) -> Layout:
    """Return the samples of a shard, of a kind that a rule alone gives (all but sentence pairs)."""
    if kind == "contiguous":
        return contiguous(len(shards.tokens(index)), length)
    if kind == "full-sentences":
        return full_sentences(shards.sentences(index), length)
    if kind == "doc-sentences":
        return doc_sentences(shards.sentences(index), shards.documents(index), length)
    return packed(shards.documents(index), length)


class Loader:
    """Batches of a run as a function of the step.

    Args:
        settings: the run.
        tokens: token folder.
        tokenizer: tokenizer folder.
        plans: folder that `plan_samples` has written.
        rank: this process.
        world: number of processes.

    Raises:
        HunminError: the corpus has too few tokens for one sample to train on.
    """

    def __init__(
        self, settings: PretrainSettings, tokens: Path, tokenizer: Path, plans: Path, rank: int, world: int
    ) -> None:
        shards = TokenShards(tokens)
        self.settings, self.rank, self.world = settings, rank, world
        self.table = mask_table(tokenizer, shards.special_ids)
        self.pairs = settings.samples == "sentence-pairs"
        length, continues_V = settings.length, self.table.continues_V
        if self.pairs:
            parts, held_out = read_pairs(shards, plans, _copies(settings))
            self.samples = Samples(shards, parts, length, continues_V)
            self._held_out = Samples(shards, held_out, length, continues_V)
        else:
            every = range(len(shards.shards))
            layouts: list[Layout]
            if settings.samples == "packed":
                layouts = [read_groups(plans, index) for index in every]
            else:
                layouts = [make_layout(settings.samples, shards, index, length) for index in every]
            self.samples = self._held_out = Samples(shards, list(enumerate(layouts)), length, continues_V)
        if len(self.samples) < 1:
            raise HunminError(
                f"{tokens} holds no tokens", "a run needs at least one sample", "give the corpus stage more text"
            )
        # pairs of the same text stand in every copy, so theirs are held out by document
        self.order = SampleOrder(len(self.samples), 0 if self.pairs else settings.validation_samples, settings.seed)
        if self.pairs:
            count = min(settings.validation_samples, len(self._held_out))
            self.validation_ids = np.arange(count) * len(self._held_out) // max(1, count)  # from all shards alike
        else:
            self.validation_ids = self.order.validation()
        special = 3 if self.pairs else 2  # [CLS] and the [SEP]s
        self._text_share = (self.samples.positions / len(self.samples) - special) / (length - 2)
        """Tokens of text in a sample, on average, beside those of a full one."""
        self._rows = rows_for(length, settings.masking.largest_rate)  # shapes stay the same at any rate

    @property
    def epochs(self) -> float:
        """How often the run sees each training sample."""
        return self.settings.samples_before(self.settings.steps) / self.order.size

    def micro_batches(self, step: int) -> list[tuple[Batch, MaskedBatch]]:
        """Return this process's micro-batches of global batch `step`, masked, in order.

        The global batch is cut into accumulation × world micro-batches; process r takes number a·world + r.
        """
        size, begin, end = self.settings.micro_batch, *map(self.settings.samples_before, (step, step + 1))
        rate = masking_rate(step, self.settings.steps, self.settings.masking)
        out = []
        for first in range(begin + self.rank * size, end, self.world * size):
            ids, epochs = self.order.train(first, size)
            if self.settings.masking.kind == "static":
                epochs = epochs % (1 if self.pairs else self.settings.masking.dupe_factor)
            out.append(self._masked(self.samples, ids, epochs, rate))
        return out

    @property
    def validation_batches(self) -> int:
        """Return the number of micro-batches of held-out samples that the process with the most of them has."""
        most = -(-len(self.validation_ids) // self.world)
        return -(-most // self.settings.micro_batch)

    def validation(self) -> Iterator[tuple[Batch, MaskedBatch]]:
        """Yield this process's share of the held-out samples in micro-batches, always with the same masks."""
        ids = self.validation_ids[self.rank :: self.world]
        for start in range(0, len(ids), self.settings.micro_batch):
            part = ids[start : start + self.settings.micro_batch]
            epochs = np.full(len(part), VALIDATION_EPOCH, np.int64)
            yield self._masked(self._held_out, part, epochs, self.settings.masking.last_rate)

    def _masked(self, samples: Samples, ids: np.ndarray, epochs: np.ndarray, rate: float) -> tuple[Batch, MaskedBatch]:
        batch = samples.batch(ids)
        masking: MaskingSettings = self.settings.masking
        masked = mask_batch(
            batch.ids_BS, batch.barred_BS, ids, epochs, self.table, self.settings.seed,
            rate, masking.mask_share, masking.random_share, masking.whole_word, masking.max_word_tokens, self._rows,
        )  # fmt: skip
        return batch, replace(masked, expected=masked.expected * self._text_share)

    def ahead(self, first_step: int, depth: int = 4) -> Generator[list[tuple[Batch, MaskedBatch]]]:
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
