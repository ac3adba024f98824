"""Results that are computed once: a JSON file each, whose name holds the hash of its facts; and what counts of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from common.errors import HunminError
from common.files import atomic_write
from common.once import once_file
from common.secrets import masked_urls
from common.settings import settings_hash

FACTS, DIGEST = "hunmin", "digest"
"""Keys of a result file: what it is a result of, and a hash of all else in the file."""
BOARD = "board.json"
"""File in a folder of scores: the model's name, and which result counts for each task; those of other settings stand
beside it."""


def result_once(path: Path, facts: dict[str, Any], compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the result in a file: the one that is there, else what `compute` returns, which is written.

    Args:
        path: of the file; a hash of the facts stands in it, so that results of other facts stand beside.
        facts: what the result is of, as JSON values.
        compute: returns the result as JSON values; it may say more under `FACTS`, where the facts go.

    Raises:
        HunminError: the file is damaged, was edited, or is of other facts.
    """

    def write(stream: IO[bytes]) -> None:
        tree = compute()
        stream.write(encoded(tree | {FACTS: tree.get(FACTS, {}) | facts}))

    tree = read_result(once_file(path, write))
    told = tree.get(FACTS, {})
    if settings_hash({key: told.get(key) for key in facts}) != settings_hash(_plain(facts)):
        raise _unfit(path, "is of other facts than its name says")
    return tree


def name_results(out: Path, name: str, facts: dict[str, dict[str, Any]]) -> dict[str, Path]:
    """Return where the result of each task goes, and have it count from now on, in place of the one that did.

    Args:
        out: folder of scores; results of tasks that are not named still count if they are of the same model.
        name: of the model, in reports.
        facts: task → what its result is of, with the hash of the "model".

    Raises:
        HunminError: what counts in the folder cannot be read.
    """
    files = {task: f"{task}-{settings_hash(told)[:10]}.json" for task, told in facts.items()}
    (model,) = {told["model"] for told in facts.values()}
    before = read_result(out / BOARD) if (out / BOARD).exists() else {}
    others = before["results"] if before.get("model") == model else {}
    with atomic_write(out / BOARD, "wb") as stream:
        stream.write(encoded({"model_name": name, "model": model, "results": others | files}))
    return {task: out / "results" / file for task, file in files.items()}


def counted_results(out: Path) -> list[dict[str, Any]]:
    """Return the results that count in a folder of scores, as far as they are there, under the model's name.

    Raises:
        HunminError: one of them is damaged or was edited.
    """
    board = read_result(out / BOARD)
    files = [out / "results" / file for file in board["results"].values()]
    return [read_result(path) | {"model_name": board["model_name"]} for path in files if path.exists()]


def encoded(tree: dict[str, Any]) -> bytes:
    """Return the bytes of a file that `read_result` reads; secrets in it are masked."""
    tree = _plain(tree)
    return json.dumps(tree | {DIGEST: settings_hash(tree)}, ensure_ascii=False, indent=1).encode()


def read_result(path: Path) -> dict[str, Any]:
    """Return what a file holds, without its digest; HunminError where it is damaged or was edited."""
    try:
        tree = dict(json.loads(path.read_bytes()))
        digest = tree.pop(DIGEST)
    except (OSError, ValueError, KeyError, TypeError):
        raise _unfit(path, "is damaged") from None
    if digest != settings_hash(tree):
        raise _unfit(path, "is damaged or was edited")
    return tree


def _plain(tree: dict[str, Any]) -> Any:
    return json.loads(masked_urls(json.dumps(tree, ensure_ascii=False)))


def _unfit(path: Path, why: str) -> HunminError:
    return HunminError(
        f"{path} {why}", "a finished result is never made over",
        "restore the file from a copy, or move it away: scoring with the same settings then makes it again",
    )  # fmt: skip
