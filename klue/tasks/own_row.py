"""The row of a user's own task: its files, its fields, its kind, how it is scored."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from common.files import HUB
from common.names import pinned_name
from common.settings import Settings, place
from klue.tasks.base import SPLITS
from klue.tasks.own_files import COLUMNS, TABLES, TREES, form_of
from klue.tasks.rows import METRICS

METRICS_OF = {
    "classification": ("macro_f1", "accuracy"),
    "regression": ("spearmanr", "pearsonr"),
    "multi-label": ("micro_f1", "macro_f1", "exact_match"),
    "tagging": ("entity_micro_f1", "entity_macro_f1"),
    "choice": ("accuracy", "macro_f1"),
    "reading": ("f1", "exact_match"),
}
"""Kind → its metrics, the first of which is the default."""
NAMES = {
    **METRICS,
    "micro_f1": "micro F1",
    "exact_match": "exact match",
    "entity_micro_f1": "entity F1",
    "entity_macro_f1": "entity macro F1",
}
FORMS_OF = {"tagging": (*COLUMNS, *TREES), "reading": TREES}
"""Kind → endings of its files, where they are not those of records."""
RECORDS = (*TABLES, *TREES)


class OwnTask(Settings):
    """A task of your own: labelled examples in a file."""

    name: str
    """Name on the command line, in tables and folders: small letters, digits, Hangul, - and _."""
    kind: Literal["classification", "regression", "pairs", "multi-label", "tagging", "choice", "reading"] = (
        "classification"
    )
    """classification: one label of several for a text or a pair. pairs: the same, of two texts. regression: a number.
    multi-label: any number of labels. tagging: entities, as BIO labels of tokens or as start, end and label in a text.
    choice: which of several texts. reading: the answer in a passage, in SQuAD's form."""
    train: str = place()
    """File with train examples: CSV, TSV, JSON Lines, JSON, Parquet; of tagging also CoNLL. Plain or compressed. A file
    of a data set on the hub is hf:OWNER/NAME/FILE[@REVISION]."""
    dev: float | str = place(0.1)
    """File with dev examples, or the share of the train examples that is taken for it. It is drawn by a hash of the
    text, so equal texts stay together. The best evaluation is chosen on dev."""
    test: str | None = place(None)
    """File with test examples, which are scored once. None: dev is all that is scored."""
    text: list[str] = Field(["text"], min_length=1, max_length=2)
    """Fields with the text, or with the two of a pair. Tagging: the field with the text or its tokens. Choice: what
    comes before the choices. Reading has SQuAD's names."""
    label: list[str] = Field(["label"], min_length=1)
    """Field with the label. Multi-label: the field that lists them, or a field of 0 and 1 for each label. Tagging: the
    tokens' labels, or a list of objects with start, end and label."""
    labels: list[str] = Field([])
    """Labels in the order of the model's outputs; []: those of the files, sorted. Choice: the values that stand for the
    choices, in their order."""
    choices: list[str] = Field([])
    """Fields with the texts of a choice."""
    unanswerable: bool = False
    """Reading: there are questions without an answer, marked is_impossible."""
    metric: str | None = None
    """Metric that is shown first and chosen by. classification, pairs: macro_f1, accuracy. regression: spearmanr,
    pearsonr. multi-label: micro_f1, macro_f1, exact_match. tagging: entity_micro_f1, entity_macro_f1. choice: accuracy,
    macro_f1. reading: f1, exact_match. None is the first of these."""

    @field_validator("text", "label", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("name")
    @classmethod
    def _is_name(cls, name: str) -> str:
        if not re.fullmatch("[a-z0-9가-힣][a-z0-9가-힣_-]{0,39}", name):
            raise ValueError("up to 40 small letters, digits, Hangul, - and _")
        return name

    @field_validator("labels", mode="before")
    @classmethod
    def _as_text(cls, values: Any) -> Any:
        return [str(value) if isinstance(value, int) else value for value in values or []]

    @field_validator("dev")
    @classmethod
    def _share(cls, value: float | str) -> float | str:
        if not isinstance(value, str) and not 0 < value < 1:
            raise ValueError("dev is a file, or a share of the train examples between 0 and 1")
        return value

    @model_validator(mode="after")
    def _fits(self) -> OwnTask:
        known, forms = METRICS_OF[self.family], FORMS_OF.get(self.kind, RECORDS)
        tags = [label for label in self.labels if label != "O" and label[:2] not in ("B-", "I-")]
        rules = [
            (self.metric in (None, *known), f"metric {self.metric} is none of {self.kind}: {', '.join(known)}"),
            ((self.kind == "choice") == bool(self.choices), "choices: fields of a choice, and of no other kind"),
            (len(self.choices) != 1, "choices: two fields or more"),
            (self.kind != "pairs" or len(self.text) == 2, "text: a pair has two fields, text: [first, second]"),
            (self.kind != "tagging" or len(self.text) == 1, "text: tagging reads one field"),
            (self.kind == "multi-label" or len(self.label) == 1, "label: one field; several are of kind multi-label"),
            (len({*self.labels}) == len(self.labels) != 1, "labels: two or more, each once"),
            (self.kind != "tagging" or not tags, f"labels: {', '.join(tags)}: those of tagging are O, B-TYPE, I-TYPE"),
            (self.kind not in ("regression", "reading") or not self.labels, f"labels: {self.kind} has none"),
            (self.kind == "reading" or not self.unanswerable, "unanswerable is of kind reading"),
            *(
                (form_of(path) in forms, f"{split}: {path} ends in none of what {self.kind} reads: {', '.join(forms)}")
                for split, path in self.places.items()
                if path
            ),
        ]  # fmt: skip
        for holds, rule in rules:
            if not holds:
                raise ValueError(rule)
        return self

    @property
    def family(self) -> str:
        """Return the kind whose metrics, head and form it has."""
        return "classification" if self.kind == "pairs" else self.kind

    @property
    def places(self) -> dict[str, str]:
        """Return split → its file, "" for none."""
        dev = self.dev if isinstance(self.dev, str) else ""
        return {"train": self.train, "dev": dev, "test": self.test or ""}

    def published(self, labels: Sequence[str]) -> OwnTask:
        """Return the row with its labels listed and the names of its files, without their folders; those of files on
        the hub are whole."""
        names = {split: pinned_name(path) or Path(path).name for split, path in self.places.items() if path}
        return self.model_copy(update={**names, "labels": list(labels)})


def with_hub_files(row: dict[str, Any], find: Callable[[str], Path | None]) -> dict[str, Any]:
    """Return a row that is not checked yet, with what `find` returns in place of its files on the hub."""
    names = {split: row[split] for split in SPLITS if str(row.get(split, "")).startswith(HUB)}
    return {**row, **{split: str(find(name) or name) for split, name in names.items()}}
