"""The run engine on stages that only write files: what is skipped, what is redone and why, what survives a kill."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path

import pytest

from common.manifest import WORK_MARK, read_manifest
from common.rules import RULES
from data.readers.volume import FileVersion
from hunmin import preflight, state
from hunmin import run as engine
from hunmin.inputs import Input
from hunmin.main import run_command
from hunmin.preflight import parent_of
from hunmin.stages import Interrupted
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
    told = " ".join(capsys.readouterr().err.split())
    assert "a done by rules 1, changed since: 2: digits after commas; --from a makes it again" in told
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


def test_a_stage_that_knows_its_pieces_keeps_them_for_other_inputs(house: House) -> None:
    reopened: list[Path] = []
    house.change("a", reopen=reopened.append)
    house.stop("a")
    (house.folder / "input.txt").write_text("other")
    assert house.go(last="a") == ["a+"]
    assert [path.name for path in reopened] == ["a.partial"]


def test_elements_of_an_array_share_the_folder_and_keep_others_out(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "SHARED_STAGE", "a")
    array = {"inputs": ["x"], "executor": "slurm-array"}
    house.refused("the elements of an array do the stage 'a' alone", corpus=array)
    house.run.mkdir(exist_ok=True)
    with (house.run / ".lock").open("a+") as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        house.refused("another command is at work", last="a")
        assert house.go(corpus=array, last="a") == ["a"]
        fcntl.flock(other, fcntl.LOCK_EX)
        house.did.clear()
        house.refused("another command is at work", corpus=array, last="a")
    assert house.go(corpus=array, last="a") == []
    assert house.go(last="a") == []  # the manifest is the one any other executor leaves


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

    monkeypatch.setattr(engine, "run", stop)
    assert run_command(["run", "quickstart", f"out={tmp_path}"]) == 130
    assert capsys.readouterr().err == "stopped: the state is saved; the same command continues from there\n"


def test_a_parent_is_found_where_its_training_was_moved_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A branch in the same run folder has its parent's training moved aside before it begins."""
    run = tmp_path / "run"
    given = run / "pretrain.partial" / "checkpoints" / "step-00000020"
    for number in (1, 2, 10):
        (run / f"pretrain.before-{number}" / "checkpoints").mkdir(parents=True)
    for number in (2, 10):
        (run / f"pretrain.before-{number}" / "checkpoints" / "step-00000020").mkdir()
    assert parent_of(str(given), run) == str(run / "pretrain.before-10" / "checkpoints" / "step-00000020")
    given.mkdir(parents=True)
    assert parent_of(str(given), run) == str(given)
    assert parent_of(None, run) is None
    monkeypatch.chdir(tmp_path)  # `out` is given from here, the checkpoint by its whole path, as a message names it
    given.rmdir()
    assert parent_of(str(given), Path("run")) == str(Path("run/pretrain.before-10/checkpoints/step-00000020"))
    assert parent_of(str(tmp_path / "elsewhere"), run) == str(tmp_path / "elsewhere")


def test_a_free_setting_may_change_without_work(house: House) -> None:
    """The run's name is in the export's recipe; scores of hours do not depend on it."""
    house.change("b", settings=lambda recipe: {"name": recipe.name, "seed": recipe.seed}, free=("name",))
    assert house.go() == ["a", "b", "c"]
    assert house.go(name="a better title") == []
    assert house.go(seed=7) == ["a", "b", "c"]
