"""Every benchmark's tasks: a folder a suite, a file a task, and the one register of them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from common.errors import UserError, nearest
from klue.tasks.base import Task
from klue.tasks.klue import KLUE
from klue.tasks.kobest import KOBEST
from klue.tasks.koelectra import KOELECTRA
from klue.tasks.own import OwnFiles, OwnTask, build_own


@dataclass(frozen=True)
class Suite:
    """Tasks that are scored and shown together: a table."""

    name: str
    """On the command line and in recipes; folder of its data where they lie beside others'."""
    title: str
    tasks: tuple[Task, ...]
    caption: str
    """What its scores are, for people."""


OWN = "own"
"""Suite of the user's own tasks."""
SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        Suite(
            "klue",
            "KLUE",
            KLUE,
            "Dev scores × 100, the best evaluation of each fine-tuning, as in the KLUE paper (chosen on "
            "dev); mean ± standard deviation over seeds where there are several.",
        ),
        Suite(
            "kobest",
            "KoBEST",
            KOBEST,
            "Test scores × 100, once for each fine-tuning, of its evaluation that was best on dev; mean ± standard "
            "deviation over seeds where there are several.",
        ),
        Suite(
            "koelectra",
            "KoELECTRA's table",
            KOELECTRA,
            "Test scores × 100, once for each fine-tuning, of its evaluation that was best on dev; hate speech and "
            "KorQuAD, whose test labels are not public: the best evaluation on dev, which has looked at dev; mean ± "
            "standard deviation over seeds where there are several.",
        ),
        Suite(
            OWN,
            "Own tasks",
            (),
            "Scores × 100 on the test file where there is one, once for each fine-tuning, of its evaluation that was "
            "best on dev; else the best evaluation on dev; mean ± standard deviation over seeds where there are "
            "several.",
        ),
    )
}
"""Every suite, by name, KLUE first."""
TASKS: dict[str, Task] = {task.name: task for suite in SUITES.values() for task in suite.tasks}
"""Every task of every suite, by name, in the order of the tables."""

SUITE_OF: dict[str, str] = {task.name: suite.name for suite in SUITES.values() for task in suite.tasks}
"""Name of each task's suite."""

NOT_OFFERED = {
    "naver-ner": "its data are not published with a form that is stated",
    "korquad2": "KorQuAD 2.0 is of whole web pages",
}
"""Tasks that people may ask for, and why they are none here."""


def add_own(row: OwnTask) -> None:
    """Take a user's task into the register, in place of one of that name. Raises ValueError for a benchmark's name."""
    if (taken := canonical(row.name)) and SUITE_OF[taken] != OWN:
        raise ValueError(f"own task '{row.name}' has the name of a benchmark's task, {taken}: give it another")
    current = TASKS.get(row.name)
    if not isinstance(current, OwnFiles) or current.row != row:
        TASKS[row.name] = build_own(row)
        SUITE_OF[row.name] = OWN


def know_own(row: OwnTask) -> None:
    """Take the task of finished work into the register, unless one alike is there: its files are where settings say."""
    current = TASKS.get(row.name)
    if not isinstance(current, OwnFiles) or (current.row.kind, [*current.labels]) != (row.kind, row.labels):
        add_own(row)


def names_of(suites: Sequence[str]) -> list[str]:
    """Return the names of all tasks of some suites, in the order of the tables."""
    return [name for name, suite in SUITE_OF.items() if suite in suites]


def suite_folder(data: Path, task: str) -> Path:
    """Return the folder of a task's suite: DATA/SUITE where there is one, else DATA; an own task's paths need none."""
    folder = data / SUITE_OF[task]
    return folder if folder.is_dir() else data


def canonical(name: str) -> str | None:
    """Return the name of the task that a name stands for, with or without that of its suite; None where it is none.
    "sts" and "klue-sts" are one task, as "ynat" and "klue-ynat", "boolq" and "kobest-boolq" are."""
    if name in TASKS:
        return name
    normalised = name.replace("_", "-")
    matches = [
        task
        for task, suite in SUITE_OF.items()
        if normalised in (task, f"{suite}-{task}", task.removeprefix(f"{suite}-"))
    ]
    return matches[0] if len(matches) == 1 else None


def problem_with(name: str) -> str | None:
    """Return why a task name cannot be used, or None when it can."""
    if canonical(name):
        return None
    if name in NOT_OFFERED:
        return f"task '{name}' is not offered: {NOT_OFFERED[name]}; available: {', '.join(TASKS)}"
    return f"unknown task '{name}'{nearest(name, list(TASKS))}; available: {', '.join(TASKS)}"


def problem_with_suite(name: str) -> str | None:
    """Return why a suite's name cannot be used, or None when it can."""
    if name in SUITES:
        return None
    return f"unknown suite '{name}'{nearest(name, list(SUITES))}; available: {', '.join(SUITES)}"


def get_task(name: str) -> Task:
    """Return the task of that name, see `canonical`. Raises UserError where there is none."""
    task_name = canonical(name)
    if task_name is None:
        problem = problem_with(name) or name
        raise UserError(problem, "a task is named as in the benchmark", f"use one of: {', '.join(TASKS)}")
    return TASKS[task_name]
