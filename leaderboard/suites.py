"""The suites: their tasks, where the rows of each lie, what is scored, and on which scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from common.errors import UserError
from leaderboard import prepare
from leaderboard.rows import Prepare, Row, Source, prepared

HELD_OUT = "held_out.jsonl"
"""File of an instruction build with the rows of the suite `instruct`."""
LISTED = ("ko_gpqa_diamond_zeroshot",)
GROUPS = ((0, 1), (2,), (3, 4))
NINE = 9
"""Tasks of leaderboard2, all of which its mean needs."""


@dataclass(frozen=True)
class BoardTask:
    """A task of a suite."""

    name: str
    suite: str
    metric: str
    """lm-eval's key of the score that tables show, METRIC,FILTER."""
    kind: Literal["likelihood", "generation"] = "likelihood"
    authors: tuple[str, ...] = ()
    """Files of the authors' layout."""
    scale: float = 1.0
    """The metric's highest value; tables show percent of it."""
    beside: tuple[str, ...] = ()
    """Further scores that tables show."""
    load: str = ""
    """What lm-eval loads, where it is not the task's name."""
    use: str = ""
    """Use of an instruction build whose rows are scored."""
    choices: bool = False
    """Whether these are the use's rows with choices."""

    @property
    def source(self) -> Source:
        """Return where the task's rows lie."""
        return Source(self.name, self.authors)


def _kobest(name: str, folder: str, *beside: str) -> BoardTask:
    return BoardTask(
        f"kobest_{name}", "kit19", "acc,none", authors=(f"{folder}/test.tsv",), beside=(*beside, "f1,none"),
        load=f"kit19_{name}",
    )  # fmt: skip


def _board(name: str, metric: str, *beside: str, **more: Any) -> BoardTask:
    return BoardTask(name, "leaderboard2", metric, beside=beside, **more)


ALL = (
    _kobest("copa", "COPA"),
    _kobest("boolq", "BoolQ"),
    _kobest("hellaswag", "HellaSwag", "acc_norm,none"),
    BoardTask("klue_sts", "kit19", "acc,none", authors=("klue-sts-v1*_dev*.json",), beside=("f1,none",)),
    _kobest("sentineg", "SentiNeg"),
    BoardTask("klue_ynat", "kit19", "f1,none", authors=("ynat-v1*_dev*.json",), beside=("acc,none",)),
    _board("ko_gpqa_diamond_zeroshot", "acc_norm,none", "acc,none"),
    _board("ko_winogrande", "acc,none"),
    _board("ko_gsm8k", "exact_match,strict-match", "exact_match,flexible-extract", kind="generation"),
    _board("ko_eqbench", "eqbench,none", "percent_parseable,none", kind="generation", scale=100.0),
    _board(
        "ko_ifeval", "ifeval,none", *(f"{by}_level_{how}_acc,none" for how in ("strict", "loose") for by in ("prompt", "inst")),
        kind="generation",
    ),
    _board("kornat_common", "acc_norm,none", "acc,none"),
    _board("kornat_social", "a_sva,none", "sva,none"),
    _board("kornat_harmless", "acc_norm,none", "acc,none"),
    _board("kornat_helpful", "acc_norm,none", "acc,none"),
)  # fmt: skip
"""Every task with files of its own."""
SUITES: dict[str, dict[str, BoardTask]] = {
    suite: {task.name: task for task in ALL if task.suite == suite} for suite in ("kit19", "leaderboard2", "instruct")
}
"""Suite → its tasks by name; those of `instruct` are found in the rows of a build."""
TASKS: dict[str, BoardTask] = {task.name: task for task in ALL}
PREPARE: dict[str, Prepare] = {
    **{f"kobest_{name}": getattr(prepare, name) for name in ("copa", "boolq", "hellaswag", "sentineg")},
    "klue_sts": prepare.klue_sts,
    "klue_ynat": prepare.klue_ynat,
    "ko_winogrande": prepare.winogrande,
    "ko_gsm8k": prepare.gsm8k,
    "ko_eqbench": prepare.eqbench,
    "ko_ifeval": prepare.ifeval,
}
"""Functions that need no further metadata."""


def tasks_folder() -> Path:
    """Return the folder of the task files, for `lm_eval run --include_path`."""
    return Path(__file__).parent / "tasks"


def scale_of(metric: str) -> float:
    """Return the highest value of a metric of a task file."""
    return 100.0 if metric.split(",")[0] in ("eqbench", "percent_parseable", "chrf") else 1.0


def load_rows(name: str, data: Path | str, options: Mapping[str, Any]) -> tuple[list[Row], list[Row]]:
    """Return the rows of a task and its shots, as its task file takes them.

    Args:
        name: a task of `TASKS`, or "instruct_choice" or "instruct_text".
        data: folder with the files; for `instruct` a build's folder or its file of held-out rows.
        options: `listed` (tasks whose prompts list the choices), `groups` (merged choices of kornat_social), `use` and
            `layout` (of an instruction build).

    Raises:
        UserError: no folder is given, a file is missing, or a row is not one of the task's.
    """
    if not data:
        raise UserError(f"{name}: no data folder", "rows are read offline", """--metadata '{"data": "DIR"}'""")
    if name.startswith("instruct_"):
        return _held_out(Path(data), name == "instruct_choice", options), []
    source, function = TASKS[name].source, PREPARE.get(name)
    if name == "kornat_social":
        function = partial(prepare.social, groups=options.get("groups", GROUPS))
    elif function is None:
        count = 4 if name == "ko_gpqa_diamond_zeroshot" else None
        listed = name in options.get("listed", LISTED)
        function = partial(prepare.multiple_choice, listed=listed, count=count)
    found = source.find(Path(data))
    if found is None:
        raise UserError(f"{name}: no rows in {data}", f"looked for {source.looked_for}", "put one of these files there")
    shots = source.find(Path(data), "fewshot")
    test = prepared(found, function)
    given = prepared(shots, function) if shots else []
    if any(shot in test for shot in given):
        raise UserError(f"{shots} holds a row of {found}", "shots are never test rows", "take it out")
    return test, given


def _held_out(data: Path, closed: bool, options: Mapping[str, Any]) -> list[Row]:
    path = data / HELD_OUT if data.is_dir() else data
    use, layout = options.get("use"), options.get("layout", "plain")

    def chosen(row: Row) -> Row:
        if row.get("task") == use and (row.get("choices") is not None) == closed:
            return prepare.instruction(row, layout)
        return {}

    found = [row for row in prepared(path, chosen) if row]
    if not found:
        raise UserError(f"{path} holds no such rows of {use!r}", "use names one of the build", "check the name")
    return found


def held_out_tasks(path: Path) -> dict[str, BoardTask]:
    """Return the tasks of the suite `instruct`: the uses of a build's held-out rows, with choices and without.

    Args:
        path: the build's folder, or its file of held-out rows.

    Raises:
        UserError: the file is missing or damaged.
    """
    from leaderboard.rows import read_rows

    kinds: dict[tuple[str, bool], None] = {}
    for row in read_rows(path / HELD_OUT if path.is_dir() else path):
        kinds[str(row.get("task")), row.get("choices") is not None] = None
    found = {}
    for use, closed in kinds:
        name = f"instruct_{use}" + ("" if closed else "_text")
        metric, beside = ("acc,none", "acc_norm,none") if closed else ("exact_match,none", "chrf,none")
        found[name] = BoardTask(
            name, "instruct", metric, "likelihood" if closed else "generation", beside=(beside,),
            load="instruct_choice" if closed else "instruct_text", use=use, choices=closed,
        )  # fmt: skip
    return found
