"""The benchmark's tasks, one file a task, and the register of them."""

from __future__ import annotations

from common.errors import UserError, nearest
from klue.tasks.base import Task
from klue.tasks.dp import DependencyParsing
from klue.tasks.mrc import ReadingComprehension
from klue.tasks.ner import Ner
from klue.tasks.nli import Nli
from klue.tasks.relation import RelationExtraction
from klue.tasks.sts import Sts
from klue.tasks.wos import DialogueStates
from klue.tasks.ynat import Ynat

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Ynat(),
        Sts(),
        Nli(),
        Ner(),
        RelationExtraction(),
        DependencyParsing(),
        ReadingComprehension(),
        DialogueStates(),
    )
}
"""Every task of the benchmark, by name, in the order of the paper's tables."""


def problem_with(name: str) -> str | None:
    """Return why a task name cannot be used, or None when it can."""
    if name in TASKS:
        return None
    return f"unknown task '{name}'{nearest(name, list(TASKS))}; available: {', '.join(TASKS)}"


def get_task(name: str) -> Task:
    """Return the task of that name.

    Raises:
        UserError: there is none.
    """
    problem = problem_with(name)
    if problem:
        raise UserError(problem, "a task is named as in the benchmark", f"use one of: {', '.join(TASKS)}")
    return TASKS[name]
