"""KLUE's eight tasks, in the order of the paper's tables: rows of `rows.yaml`, and a file for one that is code."""

from __future__ import annotations

from pathlib import Path

from klue.tasks.base import Task
from klue.tasks.klue.dp import DependencyParsing
from klue.tasks.klue.mrc import ReadingComprehension
from klue.tasks.klue.ner import Ner
from klue.tasks.klue.relation import RelationExtraction
from klue.tasks.klue.sts import Rated
from klue.tasks.klue.wos import DialogueStates
from klue.tasks.rows import build_task, load_rows

ROWS = load_rows(Path(__file__).with_name("rows.yaml"))
KLUE: tuple[Task, ...] = (
    build_task("ynat", ROWS["ynat"]),
    build_task("klue-sts", ROWS["klue-sts"], Rated),
    build_task("klue-nli", ROWS["klue-nli"]),
    Ner(),
    RelationExtraction(),
    DependencyParsing(),
    ReadingComprehension(),
    DialogueStates(),
)
