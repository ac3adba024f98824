"""A run killed before each system call that changes names: nothing finished is lost, and the next run ends well."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from common.files import sha256_file
from tests.hunmin.house import House
from tests.kills import killed_at


def everything(run: Path) -> set[str]:
    """Return the contents of all files named `result`, wherever they are in a run."""
    return {path.read_text() for path in run.rglob("result")}


def unknown(run: Path) -> list[str]:
    """Return the stages that count whose manifest is not the one that the run noted."""
    current = json.loads((run / "current.json").read_bytes()) if (run / "current.json").exists() else {"current": {}}
    folders = current["current"].values()
    return [
        name for name in folders
        if sha256_file(run / "made" / name / "manifest.json") != current["manifests"].get(name)
    ]  # fmt: skip


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill takes nothing from the system's cache: what is on the disk plays no part here."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


CASES: dict[str, dict[str, Any]] = {"first run": {}, "other settings": {"lr": 5e-4}, "an earlier stage": {"seed": 7}}


@pytest.mark.drill
@pytest.mark.parametrize("case", CASES)
def test_no_kill_loses_what_was_finished(house: House, case: str, tmp_path: Path) -> None:
    run, start = house.folder / "run", tmp_path / "start"
    run.mkdir()
    if case != "first run":
        house.go()
    expected = house.results(house.recipe(**CASES[case]))
    made = {path.read_text() for path in run.glob("?/result")}
    run.rename(start)
    for number in range(1000):
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(start, run, symlinks=True)
        if not killed_at(lambda: house.go(**CASES[case]), house.folder, number):
            break
        assert made <= everything(run), f"an earlier output is gone after a kill before call {number}"
        assert not unknown(run), f"`verify` would take them for edited after a kill before call {number}"
        finished = {path.parent.resolve() for path in run.glob("made/*/manifest.json")}
        house.go(**CASES[case])  # the same command again
        assert {n: (run / n / "result").read_text() for n in "abc"} == expected, f"after a kill before call {number}"
        assert made <= everything(run) and not unknown(run)
        again = {path.name.partition("-")[0] for path in finished} & {name[0] for name in house.did}
        assert case != "first run" or not again, f"{again}: whole, and made again after a kill before call {number}"
        assert not list(run.glob("*.partial")), f"left behind by a kill before call {number}"
    assert number > 20, "a run makes many such calls, and was killed before each"


def test_a_stage_that_is_whole_but_does_not_count_yet_is_not_done_again(house: House) -> None:
    """What a kill after the manifest leaves, with and without the mark, and without what the run noted."""
    run = house.folder / "run"
    house.go()
    for gone in ((), ("current.json",), ("current.json", "b")):
        whole = (run / "b").resolve()
        (whole / ".work.json").write_text((whole / "manifest.json").read_text())
        for name in gone:
            (run / name).unlink()
        assert house.go() == [], "nothing is trained again"
        assert (run / "b").resolve() == whole and not (whole / ".work.json").exists()
