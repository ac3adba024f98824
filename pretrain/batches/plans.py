"""Sample plans: which samples a run has, computed once and kept on disk, as packing takes too long for every start.

They are not the plan of a run's cost (`pretrain.cost`, `hunmin plan`).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from common.arrays import map_array, save_array
from common.errors import UserError
from common.files import atomic_write
from pretrain.batches.budgets import count_by_ordinary_tokens
from pretrain.batches.layouts import Groups, Layout, Parts, contiguous, doc_sentences, full_sentences
from pretrain.batches.packing import packed
from pretrain.batches.pairs import plan_pairs, read_pairs
from pretrain.phase import refuse_held_out
from pretrain.settings import PretrainSettings
from tokenizer.shards import TokenShards


def write_groups(folder: Path, shard: int, layout: Groups) -> None:
    """Write the samples of a shard into `folder`; the file by which `holds_groups` knows it comes last."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in (("pieces", layout.pieces_P2), ("first", layout.first)):
        save_array(folder / _name(shard, name), array)
    with atomic_write(folder / _name(shard, "sums")) as text:
        json.dump(layout.sums, text)


def holds_groups(folder: Path, shard: int) -> bool:
    """Return whether `write_groups` has finished a shard in `folder`."""
    return (folder / _name(shard, "sums")).exists()


def read_groups(folder: Path, shard: int) -> Groups:
    """Return the samples that `write_groups` wrote, mapped into memory."""
    pieces, first = (map_array(folder / _name(shard, name)) for name in ("pieces", "first"))
    positions, squares = json.loads((folder / _name(shard, "sums")).read_bytes())
    return Groups(pieces, first, (positions, squares))


def _name(shard: int, part: str) -> str:
    return f"packed-{shard:05d}-{part}.{'json' if part == 'sums' else 'npy'}"


BY_ORDINARY = "by-ordinary-tokens.json"


def plan_samples(settings: PretrainSettings, tokens: Path, plans: Path) -> None:
    """Write the sample plans of a run: its sentence pairs or packed documents, and its samples by ordinary tokens.

    One process does this; files that are there already stay.
    """
    shards = TokenShards(tokens)
    held_out = settings.packing == "sentence-pairs" or not all(map(shards.copies, range(len(shards.shards))))
    refuse_held_out(settings, by_document=held_out)
    for phase, *_ in settings.every_phase:
        length, folder = phase.max_seq_len, plans / f"{phase.max_seq_len}"
        folder.mkdir(parents=True, exist_ok=True)
        if settings.packing == "sentence-pairs":
            samples = settings.validation_samples * settings.longest / length  # the same documents at all lengths
            plan_pairs(shards, folder, length, copies(settings), samples, settings.seed)
        elif settings.packing == "packed":
            for index in range(len(shards.shards)):
                if not holds_groups(folder, index):
                    write_groups(folder, index, packed(shards.documents(index), length))
        if not (folder / BY_ORDINARY).exists():
            shards.check_ids()
            training, _ = read_parts(phase, shards, plans)
            with atomic_write(folder / BY_ORDINARY) as stream:
                json.dump(count_by_ordinary_tokens(shards, training, length).tolist(), stream)


def read_parts(settings: PretrainSettings, shards: TokenShards, plans: Path) -> tuple[Parts, Parts | None]:
    """Return a run's samples, and those held out by document: of shards that the corpus holds out, or sentence pairs.

    A shard with several copies comes so many times, with other places in the order and other masks, once each an epoch.

    Raises:
        UserError: samples are to be held out of a corpus in which they may come again, and it holds out none itself.
    """
    plans = plans / f"{settings.max_seq_len}"
    if settings.packing == "sentence-pairs":
        training, held_out = read_pairs(shards, plans, copies(settings))
    else:
        every = [(index, _layout(settings, shards, index, plans)) for index in range(len(shards.shards))]
        training = [part for part in every if shards.copies(part[0])]
        held_out = [part for part in every if not shards.copies(part[0])]
    repeated = [part for part in training for _ in range(shards.copies(part[0]))]
    by_document = settings.packing == "sentence-pairs" or len(held_out) > 0
    if settings.validation_samples and len(repeated) > len(training) and not by_document:
        raise UserError(
            f"pretrain.validation_samples={settings.validation_samples} of a corpus in which documents come several "
            "times and none is held out",
            "a sample that is held out must not come again in training",
            "set corpus.mixture.held_out (0.005, say), or pretrain.validation_samples=0",
        )
    return repeated, held_out if by_document else None


def _layout(settings: PretrainSettings, shards: TokenShards, index: int, plans: Path) -> Layout:
    if settings.packing == "packed":
        return read_groups(plans, index)
    return make_layout(settings.packing, shards, index, settings.max_seq_len)


def read_by_ordinary_tokens(settings: PretrainSettings, shards: TokenShards, plans: Path, parts: Parts) -> np.ndarray:
    """Return `count_by_ordinary_tokens` of a run's samples, counted anew where no plan holds it."""
    path = plans / f"{settings.max_seq_len}" / BY_ORDINARY
    if path.exists():
        return np.array(json.loads(path.read_bytes()), np.int64)
    return count_by_ordinary_tokens(shards, parts, settings.max_seq_len)


def copies(settings: PretrainSettings) -> int:
    """Return how many copies of the corpus have masks of their own; 1 where each epoch draws new ones."""
    return settings.masking.dupe_factor if settings.masking.kind == "static" else 1


def make_layout(kind: str, shards: TokenShards, index: int, length: int) -> Layout:
    """Return the samples of a shard for any kind of packing but sentence pairs, which are drawn."""
    if kind == "contiguous":
        return contiguous(len(shards.tokens(index)), length)
    if kind == "full-sentences":
        return full_sentences(shards.sentences(index), length)
    if kind == "doc-sentences":
        return doc_sentences(shards.sentences(index), shards.documents(index), length)
    return packed(shards.documents(index), length)
