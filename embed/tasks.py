"""mteb's own task classes over the authors' files, without a network: its metrics, draws and labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mteb
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata

from embed.sets import SCORED, scored_pairs, scored_retrieval, scored_texts

NLI = ("entailment", "neutral", "contradiction")
"""Labels of KLUE-NLI and KorNLI by the hub's number."""


class HunminKlueMrcRetrieval(AbsTaskRetrieval):
    """KLUE-MRC's dev part: its questions that have an answer, its passages. No task of a published benchmark."""

    metadata = TaskMetadata(
        name="HunminKlueMrcRetrieval",
        dataset={"path": "klue/klue", "name": "mrc", "revision": "349481ec73fff722f88e0453ca05c77a447d967c"},
        description="Questions of KLUE-MRC's dev part to all its passages, as Hunmin builds it from the authors' file.",
        reference="https://arxiv.org/abs/2105.09680",
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=["validation"],
        eval_langs=["kor-Hang"],
        main_score="ndcg_at_10",
        date=("2016-01-01", "2020-12-31"),
        domains=["Encyclopaedic", "News", "Written"],
        task_subtypes=["Question answering"],
        license="cc-by-sa-4.0",
        annotations_creators="human-annotated",
        dialect=[],
        sample_creation="found",
        bibtex_citation="",
    )


def local_task(name: str, folders: Sequence[Path | str]) -> Any:
    """Return a task with its data read from folders.

    Args:
        name: one of `embed.settings.SCORED`.
        folders: with the authors' files.

    Raises:
        UserError: they are missing or damaged.
    """
    task: Any = HunminKlueMrcRetrieval() if name == "HunminKlueMrcRetrieval" else mteb.get_task(name, languages=["kor"])
    shape = SCORED[name].shape
    if shape == "retrieval":
        task.dataset = {"default": {
            split: {
                "queries": Dataset.from_list([{"id": key, "text": text} for key, text in one.queries.items()]),
                "corpus": Dataset.from_list(
                    [{"id": key, "title": title, "text": text} for key, (title, text) in one.corpus.items()]
                ),
                "relevant_docs": one.relevant, "top_ranked": None,
            }
            for split, one in scored_retrieval(name, folders).items()
        }}  # fmt: skip
    elif shape == "texts":
        labels = SCORED[name].task.label_names
        features = Features({"title": Value("string"), "label": ClassLabel(names=list(labels))})
        task.dataset = DatasetDict({
            split: Dataset.from_list([{"title": text, "label": labels.index(label)} for text, label in rows], features)
            for split, rows in scored_texts(name, folders).items()
        })  # fmt: skip
    else:
        rows = scored_pairs(name, folders)
        splits = {split: Dataset.from_list([_pair(name, *one) for one in found]) for split, found in rows.items()}
        task.dataset = {"ko": DatasetDict(splits)} if task.metadata.is_multilingual else DatasetDict(splits)
    task.dataset_transform()
    task.data_loaded = True
    return task


def _pair(name: str, first: str, second: str, label: Any) -> dict[str, Any]:
    """Return a row as the hub's copy of a set has it."""
    if name in ("KLUE-NLI", "KorNLI"):
        return {"premise": first, "hypothesis": second, "label": NLI.index(label)}
    if name == "PawsXPairClassification":
        return {"sentence1": first, "sentence2": second, "labels": int(label)}
    more = {"labels": {"label": label}} if name == "KLUE-STS" else {"score": label}
    return {"sentence1": first, "sentence2": second, **more}


def task_texts(name: str, folders: Sequence[Path | str]) -> list[str]:
    """Return all texts of a task, of which character n-grams learn how rare each is."""
    if SCORED[name].shape == "retrieval":
        return [f"{title} {text}".strip() for one in scored_retrieval(name, folders).values()
                for title, text in one.corpus.values()]  # fmt: skip
    if SCORED[name].shape == "texts":
        return [text for rows in scored_texts(name, folders).values() for text, _ in rows]
    return [text for rows in scored_pairs(name, folders).values() for row in rows for text in row[:2]]


def differences(task: Any) -> list[str]:
    """Return how the rows and characters of a task differ from the statistics that mteb ships; [] where they do not, or
    where there are none."""
    shipped, found = task.metadata.descriptive_stats or {}, []
    for split in SCORED[task.metadata.name].splits:
        stats = shipped.get(split, {})
        stats = stats.get("hf_subset_descriptive_stats", {}).get("ko", stats)
        told = {"rows": stats.get("num_samples"), "characters": stats.get("number_of_characters")}
        for what, number in sizes(task, split).items():
            if told[what] not in (None, number):
                found.append(f"{split}: {number:,} {what}, mteb has {told[what]:,}")
    return found


def sizes(task: Any, split: str) -> dict[str, int]:
    """Return rows and characters of a task's split, as mteb counts them."""
    data = task.dataset["ko"] if task.metadata.is_multilingual else task.dataset
    if "default" in data:
        one = data["default"][split]
        documents = [f"{row['title']} {row['text']}".strip() for row in one["corpus"]]
        texts = [*documents, *one["queries"]["text"]]
        return {"rows": len(texts), "characters": sum(map(len, texts))}
    rows = data[split][0] if isinstance(data[split], list) else data[split]
    columns = (
        ["text"] if "text" in (rows if isinstance(rows, dict) else rows.column_names) else ["sentence1", "sentence2"]
    )
    texts = [text for column in columns for text in rows[column]]
    return {"rows": len(texts) // len(columns), "characters": sum(map(len, texts))}
