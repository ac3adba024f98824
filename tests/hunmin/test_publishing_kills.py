"""A run killed before each system call that changes names: nothing finished is lost, and the next run ends well."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from common.files import sha256_file
from hunmin.stages import manifest_hashes
from tests.hunmin.house import House
from tests.kills import killed_at


def everything(run: Path) -> set[str]:
    """Return the contents of all files named `result`, wherever they are in a run."""
    return {path.read_text() for path in run.rglob("result")}


def unknown(run: Path) -> list[str]:
    """Return the finished stages whose manifest the run's log of times does not know."""
    known = manifest_hashes(run)
    finished = {path.parent.name: sha256_file(path) for path in run.glob("?/manifest.json")}
    return [name for name, digest in finished.items() if digest not in known.get(name, ())]


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
    wanted = house.results(house.recipe(**CASES[case]))
    trained = {path.read_text() for path in run.glob("b/result")}
    run.rename(start)
    for number in range(1000):
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(start, run)
        if not killed_at(lambda: house.go(**CASES[case]), house.folder, number):
            break
        assert trained <= everything(run), f"the earlier training is gone after a kill before call {number}"
        assert not unknown(run), f"`verify` would take them for edited after a kill before call {number}"
        house.go(**CASES[case])  # the same command again
        assert {n: (run / n / "result").read_text() for n in "abc"} == wanted, f"after a kill before call {number}"
        assert trained <= everything(run)
        assert not [*run.glob(".*.old*"), *run.glob("*.partial")], f"left behind by a kill before call {number}"
    assert number > 20, "a run makes many such calls, and was killed before each"


def test_a_training_that_is_whole_but_for_its_name_gets_its_name(house: House) -> None:
    """What a kill between the last file and the name leaves, with and without the mark, also by earlier versions."""
    run = house.folder / "run"
    for mark in (True, False):
        house.go()
        inode = (run / "b" / "result").stat().st_ino
        (run / "b").rename(run / "b.partial")
        if mark:
            manifest = json.loads((run / "b.partial" / "manifest.json").read_bytes())
            kept = {name: manifest[name] for name in ("settings", "inputs", "rules")}
            (run / "b.partial" / ".work.json").write_text(json.dumps(kept))
        assert house.go() == [], "nothing is trained again"
        assert (run / "b" / "result").stat().st_ino == inode
        assert not list(run.glob("b.before-*"))
