"""The suites: their tasks, where the rows of each lie, and what is scored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from common.errors import UserError
from common.settings import Settings, load_yaml
from leaderboard import prepare
from leaderboard.rows import Row, find_rows, looked_for, prepared, read_rows

HELD_OUT = "held_out.jsonl"
"""File of an instruction build with the rows of the suite `instruct`."""


class BoardTask(Settings):
    """A task of a suite; see suites.yaml."""

    name: str
    """Of the task, and of its files."""
    suite: Literal["kit19", "leaderboard2", "instruct"]
    """That it belongs to."""
    metric: str
    """lm-eval's key of the score that tables show, METRIC,FILTER."""
    beside: tuple[str, ...] = ()
    """Keys of further scores."""
    kind: Literal["likelihood", "generation"] = "likelihood"
    """How it is scored."""
    title: str = ""
    """Its name in tables."""
    load: str = ""
    """What lm-eval loads, where that has another name."""
    files: tuple[str, ...] = ()
    """Files of the authors' layout."""
    reads: str = "columns"
    """Function of `leaderboard.prepare` that reads a row."""
    texts: Mapping[str, tuple[str, ...]] = Field({})
    """Field → columns that may hold its text."""
    labels: Mapping[str, Mapping[str, dict[str, Any]]] = Field({})
    """Field → column → value → what it stands for."""
    different: tuple[str, ...] = ()
    """Fields that are the choices."""
    constants: tuple[str, ...] = ("",)
    """Answers, of a task by generation, that are the same for every prompt; {FIELD} is the most frequent value."""
    use: str = ""
    """Use of an instruction build whose rows are scored."""


def _tasks() -> dict[str, BoardTask]:
    tree = load_yaml(Path(__file__).with_name("suites.yaml"))
    return {name: BoardTask(name=name, **fields) for name, fields in tree.items()}


TASKS = _tasks()
"""Every task file's task by name."""
SUITES: dict[str, tuple[str, ...]] = {
    suite: tuple(name for name, task in TASKS.items() if task.suite == suite) for suite in ("kit19", "leaderboard2")
} | {"instruct": ()}
"""Suite → names of its tasks; those of `instruct` are found in the rows of a build."""


def tasks_folder() -> Path:
    """Return the folder of the task files, for `lm_eval run --include_path`."""
    return Path(__file__).parent / "tasks"


def scale_of(metric: str) -> float:
    """Return the highest value of a metric, which is declared by its name."""
    return 100.0 if metric.split(",")[0] in ("eqbench", "percent_parseable", "chrf") else 1.0


def load_rows(name: str, data: Path | None, options: Row) -> tuple[list[Row], list[Row]]:
    """Return the rows of a task and its shots, as its task file takes them.

    Args:
        name: a task of `TASKS`.
        data: folder with the files; for `instruct` a build's folder or its file of held-out rows.
        options: `listed` (tasks whose prompts list the choices), `groups` (merged choices of kornat_social), `use` and
            `layout` (of an instruction build).

    Raises:
        UserError: no folder is given, a file is missing, or a row is not one of the task's.
    """
    if data is None:
        raise UserError(f"{name}: no data folder is given", "", """name it: --metadata '{"data": "DIR"}'""")
    task = TASKS[name]
    if task.suite == "instruct":
        return _held_out(data, name == "instruct_choice", options), []
    read, found = getattr(prepare, task.reads), find_rows(data, name, task.files)
    if found is None:
        raise UserError(f"{name}: no rows in {data}", f"looked for {looked_for(name, task.files)}", "add one of them")
    shots = find_rows(data, f"{name}.fewshot")
    test, given = (prepared(path, lambda row: read(row, task, options)) if path else [] for path in (found, shots))
    if any(shot in test for shot in given):
        raise UserError(f"{shots} holds a row of {found}", "shots are never test rows", "take the row out")
    return test, given


def _held_out(data: Path, closed: bool, options: Row) -> list[Row]:
    path, use, layout = _file(data), options.get("use"), options.get("layout", "plain")

    def read(row: Row) -> Row:
        own = row.get("task") == use and (row.get("choices") is not None) == closed
        return prepare.instruction(row, layout) if own else {}

    found = [row for row in prepared(path, read) if row]
    if not found:
        raise UserError(f"{path} holds no such rows of {use!r}", "", 'name a use of the build: "use": "copa"')
    return found


def _file(data: Path) -> Path:
    return data / HELD_OUT if data.is_dir() else data


def held_out_tasks(data: Path) -> dict[str, BoardTask]:
    """Return the tasks of the suite `instruct` by name: a build's uses, rows with choices and without apart.

    Args:
        data: the build's folder, or its file of held-out rows.

    Raises:
        UserError: the file is missing or damaged.
    """
    kinds = dict.fromkeys((str(row.get("task")), row.get("choices") is not None) for row in read_rows(_file(data)))
    found = {}
    for use, closed in kinds:
        base = TASKS["instruct_choice" if closed else "instruct_text"]
        name = f"instruct_{use}" + ("" if closed else "_text")
        found[name] = base.model_copy(update={"name": name, "load": base.name, "use": use, "title": use})
    return found
