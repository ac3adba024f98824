"""KoBEST (Jang et al. 2022, arXiv 2204.04541): five tasks, with public train, dev and test sets."""

from __future__ import annotations

from pathlib import Path

from klue.tasks.base import Task
from klue.tasks.rows import build_task, load_rows

KOBEST: tuple[Task, ...] = tuple(
    build_task(name, row) for name, row in load_rows(Path(__file__).with_name("rows.yaml")).items()
)
