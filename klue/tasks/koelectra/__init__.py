"""The tasks of the table that KoELECTRA's README prints, in its order; its Naver NER is not offered."""

from __future__ import annotations

from pathlib import Path

from klue.tasks.base import Task
from klue.tasks.koelectra.korquad import KorQuad
from klue.tasks.rows import build_task, load_rows

ROWS = load_rows(Path(__file__).with_name("rows.yaml"))
*_READ, _LAST = (build_task(name, row) for name, row in ROWS.items())
KOELECTRA: tuple[Task, ...] = (*_READ, KorQuad(), _LAST)
