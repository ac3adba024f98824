"""The eight KLUE tasks in small, in the benchmark's own file layouts, with invented content."""

from __future__ import annotations

from hunmin.sample.tasks import dp, mrc, ner, nli, relation, sts, wos, ynat
from hunmin.sample.tasks.common import TaskFiles, TaskText

BUILDERS = {
    "ynat": ynat.build,
    "klue-nli": nli.build,
    "klue-sts": sts.build,
    "klue-ner": ner.build,
    "klue-re": relation.build,
    "klue-dp": dp.build,
    "klue-mrc": mrc.build,
    "wos": wos.build,
}


def build_tasks(seed: int) -> TaskFiles:
    """Return the files of all eight tasks (paths relative to the benchmark's folder) and all their sentences."""
    files: dict[str, str] = {}
    texts: list[TaskText] = []
    for build in BUILDERS.values():
        task = build(seed)
        files |= task.files
        texts += task.texts
    return TaskFiles(files, texts)
