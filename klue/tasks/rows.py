"""Tasks that are rows of YAML: texts, labels and metrics by name; no code of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from common.settings import Settings, load_yaml
from klue.tasks.base import AuthorsValues, Sizes, Task
from klue.tasks.sentences import Choice, Classification, Regression, Sentences

Kind = Literal["classification", "regression", "choice"]
METRICS = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "pearsonr": "Pearson r",
    "spearmanr": "Spearman",
    "f1": "F1",
}
"""Metrics that a row may name → their names in tables."""


class BenchmarkRow(Settings):
    """A benchmark's task: where its files lie, which fields are read, how it is scored."""

    kind: Kind
    title: str
    """Name in tables."""
    folder: str
    """Folder in the suite's layout."""
    files: tuple[str, ...] = ()
    """Names of the files of train, dev and test, "" where there is none; (): <folder>_<split>.json, as KLUE's are."""
    sizes: Sizes
    text: tuple[str, ...] = Field(min_length=1)
    """Fields with the texts: one or two; with choices, those before them, which are read as one text."""
    label: str = "label"
    """Field with the label, or the way to it: labels.real-label."""
    hub_label: str = ""
    """Its name in the hub's copy, where that is another."""
    labels: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    """Fields with the texts to choose from, in the order of `labels`."""
    metrics: tuple[str, ...] = Field(min_length=1)
    """The paper's, the first of which chooses the evaluation."""
    extra_metrics: tuple[str, ...] = ()
    authors: AuthorsValues
    document: str = ""
    """Field that neighbouring examples share; "": the first text."""
    allowed: dict[str, tuple[str, ...]] = Field({})
    """Field → the texts that may stand there."""
    unlabelled_fields: str = ""
    """What a record without a label has, for people, where it is more than the texts."""
    hub_config: str = ""
    partial_files: dict[str, tuple[str, ...]] = Field({})
    dev_share: float = 0.0
    transfer: str = ""

    @model_validator(mode="after")
    def _fits(self) -> BenchmarkRow:
        if (self.kind == "regression") == bool(self.labels):
            raise ValueError("a classification or a choice has labels, a regression has none")
        if (self.kind == "choice") != bool(self.choices) or (self.choices and len(self.choices) != len(self.labels)):
            raise ValueError("a choice has as many choices as labels, and nothing else has choices")
        if unknown := [name for name in (*self.metrics, *self.extra_metrics) if name not in METRICS]:
            raise ValueError(f"metric {unknown[0]} is none of {', '.join(METRICS)}")
        if strange := {*self.allowed, *filter(None, [self.document])} - {*self.text, *self.choices}:
            raise ValueError(f"{min(strange)} is no field of text or choices")
        return self


KINDS: dict[str, type[Sentences]] = {"classification": Classification, "regression": Regression, "choice": Choice}


def build_task(name: str, row: BenchmarkRow, mixin: type[Task] | None = None) -> Task:
    """Return the task of a row; `mixin` is what of it is code."""
    suffix = next((Path(file).suffix[1:] for file in row.files if file), "json")
    attributes = {
        "name": name, "title": row.title, "folder": row.folder, "files": row.files, "suffix": suffix,
        "sizes": row.sizes, "text_columns": (*row.text, *row.choices), "label_column": row.label,
        "choices": len(row.choices) or 1, "document_column": row.document, "hub_label": row.hub_label,
        "allowed": row.allowed, "hub_config": row.hub_config, "partial_files": row.partial_files,
        "dev_share": row.dev_share,
        "transfer": row.transfer, "authors": row.authors,
        "metrics": {key: METRICS[key] for key in row.metrics},
        "extra_metrics": {key: METRICS[key] for key in row.extra_metrics},
    }  # fmt: skip
    if row.labels:
        attributes["labels"] = row.labels
    if row.unlabelled_fields:
        attributes["unlabelled_fields"] = row.unlabelled_fields
    bases = (mixin, KINDS[row.kind]) if mixin else (KINDS[row.kind],)
    return type(row.title, bases, attributes)()  # type: ignore[no-any-return]


def load_rows(path: Path) -> dict[str, BenchmarkRow]:
    """Return the rows of a suite's file, by task name, in its order. Raises ValueError for one that is no row."""
    return {name: BenchmarkRow.model_validate(row) for name, row in load_yaml(path).items()}
