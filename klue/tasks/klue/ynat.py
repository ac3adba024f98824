"""YNAT: the topic of a news headline, one of seven; macro F1."""

from __future__ import annotations

from typing import ClassVar

from klue.tasks.base import AuthorsValues, Classification


class Ynat(Classification):
    name = "ynat"
    key = "ynat"
    title = "YNAT"
    hub_config = "ynat"
    sizes = (45_678, 9107, 0)
    folder = "ynat-v1.1"
    partial_files: ClassVar[dict[str, tuple[str, ...]]] = {"train": ("ynat_train.labelled_part.*.json",)}
    labels = ("IT과학", "경제", "사회", "생활문화", "세계", "스포츠", "정치")
    text_columns = ("title",)
    metrics: ClassVar[dict[str, str]] = {"macro_f1": "macro F1"}
    authors = AuthorsValues(epochs=4, large={"warmup_share": 0.2})
