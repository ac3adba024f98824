"""Thirty kills at random moments while outputs are written over earlier ones: the old or the new, never neither."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from common.manifest import MANIFEST
from hunmin.main import run_command

pytestmark = pytest.mark.drill
KILLS = 10
"""Of each case."""
Case = tuple[list[str], Path, Callable[[], object]]
"""A command, what it writes, and what writes the earlier output there."""


def killed(command: list[str], seconds: float) -> bool:
    """Run a command in a child that is killed after a time; return whether it had not ended."""
    child = os.fork()
    if child == 0:
        try:
            run_command(command)
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def contents(path: Path) -> object:
    """Return the bytes of a file, or of all files in a folder."""
    if path.is_file():
        return path.read_bytes()
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def older(folder: Path) -> None:
    """Make a sample one of an earlier version: what is in it was not changed since."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    (folder / MANIFEST).write_text(json.dumps(manifest | {"versions": {"hunmin": "0"}}))


def split(folder: Path) -> Case:
    text = "첫째 문장입니다. 둘째 문장입니다. 셋째 문장도 있습니다."
    for name, count in (("few", 3_000), ("many", 6_000)):
        (folder / name).write_text(f"{json.dumps({'text': text}, ensure_ascii=False)}\n" * count, encoding="utf-8")
    out = folder / "o.jsonl"
    begin = ["corpus", "split", "--out", str(out), "--overwrite", "--in"]
    return [*begin, str(folder / "many")], out, lambda: run_command([*begin, str(folder / "few")])


def plot(folder: Path) -> Case:
    for name, models in (("few.csv", 3), ("many.csv", 6)):
        rows = "".join(f"m{n},t{task},{n * task % 7}\n" for n in range(models) for task in range(models))
        (folder / name).write_text(f"model,task,score\n{rows}", encoding="utf-8")
    begin = ["leaderboard", "correlate", "--overwrite", "--plot", str(folder / "p.png")]
    return [*begin, str(folder / "many.csv")], folder / "p.png", lambda: run_command([*begin, str(folder / "few.csv")])


def sample(folder: Path) -> Case:
    command = ["sample", "--out", str(folder / "s")]

    def before() -> None:
        assert run_command(command) == 0
        older(folder / "s")

    return command, folder / "s", before


@pytest.mark.parametrize("case", [split, plot, sample], ids=lambda case: case.__name__)
def test_kills_at_random_moments(case: Callable[[Path], Case], tmp_path: Path) -> None:
    draw = random.Random(case.__name__)
    command, out, before = case(tmp_path)
    assert before() in (None, 0) and run_command(command) == 0  # also loads what the first command loads
    new, old = contents(out), None
    before()
    old, began = contents(out), time.monotonic()
    assert old != new and run_command(command) == 0
    took, kills = time.monotonic() - began, 0
    for _ in range(100):
        before()
        assert contents(out) == old
        kills += killed(command, draw.uniform(0, took))
        assert contents(out) in (old, new), f"neither after kill {kills}"
        if kills == KILLS:
            break
    assert kills == KILLS and run_command(command) == 0 and contents(out) == new
    assert all(path.name.endswith(".tmp") for path in tmp_path.iterdir() if path.name.startswith("."))
