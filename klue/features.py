"""Examples as token ids: made once a task, kept on disk as Arrow files, shared by all jobs of the task."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import UserError
from klue.model_folder import ModelFacts
from klue.tasks.base import Example, Task


@dataclass(frozen=True)
class Features:
    """One split's features; N examples, each with its own number of tokens."""

    guids: list[str]
    labels: list[Any]
    """Gold labels as the task's metrics take them."""
    targets: np.ndarray
    """What the loss is taken against, shape (N,): int64 label indices or float64 numbers."""
    ids: list[np.ndarray]
    token_types: list[np.ndarray] | None
    """None for models without token types."""

    @property
    def lengths(self) -> np.ndarray:
        """Return tokens per example, shape (N,)."""
        return np.array([len(row) for row in self.ids], dtype=np.int64)


def load_tokenizer(folder: Path) -> Any:
    """Return the model folder's tokenizer, as transformers loads it without a network.

    Raises:
        UserError: the files are there but do not load.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    except Exception as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise UserError(
            f"the tokenizer in {folder} does not load: {reason[0]}", "AutoTokenizer loads it", "export the model again"
        ) from None


def tokenize(task: Task, examples: Sequence[Example], tokenizer: Any, model: ModelFacts, max_length: int) -> Any:
    """Return a `datasets.Dataset` with guid, label, target, input_ids and, for models that have them, token_type_ids.

    A pair is cut from its longer text until it fits.

    Args:
        task: the task.
        examples: one or more examples.
        tokenizer: the model's tokenizer.
        model: facts about the model.
        max_length: tokens at most, special ones included.

    Raises:
        UserError: the tokenizer gives ids that the model has no embedding for.
    """
    import datasets

    texts = [list(column) for column in zip(*(example.texts for example in examples), strict=True)]
    encoded = tokenizer(
        *texts,
        truncation=True,
        max_length=max_length,
        padding=False,
        return_attention_mask=False,
        return_token_type_ids=model.token_types,
    )
    largest = max(max(row) for row in encoded["input_ids"])
    if largest >= model.vocab_size:
        raise UserError(
            f"the tokenizer gives id {largest}, the model has {model.vocab_size} embeddings",
            "tokenizer and model in a folder belong together",
            f"put the right tokenizer into {model.folder}",
        )
    columns = {
        "guid": [example.guid for example in examples],
        "label": [example.label for example in examples],
        "target": [task.target(example) for example in examples],
        **{name: encoded[name] for name in ("input_ids", "token_type_ids") if name in encoded},
    }
    return datasets.Dataset.from_dict(columns)


def save_features(splits: dict[str, Any], folder: Path) -> None:
    """Write the datasets of a task's splits to `folder`/<split>; the folder appears only when it is whole."""
    import datasets

    temporary = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    datasets.disable_progress_bars()
    for name, dataset in splits.items():
        dataset.save_to_disk(str(temporary / name))
    temporary.rename(folder)


def load_features(folder: Path, split: str) -> Features:
    """Return one split that `save_features` wrote."""
    import datasets

    table = datasets.load_from_disk(str(folder / split)).data.table.combine_chunks()
    return Features(
        guids=table.column("guid").to_pylist(),
        labels=table.column("label").to_pylist(),
        targets=table.column("target").to_numpy(),
        ids=_rows(table.column("input_ids")),
        token_types=_rows(table.column("token_type_ids")) if "token_type_ids" in table.column_names else None,
    )


def _rows(column: Any) -> list[np.ndarray]:
    lists = column.combine_chunks()
    lists = lists.chunk(0) if hasattr(lists, "num_chunks") else lists
    return np.split(lists.flatten().to_numpy(zero_copy_only=False), lists.offsets.to_numpy()[1:-1])
