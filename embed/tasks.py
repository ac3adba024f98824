"""mteb's own task classes over local files, or by mteb from the hub: its metrics, draws and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mteb
from datasets import ClassLabel, Dataset, DatasetDict
from mteb.abstasks import AbsTaskClassification
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata

from common.errors import UserError
from common.message import Message
from common.settings import load_yaml
from embed.scored import SCORED, Folders, Retrieval, read_scored

TEXTS = {"text", "sentences", "sentence1", "sentence2"}
"""Columns of mteb's tasks that hold texts."""


class HunminKlueMrcRetrieval(AbsTaskRetrieval):
    """KLUE-MRC's dev part: its questions that have an answer, its passages. No task of a published benchmark."""

    metadata = TaskMetadata(**load_yaml(Path(__file__).with_name("tasks.yaml"))["HunminKlueMrcRetrieval"])


def get_task(name: str) -> Any:
    """Return a task of mteb, or ours, without its data."""
    subsets = list(SCORED[name].subsets)
    if name == "HunminKlueMrcRetrieval":
        return HunminKlueMrcRetrieval()
    return mteb.get_task(name, hf_subsets=None if subsets == ["default"] else subsets)


def local_task(name: str, folders: Folders) -> Any:
    """Return a task with its data read from folders; UserError where files are missing or damaged."""
    task, scored = get_task(name), SCORED[name]
    data: dict[str, Any] = {}
    for (subset, split), read in read_scored(name, folders).items():
        rows: Any = _retrieval(read) if isinstance(read, Retrieval) else Dataset.from_list(read)
        if isinstance(task, AbsTaskClassification):
            rows = rows.cast_column(scored.columns[-1], ClassLabel(names=list(scored.labels)))
        data.setdefault(subset, DatasetDict() if scored.columns else {})[split] = rows
    task.dataset = data if task.metadata.is_multilingual or not scored.columns else data["default"]
    task.dataset_transform()
    task.data_loaded = True
    return task


def _retrieval(split: Retrieval) -> dict[str, Any]:
    documents = [{"id": key, "title": title, "text": text} for key, (title, text) in split.corpus.items()]
    queries = [{"id": key, "text": text} for key, text in split.queries.items()]
    return {"queries": Dataset.from_list(queries), "corpus": Dataset.from_list(documents),
            "relevant_docs": split.relevant, "top_ranked": split.ranked}  # fmt: skip


def hub_task(name: str) -> Any:
    """Return a task whose data mteb has loaded from the hub, at its commit; UserError where it cannot."""
    task = get_task(name)
    try:
        task.load_data()
    except Exception as error:  # of many kinds
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{name} cannot be fetched: {reason}", fix=f"put its files in DATA/{name}/") from None
    if isinstance(task, AbsTaskRetrieval):
        task.convert_v1_dataset_format_to_v2(num_proc=None)
    return task


def evaluate(model: Any, task: Any, **options: Any) -> Any:
    """Return mteb's result of a model on a task, without bars."""
    quiet: Any = {"show_progress_bar": False}
    encoding: Any = {"batch_size": 64, **quiet}
    return mteb.evaluate(model, task, encode_kwargs=encoding, co2_tracker=False, **quiet, **options)


def split_texts(task: Any, subset: str, split: str) -> dict[str, list[str]]:
    """Return column → texts of a split; of a retrieval task "corpus", titles before texts, and "queries"."""
    part = task.dataset.get(subset, task.dataset)[split]
    if "corpus" in (part if isinstance(part, dict) else ()):
        documents = [f"{row.get('title') or ''} {row['text']}".strip() for row in part["corpus"]]
        return {"corpus": documents, "queries": list(part["queries"]["text"])}
    rows = part[0] if isinstance(part, list) else part
    names = TEXTS & {*(rows if isinstance(rows, dict) else rows.column_names)}
    return {
        name: [text for cell in rows[name] for text in ([cell] if isinstance(cell, str) else cell)] for name in names
    }


def task_texts(task: Any) -> list[str]:
    """Return a task's texts, documents alone of retrieval, of which character n-grams learn how rare each is."""
    parts = [
        split_texts(task, subset, split)
        for subset in task.hf_subsets
        for split in task.dataset.get(subset, task.dataset)
    ]
    return [text for part in parts for name, texts in part.items() if name != "queries" for text in texts]


def differences(task: Any) -> list[str]:
    """Return how rows and characters of a task differ from the statistics that mteb ships; [] where they do not."""
    differing: list[str] = []
    for split, shipped in (task.metadata.descriptive_stats or {}).items():
        for subset in task.hf_subsets:
            statistics = shipped.get("hf_subset_descriptive_stats", {}).get(subset, shipped)
            texts = split_texts(task, subset, split)
            rows = [len(column) for column in texts.values()]
            characters = statistics.get("number_of_characters") or statistics["text_statistics"]["total_text_length"]
            for what, here, there in (
                (
                    "{where}: {here} rows, mteb has {there}",
                    sum(rows) if "corpus" in texts else rows[0],
                    statistics["num_samples"],
                ),
                (
                    "{where}: {here} characters, mteb has {there}",
                    sum(len(text) for column in texts.values() for text in column),
                    characters,
                ),
            ):
                if here != there:
                    where = split if subset == "default" else f"{subset} {split}"
                    differing.append(Message(what, where=where, here=here, there=there))
    return differing
