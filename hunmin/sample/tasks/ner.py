"""KLUE-NER: characters with BIO tags, from templates whose names, places, dates and quantities are known."""

from __future__ import annotations

from hunmin.sample.inflect import Register
from hunmin.sample.sentences import RICH
from hunmin.sample.tasks.common import TaskFiles, TaskText, guid, rng_for, task_scene
from hunmin.sample.template import Segment, text_of

SIZES = {"train": 240, "dev": 60}
HEADER = (
    "## 토큰, 레이블 구분자 : \\t\n## 토큰 구분자 : \\n\n## 문장 구분자 : \\n\\n\n"
    "## 주석 : ##\n## 컬럼명 : CHAR\tNE_TAG\n"
)


_UNITS = {"퍼센트": "QT", "명": "QT", "건": "QT", "년": "DT"}


def _with_units(segments: list[Segment]) -> list[Segment]:
    """Return the segments with the unit after a number joined to it: "12" + "명이 …" is "12명" + "이 …"."""
    joined: list[Segment] = []
    for segment in segments:
        last = joined[-1] if joined else None
        if last and last.entity == "QT" and last.text.isdigit() and not segment.entity:
            unit = next((u for u in _UNITS if segment.text.startswith(u)), "")
            if unit:
                joined[-1] = Segment(last.text + unit, _UNITS[unit], last.slot)
                segment = Segment(segment.text[len(unit) :])
        joined.append(segment)
    return [segment for segment in joined if segment.text]


def _rows(segments: list[Segment]) -> list[str]:
    rows: list[str] = []
    for segment in segments:
        for place, character in enumerate(segment.text):
            tag = f"{'B' if place == 0 else 'I'}-{segment.entity}" if segment.entity else "O"
            rows.append(f"{character}\t{tag}")
    return rows


def _marked(segments: list[Segment]) -> str:
    return "".join(f"<{s.text}:{s.entity}>" if s.entity else s.text for s in segments)


def build(seed: int) -> TaskFiles:
    """Return the files of KLUE-NER; every sentence has at least one entity."""
    files: dict[str, str] = {}
    texts: list[TaskText] = []
    seen: set[str] = set()
    for split, size in SIZES.items():
        rng = rng_for(seed, "klue-ner", split)
        blocks: list[str] = []
        while len(blocks) < size:
            segments = _with_units(task_scene(rng, split).segments(rng.choice(RICH), rng.choice(list(Register))))
            text = text_of(segments)
            if text in seen or not any(segment.entity for segment in segments):
                continue
            seen.add(text)
            name = guid("klue-ner", split, len(blocks)) + "-sample"
            texts.append(TaskText("klue-ner", name, text))
            blocks.append("\n".join([f"## {name}\t{_marked(segments)}", *_rows(segments)]) + "\n")
        files[f"klue-ner-v1.1/klue-ner-v1.1_{split}.tsv"] = HEADER + "\n".join(blocks)
    return TaskFiles(files, texts)
