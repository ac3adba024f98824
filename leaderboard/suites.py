"""The suites: their tasks, where the rows of each lie, and what is scored."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from common.errors import UserError
from common.results import FINITE, Bounds, check_unchanged
from common.settings import load_yaml
from data.decontaminate.normalise import text_key
from leaderboard import prepare
from leaderboard.rows import SUFFIXES, Row, find_rows, prepared, read_rows

HELD_OUT = "held_out.jsonl"
"""File of an instruction build with the rows of the suite `instruct`."""


@dataclass(frozen=True)
class BoardTask:
    """A task of a suite, as suites.yaml describes it."""

    name: str
    suite: str
    metric: str  # lm-eval's key of the score that tables show, METRIC,FILTER
    beside: Sequence[str] = ()  # keys of further scores
    kind: str = "likelihood"  # or "generation"
    title: str = ""  # in tables
    load: str = ""  # what lm-eval loads, where that has another name
    files: Sequence[str] = ()  # of the authors' layout
    reads: str = "columns"  # function of leaderboard.prepare that reads a row
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)  # field → columns that may hold its text
    labels: Mapping[str, Mapping[str, Row]] = field(default_factory=dict)  # field → column → value → meaning
    different: Sequence[str] = ()  # fields that are the choices
    constants: Sequence[str] = ("",)  # texts that answer every prompt alike; {FIELD} is its most frequent value
    use: str = ""  # of an instruction build


TASKS = {name: BoardTask(name, **rest) for name, rest in load_yaml(Path(__file__).with_name("suites.yaml")).items()}
SUITES: dict[str, list[str]] = {"kit19": [], "leaderboard2": [], "instruct": []}
for _name in [name for name in TASKS if not name.startswith("instruct_")]:  # those of a build are found in its rows
    SUITES[TASKS[_name].suite].append(_name)


def tasks_folder() -> Path:
    """Return the folder of the task files, for `lm_eval run --include_path`."""
    return Path(__file__).parent / "tasks"


def bounds_of(metric: str) -> Bounds:
    """Return the lowest and the highest value of a metric, by its name; EQ-Bench takes points off without end."""
    name = metric.split(",")[0]
    high = 100.0 if name in ("eqbench", "percent_parseable", "chrf", "score") else 1.0
    return (FINITE[0] if name == "eqbench" else 0.0), high


def load_rows(name: str, data: Path | None, options: Row) -> tuple[list[Row], list[Row]]:
    """Return the rows of a task and its shots, as its task file takes them.

    Args:
        data: folder with the files; for `instruct` a build's folder or its file of held-out rows.
        options: `listed` and `groups` as in the settings; `use` and `layout` ("plain", "message") of a build.

    Raises:
        UserError: no folder is given, a file is missing, or a row is not one of the task's.
    """
    task = TASKS[name]
    read = getattr(prepare, task.reads)
    files = task_files(task, data)
    test, shots = [*([r for r in prepared(path, lambda row: read(row, task, options)) if r] for path in files), []][:2]
    if not test:
        raise UserError(f"{files[0]} has no such rows of {options.get('use')!r}", "", 'name a use: "use": "copa"')
    test_keys, shot_keys = ({text_key(json.dumps(row, ensure_ascii=False)) for row in rows} for rows in (test, shots))
    if test_keys & shot_keys:
        raise UserError(f"{files[1]} holds a row of {files[0]}", "shots are never test rows", "take the row out")
    return test, shots


def task_files(task: BoardTask, data: Path | None) -> list[Path]:
    """Return the file with a task's rows, and that with its shots where there is one. Raises UserError where there are
    no rows, DamagedError where a build's were edited."""
    if data is not None and task.suite == "instruct":
        path = data / HELD_OUT if data.is_dir() else data
        check_unchanged(path, "build it again: hunmin instruct build RECIPE")
        return [path]
    rows_file = data and find_rows(data, task.name, task.files)
    if not data or not rows_file:
        names = ", ".join([f"{task.name}.{{{','.join(SUFFIXES)}}}", *task.files])
        raise UserError(f"{task.name}: no rows in {data}", f"looked for {names}", "put one of these files there")
    return [rows_file, *filter(None, [find_rows(data, f"{task.name}.fewshot")])]


def held_out_tasks(data: Path) -> dict[str, BoardTask]:
    """Return the tasks of the suite `instruct` by name: a build's uses, rows with choices and without apart."""
    tasks = {}
    for row in read_rows(task_files(TASKS["instruct_text"], data)[0]):
        base = TASKS["instruct_text" if row.get("choices") is None else "instruct_choice"]
        use = str(row.get("task"))
        name = f"instruct_{use}" + ("_text" if row.get("choices") is None else "")
        tasks[name] = replace(base, name=name, load=base.name, use=use, title=use)
    return tasks
