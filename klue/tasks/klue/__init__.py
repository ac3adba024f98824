"""KLUE's eight tasks, one file a task, in the order of the paper's tables."""

from __future__ import annotations

from klue.tasks.base import Task
from klue.tasks.klue.dp import DependencyParsing
from klue.tasks.klue.mrc import ReadingComprehension
from klue.tasks.klue.ner import Ner
from klue.tasks.klue.nli import Nli
from klue.tasks.klue.relation import RelationExtraction
from klue.tasks.klue.sts import Sts
from klue.tasks.klue.wos import DialogueStates
from klue.tasks.klue.ynat import Ynat

KLUE: tuple[Task, ...] = (
    Ynat(),
    Sts(),
    Nli(),
    Ner(),
    RelationExtraction(),
    DependencyParsing(),
    ReadingComprehension(),
    DialogueStates(),
)
