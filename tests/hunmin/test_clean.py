"""`hunmin clean`: what nothing needs goes when asked; what counts, and what is a user's, stays."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import DiskFullError, UserError
from common.lock import locked
from hunmin.clean import clean, told_what_nothing_needs, unneeded
from hunmin.main import run_command
from hunmin.verify import verify_run
from tests.hunmin.house import House
from tests.kills import killed_at


def folders(house: House) -> set[str]:
    return {path.name for path in (house.run / "made").iterdir()}


def test_what_earlier_settings_made_is_listed_and_goes_when_asked(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    house.go()
    first = (house.run / "b").resolve()
    assert unneeded(house.run) == []
    house.go(lr=5e-4)
    names = {first.name, next(path.name for path in (house.run / "made").glob("c-*") if path != current(house, "c"))}
    rows = {row["folder"]: row for row in unneeded(house.run)}
    assert rows.keys() == names
    row = rows[first.name]
    assert row["bytes"] == sum(path.stat().st_size for path in first.iterdir()) and row["age"] < 3600
    assert (row["state"], row["steps"]) == ("whole", None)
    capsys.readouterr()
    assert run_command(["clean", str(house.run)]) == 0
    assert f"hunmin clean {house.run} --remove" in " ".join(capsys.readouterr().out.split()) and first.exists()
    assert run_command(["clean", str(house.run), "--remove", "--json"]) == 0
    assert {row["folder"] for row in json.loads(capsys.readouterr().out)} == names
    assert not folders(house) & names and house.go(lr=5e-4) == []
    assert run_command(["clean", str(house.run)]) == 0 and "nothing to remove" in capsys.readouterr().out
    assert house.go() == ["b", "c"], "it is made again"


def current(house: House, stage: str) -> Path:
    return (house.run / stage).resolve()


@pytest.mark.parametrize("content", [None, "", "5", '{"current": {"b', '{"current": 5}', "[" * 100_000])
def test_nothing_goes_where_what_counts_is_not_known(
    content: str | None, house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    house.go()
    file, there = house.run / "current.json", folders(house)
    file.unlink() if content is None else file.write_text(content)
    assert run_command(["clean", str(house.run), "--remove"]) in (1, 2) and folders(house) == there
    assert "current.json" in capsys.readouterr().err
    file.unlink(missing_ok=True)
    assert house.go() == [] and unneeded(house.run) == []


def test_what_is_at_work_and_what_it_reads_stays(house: House) -> None:
    house.go()
    read = {(house.run / stage).resolve().name for stage in "abc"}
    stopped = house.stop("b", seed=7).resolve()
    later = house.stop("b", seed=7, restart="b").resolve()
    assert {row["folder"] for row in unneeded(house.run)} == {stopped.name}, "one attempt was given up"
    clean(house.run)
    assert read | {later.name} <= folders(house)
    assert house.go(seed=7) == ["b+", "c"]


@pytest.mark.parametrize("name", ["notes.md", ".notes", ".git/config", "logs/notes.txt", "checkpoints/mine"])
@pytest.mark.parametrize("state", ["whole", "unfinished"])
def test_a_users_file_stays(name: str, state: str, house: House) -> None:
    if state == "whole":
        house.go(last="b")
    else:
        house.stop("b")
    folder = house.run / "made" / next(entry for entry in folders(house) if entry.startswith("b-"))
    mine = folder / name
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("only copy")
    (elsewhere := house.folder / "elsewhere").mkdir()
    (elsewhere / "result").write_text("of the user")
    (folder / "link").symlink_to(elsewhere)
    house.go(lr=5e-4)
    house.stop("b", lr=7e-4)  # of unfinished work the newest stays
    assert [row["folder"] for row in clean(house.run) if row["folder"] == folder.name]
    assert mine.read_text() == "only copy" and (elsewhere / "result").exists()
    assert not (folder / "result").exists()
    assert folder.name not in {row["folder"] for row in unneeded(house.run)}, "nothing of the stage is left there"
    assert not [row for row in verify_run(house.run) if row["damaged"]]


def test_a_folder_of_unknown_content_is_told_by_verify_and_never_removed(house: House) -> None:
    house.go()
    damaged = house.run / "made" / "b-0123456789"
    damaged.mkdir()
    (damaged / "weights").write_text("hours of work")
    assert unneeded(house.run) == []
    assert [row["what"] for row in verify_run(house.run) if row["damaged"]] == ["made/b-0123456789"]


def test_a_folder_that_counts_and_is_gone_is_told(house: House) -> None:
    house.go()
    shutil.rmtree((house.run / "b").resolve())
    assert [(row["what"], row["damaged"]) for row in verify_run(house.run) if row["damaged"]] == [
        ("b", ["manifest.json"])
    ]
    assert house.go() == ["b"] and not [row for row in verify_run(house.run) if row["damaged"]]


def test_the_parent_of_a_branch_stays(house: House) -> None:
    house.change("b", name="pretrain", settings=lambda recipe: {"from": recipe.pretrain.branch_from})
    house.change("c", after=("a", "pretrain"))
    house.go()
    first = (house.run / "pretrain").resolve()
    (checkpoint := first / "checkpoints" / "step-00000010").mkdir(parents=True)
    branch = {"branch_from": str(house.run / "pretrain" / "checkpoints" / checkpoint.name)}
    # it would read the checkpoint
    house.patch.setattr("hunmin.pipeline.run.refuse_training", lambda recipe, here: None)
    house.go(pretrain=branch)
    assert (house.run / "pretrain").resolve() != first
    assert first.name not in {row["folder"] for row in unneeded(house.run)}


def test_pieces_go_when_the_corpus_is_newer(house: House) -> None:
    house.change("a", name="corpus")
    house.change("b", after=("corpus",))
    house.change("c", after=("corpus", "b"))
    pieces, jobs = house.run / "made" / "units-0123456789", house.run / "made" / "jobs"
    for folder in (pieces, jobs):
        folder.mkdir(parents=True)
        (folder / "part").write_text("a part")
    house.go()
    os.utime(pieces, (2e9, 2e9))
    assert unneeded(house.run) == [], "an array is at work"
    os.utime(pieces, (1e9, 1e9))
    assert [(row["folder"], row["state"]) for row in unneeded(house.run)] == [(pieces.name, "parts")]
    house.stop("a", seed=7)  # the work of the stage that is called corpus here
    assert pieces.name not in {row["folder"] for row in unneeded(house.run)}, "they may be the unfinished corpus's"


def test_nothing_goes_while_a_command_is_at_work(house: House) -> None:
    house.go()
    with locked(house.run), pytest.raises(UserError, match="another command is at work"):
        clean(house.run)
    with pytest.raises(UserError, match="holds no folder made"):
        unneeded(house.folder)


@pytest.mark.drill
def test_a_kill_leaves_nothing_that_passes_for_whole(house: House, tmp_path: Path) -> None:
    house.go()
    mine = house.run / "made" / current(house, "b").name / "notes.md"
    mine.write_text("only copy")
    house.go(lr=5e-4)
    house.run.rename(tmp_path / "start")
    for number in range(100):
        shutil.rmtree(house.run, ignore_errors=True)
        shutil.copytree(tmp_path / "start", house.run, symlinks=True)
        if not killed_at(lambda: clean(house.run), house.folder, number):
            break
        assert not [row for row in verify_run(house.run) if row["damaged"]], f"after a kill before call {number}"
        clean(house.run)
        assert unneeded(house.run) == [] and mine.read_text() == "only copy"
        assert house.go(lr=5e-4) == []
        assert house.go() == ["b", "c"]
    assert number > 5


def events() -> Iterator[dict[str, Any]]:
    for change in ({}, {"lr": 5e-4}, {"seed": 7}):
        for how in ({}, {"fail": "a"}, {"fail": "b"}, {"fail": "c"}, {"restart": "b"}, {"first": "a"}):
            yield {**change, **how}


@settings(deadline=None, max_examples=15)
@given(history=st.lists(st.sampled_from(list(events())), max_size=6))
def test_after_any_history_all_that_counts_is_whole_and_resumes(
    tmp_path_factory: pytest.TempPathFactory, history: list[dict[str, Any]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        house = House(tmp_path_factory.mktemp("history"), patch)
        last: dict[str, Any] = {}
        for event in [*history, {}]:
            house.fail = event.get("fail", "")
            last = {key: value for key, value in event.items() if key in ("lr", "seed")}
            with suppress(KeyboardInterrupt, UserError):
                house.go(**{key: value for key, value in event.items() if key != "fail"})
        house.fail = ""
        house.go(**last)
        before = {stage: (house.run / stage / "result").read_text() for stage in "abc"}
        clean(house.run)
        assert not [row for row in verify_run(house.run) if row["damaged"]]
        assert house.go(**last) == [] and unneeded(house.run) == []
        assert before == house.results(house.recipe(**last))


def test_a_run_says_what_could_be_removed_also_where_the_disk_is_full(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    house.go()
    with told_what_nothing_needs(house.run):
        pass
    assert "hunmin clean" not in capsys.readouterr().err
    house.go(lr=5e-4)
    with pytest.raises(DiskFullError), told_what_nothing_needs(house.run):
        raise DiskFullError("no space")
    assert f"in 2 folders that nothing needs: hunmin clean {house.run}" in " ".join(capsys.readouterr().err.split())
