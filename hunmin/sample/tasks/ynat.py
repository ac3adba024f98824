"""YNAT: headlines of seven topics."""

from __future__ import annotations

from typing import Any

from hunmin.sample.headlines import HEADLINES
from hunmin.sample.tasks.common import TaskFiles, TaskText, as_json, guid, labelled_topic, rng_for, task_scene

SIZES = {"train": 1050, "dev": 280}


def build(seed: int) -> TaskFiles:
    """Return the files of YNAT: every title once over both splits, labels in equal numbers."""
    files: dict[str, str] = {}
    texts: list[TaskText] = []
    seen: set[str] = set()
    for split, size in SIZES.items():
        rng = rng_for(seed, "ynat", split)
        records: list[dict[str, Any]] = []
        while len(records) < size:
            topic = labelled_topic(len(records))
            title = task_scene(rng, split, topic).say(rng.choice(HEADLINES))
            if title in seen:
                continue
            seen.add(title)
            records.append({"title": title, "label": topic.label})
        rng.shuffle(records)
        for number, record in enumerate(records):
            name, label = guid("ynat", split, number), record["label"]
            scopes = {"first-scope": label, "second-scope": "해당없음", "third-scope": "해당없음"}
            texts.append(TaskText("ynat", name, record["title"]))
            records[number] = {
                "guid": name,
                "title": record["title"],
                "predefined_news_category": label,
                "label": label,
                "annotations": {"annotators": ["01", "02", "03"], "annotations": scopes},
                "url": f"https://news.example.com/{split}/{number:05d}",
                "date": f"{2010 + number % 14}.{1 + number % 12:02d}.{1 + number % 28:02d}. 오전 {1 + number % 11}:00",
            }
        files[f"ynat-v1.1/ynat-v1.1_{split}.json"] = as_json(records)
    return TaskFiles(files, texts)
