"""The benchmark's tasks, one file a task, and the register of them."""

from __future__ import annotations

from common.errors import UserError, nearest
from klue.tasks.base import Task
from klue.tasks.nli import Nli
from klue.tasks.sts import Sts
from klue.tasks.ynat import Ynat

TASKS: dict[str, Task] = {task.name: task for task in (Ynat(), Nli(), Sts())}
"""Every task that can be run and scored, by name, in the order of tables."""

UNAVAILABLE = ("klue-ner", "klue-re", "klue-dp", "klue-mrc", "wos")
"""Tasks of the benchmark that cannot be run yet."""


def problem_with(name: str) -> str | None:
    """Return why a task name cannot be used, or None when it can."""
    if name in TASKS:
        return None
    available = f"available: {', '.join(TASKS)}"
    if name in UNAVAILABLE:
        return f"task {name} is not available yet; {available}"
    return f"unknown task '{name}'{nearest(name, list(TASKS))}; {available}"


def get_task(name: str) -> Task:
    """Return the task of that name.

    Raises:
        UserError: there is none, or it is not available yet.
    """
    problem = problem_with(name)
    if problem:
        raise UserError(problem, "a task is named as in the benchmark", f"use one of: {', '.join(TASKS)}")
    return TASKS[name]
