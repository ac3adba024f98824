"""The run engine on stages that only write files: what is skipped, what is redone and why, what survives a kill."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from pathlib import Path

import pytest

from common.current import begin_work, make_current
from common.manifest import WORK_MARK, read_manifest
from common.rules import RULES
from common.stage_folders import folder_of
from data.readers.volume import FileVersion
from hunmin.main import run_command
from hunmin.pipeline import run as engine
from hunmin.pipeline import state
from hunmin.pipeline.inputs import Input
from hunmin.recipes import preflight
from hunmin.recipes.preflight import parent_of
from hunmin.recipes.recipe import Recipe
from hunmin.verify import verify_run
from pretrain.training_stage import Interrupted
from tests.hunmin.house import House

ALL = ["a", "b", "c"]


def test_what_is_redone_and_why(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """A changed setting or input redoes its stage and those after it, a lost output its stage alone."""
    assert house.go() == ALL
    assert house.go() == []
    assert read_manifest(house.run / "a").counts == {"n": 1}  # type: ignore[union-attr]
    (house.folder / "input.txt").write_text("input")  # the same content
    assert house.go() == []
    (house.run / "c" / "result").unlink()
    assert house.go() == ["c"]
    capsys.readouterr()
    assert house.go(lr=2e-4) == ["b", "c"] and "setting changed: lr: 0.0001 → 0.0002" in capsys.readouterr().err
    verdicts = engine.judge_all(house.recipe(lr=2e-4, seed=7))
    assert [v.done for v in verdicts] == [False] * 3 and verdicts[0].why == "setting changed: x: 42 → 7"
    assert "reads a" in verdicts[1].why and house.did == ["b", "c"], "asked beforehand, nothing is done"
    assert house.go(lr=2e-4, seed=7) == ALL and "setting changed: x: 42 → 7" in capsys.readouterr().err
    (house.folder / "input.txt").write_text("other")
    assert house.go(lr=2e-4, seed=7) == ["a"] and "input changed" in capsys.readouterr().err, "to the same bytes"


def test_a_changed_file_behind_a_url_redoes(house: House) -> None:
    far = f"file://{house.folder}/far.txt"
    house.change("a", inputs=lambda recipe: [Input(far, far)])
    for text, done in (("one", ALL), ("another", ["a"])):
        (house.folder / "far.txt").write_text(text)
        assert house.go() == done
        assert house.go() == []


def test_an_input_whose_store_cannot_be_asked_is_no_reason(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.change("a", inputs=lambda recipe: [Input("text", "hf:someone/text")])
    version: list[str] | None
    for version, done in ((["1"], ALL), (None, []), (["2"], ["a"])):
        monkeypatch.setattr(state, "file_version", lambda name, version=version: FileVersion(version, True))
        assert house.go() == done


def test_what_older_rules_have_finished_stays_and_is_told(
    house: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(RULES, "a", {1: "first rules"})
    house.go()
    assert read_manifest(house.run / "a").rules == 1  # type: ignore[union-attr]
    monkeypatch.setitem(RULES, "a", {1: "first rules", 2: "digits after commas"})
    assert house.go() == []
    message = " ".join(capsys.readouterr().err.split())
    assert "a done by rules 1, changed since: 2: digits after commas; --from a makes it again" in message
    assert house.go(first="a") == ["a"], "the same bytes: what reads them stays"
    assert read_manifest(house.run / "a").rules == 2  # type: ignore[union-attr]
    house.stop("a", first="a")
    monkeypatch.setitem(RULES, "a", {1: "first rules", 2: "digits after commas", 3: "spaces"})
    assert house.go(first="a") == ["a"], "pieces of other rules are not taken up"


def test_an_interrupted_stage_goes_on_from_its_pieces_to_the_same_manifests(house: House) -> None:
    house.go()
    straight = house.manifests()
    shutil.rmtree(house.run)
    assert house.stop("b").exists() and not (house.run / "b").exists()
    assert house.go() == ["b+", "c"]
    assert house.manifests() == straight


def test_an_interrupted_stage_begins_anew_where_that_is_asked_for(house: House) -> None:
    house.stop("b")
    assert house.go(restart="b") == ["b", "c"]  # without the piece ("b+")
    house.stop("b", lr=3e-4, first="b")
    assert (house.stop("b", lr=3e-4, restart="b") / WORK_MARK).exists()  # else the work would be nobody's
    assert house.go(lr=3e-4) == ["b+", "c"]


def test_elements_of_an_array_share_the_folder_and_keep_others_out(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They do pieces in a folder of their own; a command that comes after them makes the output."""

    def work(recipe: Recipe, run: Path, out: Path) -> dict[str, int]:
        pieces = run / "made" / "units-0"
        pieces.mkdir(parents=True, exist_ok=True)
        (pieces / "part").touch()
        house.did.append("unit" if recipe.corpus.executor == "slurm-array" else "a")
        return {}

    monkeypatch.setattr(preflight, "SHARED_STAGE", "a")
    house.change("a", work=work)
    array = {"inputs": ["x"], "executor": "slurm-array"}
    house.refused("the elements of an array do the stage 'a' alone", corpus=array)
    house.refused("the elements of an array do the stage 'a' alone", corpus=array, last="a", restart="a")
    house.run.mkdir(exist_ok=True)
    with (house.run / ".lock").open("a+") as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        house.refused("another command is at work", last="a")
        assert house.go(corpus=array, last="a") == ["unit"]
        assert [path.name for path in (house.run / "made").iterdir()] == ["units-0"]
        (house.folder / "input.txt").write_text("inputs may grow meanwhile")
        assert house.go(corpus=array, last="a") == ["unit"]
        fcntl.flock(other, fcntl.LOCK_EX)
        house.did.clear()
        house.refused("another command is at work", corpus=array, last="a")
    assert house.go(last="a") == ["a"]
    assert house.go(corpus=array, last="a") == [], "an element that comes late has nothing to do"
    monkeypatch.setattr("hunmin.pipeline.redo.LONG_SECONDS", -1.0)
    assert house.go(corpus=array, last="a", seed=7) == ["unit"], "however long the corpus took that is there"
    house.did.clear()
    house.refused("x: 42 → 7", last="a", seed=7)
    assert house.go(last="a", seed=7, restart="a") == ["a"]


def test_a_file_system_without_links_is_told_once_and_all_else_works(
    house: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    house.stop("b")
    assert " ".join(capsys.readouterr().err.split()).count("Operation not supported") == 1
    assert house.go() == ["b+", "c"] and house.go() == []
    assert {path.name for path in house.run.iterdir()} == {".lock", "current.json", "logs", "made", "recipe.yaml"}
    assert folder_of(house.run, "b").joinpath("result").read_text() == "b 0.0001"
    assert not [row for row in verify_run(house.run) if row["damaged"]]


def test_a_copy_in_which_links_became_folders_continues(house: House) -> None:
    house.go(last="a")
    house.stop("b")
    copy = shutil.copytree(house.run, house.folder / "copy")
    house.run = Path(copy)
    assert house.go() == ["b+", "c"] and house.go() == []


def test_of_two_attempts_the_one_at_work_continues(house: House) -> None:
    """Also where the clock was set back between them."""
    first = house.stop("b").resolve()
    second = house.stop("b", restart="b").resolve()
    os.utime(first / WORK_MARK, (2e9, 2e9))
    assert house.go() == ["b+", "c"] and (house.run / "b").resolve() == second != first


def test_from_and_until(house: House) -> None:
    house.refused("stage 'a' is not done", first="c")
    assert house.go(last="b") == ["a", "b"]
    assert house.go(first="a", last="a") == ["a"]
    assert house.go() == ["c"]
    house.did.clear()
    house.refused("comes after", first="c", last="a")
    house.refused("unknown stage 'bb' (did you mean 'b'?)", first="bb")


def test_the_resolved_recipe_is_saved_without_secrets(house: House) -> None:
    house.go(corpus={"inputs": ["x"], "pii": {"key": "sixteen-letters-or-more"}}, last="a")
    text = (house.run / "recipe.yaml").read_text()
    assert "learning_rate: 0.0001" in text and "sixteen" not in text


def test_a_training_that_was_stopped_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise Interrupted

    monkeypatch.setattr("hunmin.pipeline.run_and_publish.run", stop)
    assert run_command(["run", "quickstart", f"out={tmp_path}"]) == 130
    assert capsys.readouterr().err == "stopped: the state is saved; the same command continues from there\n"


@pytest.mark.parametrize("link", ["pretrain.partial", "pretrain"])
def test_a_parent_is_found_when_the_runs_links_follow_the_branch(
    link: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A branch in the same run folder has the same step under the same link, which is another checkpoint."""
    run, step = tmp_path / "run", Path("checkpoints") / "step-00000020"
    parent, branch = (run / "made" / name for name in ("pretrain-0123456789", "pretrain-abcdef0123"))
    for folder in (parent, branch):
        (folder / step).mkdir(parents=True)
        (folder / "logs").mkdir()
    checkpoint = run / link / step
    begin_work(run, "pretrain", parent)
    if link == "pretrain":
        (parent / "manifest.json").touch()
        make_current(run, "pretrain", parent)
    assert parent_of(str(checkpoint), run) == str((parent / step).resolve())
    assert parent_of(None, run) is None
    (branch / "logs" / "job.json").write_text(json.dumps({"parent": str(parent / step)}))
    begin_work(run, "pretrain", branch)
    for folder, name in ((run, checkpoint), (Path("run"), checkpoint), (Path("run"), Path("run") / link / step)):
        monkeypatch.chdir(tmp_path)  # as `out` is given, and the checkpoint, as a message names it
        assert Path(parent_of(str(name), folder) or "").resolve() == parent / step
    elsewhere = str(tmp_path / "elsewhere" / step)
    assert parent_of(elsewhere, run) == elsewhere
