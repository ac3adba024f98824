"""YNAT: the topic of a news headline, one of seven; macro F1."""

from __future__ import annotations

from typing import Any, ClassVar

from klue.tasks.base import AuthorsValues, Classification, Example
from klue.tasks.fields import one_of, text_field


class Ynat(Classification):
    """Topic classification of headlines."""

    name = "ynat"
    key = "ynat"
    title = "YNAT"
    hub_config = "ynat"
    sizes = (45_678, 9107, 0)
    folder = "ynat-v1.1"
    partial_files: ClassVar[dict[str, tuple[str, ...]]] = {"train": ("ynat_train.labelled_part.*.json",)}
    labels = ("IT과학", "경제", "사회", "생활문화", "세계", "스포츠", "정치")
    unlabelled_fields = "title"
    metrics: ClassVar[dict[str, str]] = {"macro_f1": "macro F1"}
    selection = "macro_f1"
    authors = AuthorsValues(epochs=4, large={"warmup_share": 0.2})

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return a headline with its topic."""
        return [
            Example(
                record.get("guid", guid),
                (text_field(record, "title"),),
                one_of(record["label"], self.labels, self.name),
            )
        ]
