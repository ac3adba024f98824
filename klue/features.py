"""Examples as numbers: made once a task, kept on disk, shared by all jobs of the task; and their batches.

Shapes: N examples, B examples of a batch, S tokens of the longest example of a batch.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from common.errors import UserError
from common.message import Message
from data.nfc import composed
from klue.model_folder import ModelFacts
from klue.tasks.base import Example, Features, Task
from tokenizer.coverage import check_share, sample, unread_share

_ROWS = pa.large_list(pa.int64())
POOL_BATCHES = 50
"""Batches' worth of examples, drawn at random, within which examples are sorted by length."""
MOST_ROWS = 1024
"""Examples of an evaluation batch at most: some heads need memory for each, however short (TRADE, 45 slots)."""


def load_tokenizer(folder: Path) -> Any:
    """Return the model folder's tokenizer, loaded without a network; it states no longest input.

    Tasks cut by `max_length`, some of them after they have seen the whole text: a warning of its length would be wrong.
    Raises UserError where the files are there but do not load.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False, model_max_length=sys.maxsize
        )
    except Exception as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise UserError(
            f"the tokenizer in {folder} does not load: {reason[0]}", "AutoTokenizer loads it", "export the model again"
        ) from None


def check_reading(task: Task, examples: Sequence[Example], tokenizer: Any, folder: Path) -> None:
    """Refuse a tokenizer that cannot read a sample of the task's texts, and warn of one that reads them badly.
    Raises UserError, see `tokenizer.coverage.check_share`."""
    texts = sample([composed(text) for example in examples for text in example.texts])
    unknown = {tokenizer.unk_token_id} - {None}

    def pieces(words: list[str]) -> Iterator[tuple[Sequence[int], Sequence[tuple[int, int]]]]:
        if tokenizer.is_fast:
            for encoding in tokenizer.backend_tokenizer.encode_batch(words, add_special_tokens=False):
                yield encoding.ids, encoding.offsets
            return
        for word in words:  # it does not say where tokens stand: one that is unknown makes the word so
            ids = tokenizer(word, add_special_tokens=False)["input_ids"]
            yield ids, [(0, len(word))] * len(ids)

    check_share(
        unread_share(pieces, unknown, texts),
        f"the tokenizer in {folder}",
        task.title,
        "pretrain on text with these characters and a lower tokenizer.min_character_count; with tokenizer.base, also "
        "with a tokenizer.vocab_size above the base's",
    )


def make_features(
    task: Task, examples: Sequence[Example], tokenizer: Any, model: ModelFacts, max_length: int
) -> Features:
    """Return a split's features; the task's markers are added to the tokenizer.

    Args:
        max_length: tokens at most, special ones included.

    Raises:
        UserError: the tokenizer gives ids that the model has no embedding for, or lacks a token that the task needs.
    """
    missing = [name for name in ("cls_token", "sep_token", "pad_token") if not getattr(tokenizer, name)]
    if missing:
        raise UserError(
            f"the tokenizer in {model.folder} has no {', '.join(missing)}",
            "inputs stand between special tokens",
            "save the tokenizer of an encoder into the folder",
        )
    if task.offsets and not tokenizer.is_fast:
        raise UserError(
            f"the tokenizer in {model.folder} ({type(tokenizer).__name__}) does not say where its tokens stand",
            f"{task.name} needs offsets, which tokenizers with a tokenizer.json have",
            "save a fast tokenizer into the folder, or leave the task out",
        )
    tokenizer.add_tokens(
        [marker for marker in task.markers if marker not in tokenizer.get_vocab()], special_tokens=True
    )
    markers = tokenizer.convert_tokens_to_ids(list(task.markers))
    columns = task.features(examples, tokenizer, max_length, model.token_types)
    largest = max(token for row in columns["input_ids"] for token in row if token not in markers)
    if largest >= model.vocab_size:
        raise UserError(
            f"the tokenizer gives id {largest}, the model has {model.vocab_size} embeddings",
            "tokenizer and model in a folder belong together",
            f"put the right tokenizer into {model.folder}",
        )
    shared = task.shared(tokenizer)
    if markers:
        shared["embeddings"] = 1 + max(markers)
    owner = np.array(columns.pop("owner", range(len(examples))), np.int64)
    cut = sum(map(bool, columns.pop("cut")))
    if model.token_types:
        columns.setdefault("token_type_ids", [[0] * len(row) for row in columns["input_ids"]])
    made = {name: _column(values) for name, values in columns.items()}
    return Features(list(examples), owner, made, shared, cut)


def cut_note(parts: Mapping[str, Features], max_length: int) -> str:
    """Return a phrase on how many inputs of each split were cut, empty for none: "3 of 35 dev inputs cut …"."""
    counts = [
        Message("{cut} of {all} {split}", cut=part.cut, all=len(part.owner), split=name)
        if name
        else f"{part.cut:,} of {len(part.owner):,}"
        for name, part in parts.items()
        if part.cut
    ]
    return Message("{counts} inputs cut at {length} tokens", counts=counts, length=max_length) if counts else ""


def save_features(splits: dict[str, Features], folder: Path) -> None:
    """Write the features of a task's splits to `folder`/<split>; the folder appears only when it is whole."""
    temporary = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    for name, features in splits.items():
        (temporary / name).mkdir(parents=True)
        columns = {"owner": features.owner, **features.columns}
        rows = {n: pa.array(v, None if isinstance(v, np.ndarray) else _ROWS) for n, v in columns.items()}
        pq.write_table(pa.table(rows), temporary / name / "inputs.parquet")
        with (temporary / name / "examples.json").open("w", encoding="utf-8") as stream:
            json.dump({"examples": [asdict(e) for e in features.examples], "shared": features.shared}, stream)
    temporary.rename(folder)


def load_features(folder: Path, split: str) -> Features:
    """Return one split that `save_features` wrote."""
    table = pq.read_table(folder / split / "inputs.parquet").combine_chunks()
    stored = json.loads((folder / split / "examples.json").read_bytes())
    examples = [Example(**{**fields, "texts": tuple(fields["texts"])}) for fields in stored["examples"]]
    columns = {name: _numpy(table.column(name).chunk(0)) for name in table.column_names}
    owner = columns.pop("owner")
    assert isinstance(owner, np.ndarray)
    return Features(examples, owner, columns, stored["shared"])


def _column(values: list[Any]) -> list[np.ndarray] | np.ndarray:
    if np.ndim(values[0]) == 0:
        return np.array(values)
    return [np.asarray(value, np.int64) for value in values]


def _numpy(column: Any) -> list[np.ndarray] | np.ndarray:
    if not pa.types.is_large_list(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return np.split(column.flatten().to_numpy(zero_copy_only=False), column.offsets.to_numpy()[1:-1])


def train_batches(lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Return one epoch's batches of example indices: every example once, similar lengths together; one may be smaller.

    Examples are shuffled, cut into pools of 50 batches, sorted by length within a pool, cut into batches, and the
    batches shuffled, so that the order of lengths is random.

    Args:
        lengths: tokens of each example, (N,).
        epoch: from 0.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(lengths))
    batches: list[np.ndarray] = []
    pool_size = POOL_BATCHES * batch_size
    for start in range(0, len(order), pool_size):
        pool = order[start : start + pool_size]
        pool = pool[np.argsort(-lengths[pool], kind="stable")]
        batches += [pool[i : i + batch_size] for i in range(0, len(pool), batch_size)]
    return [batches[i] for i in random.permutation(len(batches))]


def evaluation_batches(lengths: np.ndarray, tokens: int) -> list[np.ndarray]:
    """Return batches of example indices, longest first, each as large as its first example allows, at most 1,024.

    Args:
        lengths: tokens of each example, (N,), >= 1.
        tokens: of a batch at most, padding included; an example that has more is a batch by itself.
    """
    order = np.argsort(-lengths, kind="stable")
    batches, at = [], 0
    while at < len(order):
        rows = min(MOST_ROWS, max(1, tokens // int(lengths[order[at]])))
        batches.append(order[at : at + rows])
        at += rows
    return batches


def pad(rows: Sequence[np.ndarray], value: int, multiple: int = 1) -> np.ndarray:
    """Return rows of ids as int64, (B, S), filled up with `value`; S is a `multiple` (8 suits tensor cores)."""
    width = -(-max(len(row) for row in rows) // multiple) * multiple
    ids_BS = np.full((len(rows), width), value, dtype=np.int64)
    for i, row in enumerate(rows):
        ids_BS[i, : len(row)] = row
    return ids_BS


def evaluation_steps(steps: int, per_epoch: int) -> list[int]:
    """Return after which steps (from 1) of an epoch the model is scored: evenly spaced, the last at the epoch's end."""
    return sorted({max(1, round(steps * k / per_epoch)) for k in range(1, per_epoch + 1)})


def learning_rate_share(step: int, total: int, warmup_share: float) -> float:
    """Return the share of the peak rate after `step` of `total` steps: linear rise, then linear fall to 0."""
    warmup = int(total * warmup_share)
    if step < warmup:
        return step / max(1, warmup)
    return max(0.0, (total - step) / max(1, total - warmup))
