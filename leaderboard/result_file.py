"""Results that are computed once: a JSON file each, whose name holds the hash of its facts; and what counts of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any

from common.files import atomic_write
from common.once import once_file
from common.results import FACTS, encoded, plain, read_result, unfit
from common.settings import settings_hash

FIX = "move it away: scoring with the same settings then makes it again"
BOARD = "board.json"
"""File in a folder of scores: the model's name, and which result counts for each task; those of other settings stand
beside it."""


def result_once(
    path: Path,
    facts: dict[str, Any],
    compute: Callable[[], dict[str, Any]],
    check: Callable[[Any], object] = lambda _: None,
) -> dict[str, Any]:
    """Return the result in a file: the one that is there, else what `compute` returns, which is written.

    Args:
        path: a hash of the facts stands in it, so that results of other facts stand beside.
        facts: what the result is of, as JSON values.
        compute: returns JSON values; it may say more under `FACTS`, where the facts go.

    Raises:
        HunminError: the file is damaged, was edited, or is of other facts.
    """

    def write(stream: IO[bytes]) -> None:
        tree = compute()
        stream.write(encoded(tree | {FACTS: tree.get(FACTS, {}) | facts}))

    tree = read_result(once_file(path, write), check, FIX, sealed=True)
    stored = tree.get(FACTS, {})
    if settings_hash({key: stored.get(key) for key in facts}) != settings_hash(plain(facts)):
        raise unfit(path, "it is of other facts than its name says", FIX)
    return tree


def name_results(out: Path, name: str, facts: dict[str, dict[str, Any]]) -> dict[str, Path]:
    """Return the file for each task's result, and have it count from now on, in place of the one that did.

    Results of tasks that are not named still count if they are of the same model.

    Args:
        facts: task → what its result is of, with the hash of the "model".

    Raises:
        HunminError: what counts in the folder cannot be read.
    """
    files = {task: f"{task}-{settings_hash(task_facts)[:10]}.json" for task, task_facts in facts.items()}
    (model,) = {task_facts["model"] for task_facts in facts.values()}
    before = read_board(out) if (out / BOARD).exists() else {}
    kept_results = before["results"] if before.get("model") == model else {}
    with atomic_write(out / BOARD, "wb") as stream:
        stream.write(encoded({"model_name": name, "model": model, "results": kept_results | files}))
    return {task: out / "results" / file for task, file in files.items()}


def read_board(out: Path) -> dict[str, Any]:
    """Return the model's name in a folder of scores, its hash as "model", and the "results" that count by task. Raises
    DamagedError where they were edited."""
    return dict(
        read_result(
            out / BOARD, lambda board: [board["model_name"], board["model"], {**board["results"]}], FIX, sealed=True
        )
    )


def counted_results(out: Path, check: Callable[[Any], object]) -> list[dict[str, Any]]:
    """Return the results that count in a folder of scores, as far as they are there, under the model's name.

    Raises:
        DamagedError: one of them is damaged, was edited, or is of another model or task.
    """
    board = read_board(out)

    def check_own(tree: Any, task: str) -> None:
        if (tree[FACTS]["model"], [*tree["results"]]) != (board["model"], [task]):
            raise ValueError("it is of another model or task than board.json says")
        check(tree)

    results = []
    for task, file in board["results"].items():
        if (path := out / "results" / file).exists():
            results.append(
                read_result(path, partial(check_own, task=task), FIX, sealed=True) | {"model_name": board["model_name"]}
            )
    return results
