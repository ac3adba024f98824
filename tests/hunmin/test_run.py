"""The run engine on stages that only write files: what is skipped, what is redone and why, what survives a kill."""

from __future__ import annotations

import dataclasses
import fcntl
from pathlib import Path

import pytest

from common.errors import UserError
from common.manifest import read_manifest
from data.readers.volume import FileVersion
from hunmin import preflight, stages, state
from hunmin import run as engine
from tests.hunmin.house import House


def test_done_stages_are_skipped(house: House) -> None:
    assert house.go() == ["a", "b", "c"]
    assert house.go() == []
    assert read_manifest(house.folder / "run" / "a").counts == {"n": 1}  # type: ignore[union-attr]


def test_a_changed_setting_redoes_its_stage_and_those_after_it_and_says_which(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    house.go()
    assert house.go(lr=2e-4) == ["b", "c"]
    assert "setting changed: lr: 0.0001 → 0.0002" in capsys.readouterr().err
    assert house.go(lr=2e-4, seed=7) == ["a", "b", "c"]
    assert "setting changed: x: 42 → 7" in capsys.readouterr().err


def test_a_dry_run_tells_the_same_and_does_nothing(house: House) -> None:
    house.go()
    verdicts = engine.judge_all(house.recipe(seed=7))
    assert [(v.stage.name, v.done) for v in verdicts] == [("a", False), ("b", False), ("c", False)]
    assert verdicts[0].why == "setting changed: x: 42 → 7" and "reads a" in verdicts[1].why
    assert house.did == ["a", "b", "c"]
    assert all(v.done for v in engine.judge_all(house.recipe()))


def test_a_changed_input_file_redoes(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.go()
    (house.folder / "input.txt").write_text("other")
    assert house.go() == ["a", "b", "c"]
    assert "input changed" in capsys.readouterr().err


def test_a_changed_file_behind_a_url_redoes(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"file://{house.folder}/far.txt"
    (house.folder / "far.txt").write_text("one")
    first = dataclasses.replace(stages.STAGES[0], files=lambda recipe: [url])
    monkeypatch.setattr(stages, "STAGES", (first, *stages.STAGES[1:]))
    assert house.go() == ["a", "b", "c"]
    assert house.go() == []
    (house.folder / "far.txt").write_text("another")
    assert house.go() == ["a", "b", "c"]


def test_an_input_whose_store_cannot_be_asked_is_no_reason(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    versions: list[list[str] | None] = [["1"]]
    first = dataclasses.replace(stages.STAGES[0], files=lambda recipe: ["hf:someone/text"])
    monkeypatch.setattr(stages, "STAGES", (first, *stages.STAGES[1:]))
    monkeypatch.setattr(state, "file_version", lambda name: FileVersion(versions[0], True))
    assert house.go() == ["a", "b", "c"]
    versions[0] = None
    assert house.go() == []
    versions[0] = ["2"]
    assert house.go() == ["a", "b", "c"]


def test_a_touched_input_with_the_same_content_does_not(house: House) -> None:
    house.go()
    (house.folder / "input.txt").write_text("input")
    assert house.go() == []


def test_what_other_rules_have_made_is_made_again_unless_it_is_to_stay(
    house: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    house.go()
    keeps = lambda recipe: recipe.corpus.keep_finished  # noqa: E731
    first = dataclasses.replace(stages.STAGES[0], rules=lambda: {"data/cleaning": "1"}, keeps=keeps)
    monkeypatch.setattr(stages, "STAGES", (first, *stages.STAGES[1:]))
    corpus = {"inputs": ["x"], "keep_finished": True}
    assert house.go(corpus=corpus) == []
    house.fail = "a"
    with pytest.raises(KeyboardInterrupt):
        house.go()
    assert "made by other rules: data/cleaning" in capsys.readouterr().err
    house.fail = ""
    assert house.go() == ["a+"]  # the same bytes: what reads them stays
    assert house.go() == []
    assert read_manifest(house.folder / "run" / "a").rules == {"data/cleaning": "1"}  # type: ignore[union-attr]


def test_pieces_of_other_rules_are_not_taken_up(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.fail = "a"
    with pytest.raises(KeyboardInterrupt):
        house.go()
    house.fail = ""
    first = dataclasses.replace(stages.STAGES[0], rules=lambda: {"data/cleaning": "2"})
    monkeypatch.setattr(stages, "STAGES", (first, *stages.STAGES[1:]))
    assert house.go(last="a") == ["a"]


def test_a_lost_output_redoes(house: House) -> None:
    house.go()
    (house.folder / "run" / "b" / "result").unlink()
    assert house.go() == ["b"]  # the same output again: what reads it need not be redone


def test_an_interrupted_stage_goes_on_from_its_pieces_to_the_same_manifests(house: House) -> None:
    house.go()
    straight = house.manifests()
    import shutil

    shutil.rmtree(house.folder / "run")
    house.fail = "b"
    with pytest.raises(KeyboardInterrupt):
        house.go()
    assert not (house.folder / "run" / "b").exists()
    house.fail = ""
    assert house.go() == ["b+", "c"]
    assert house.manifests() == straight


def test_pieces_of_other_settings_are_not_taken_up_and_training_is_moved_aside(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    house.fail = "b"
    with pytest.raises(KeyboardInterrupt):
        house.go()
    house.fail = ""
    assert house.go(lr=3e-4) == ["b", "c"]
    assert (house.folder / "run" / "b.before-1" / "piece").exists()
    house.go(lr=4e-4)
    assert (house.folder / "run" / "b.before-2" / "result").exists()
    assert "lr: 0.0003 → 0.0004" in (said := capsys.readouterr().err) and "the earlier b is now b.before-2" in said


def test_a_stage_that_knows_its_pieces_keeps_them_for_other_inputs(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    reopened: list[Path] = []
    table = (dataclasses.replace(stages.STAGES[0], reopen=reopened.append), *stages.STAGES[1:])
    monkeypatch.setattr(stages, "STAGES", table)
    house.fail = "a"
    with pytest.raises(KeyboardInterrupt):
        house.go()
    house.fail = ""
    (house.folder / "input.txt").write_text("other")
    assert house.go(last="a") == ["a+"]
    assert [path.name for path in reopened] == ["a.partial"]


def test_elements_of_an_array_share_the_folder_and_keep_others_out(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "SHARED_STAGE", "a")
    array = {"inputs": ["x"], "executor": "slurm-array"}
    with (
        pytest.raises(UserError, match="the elements of an array do the stage 'a' alone"),
    ):
        house.go(corpus=array)
    (house.folder / "run").mkdir(exist_ok=True)
    with (house.folder / "run" / ".lock").open("a+") as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        with pytest.raises(UserError, match="another command is at work"):
            house.go(last="a")
        assert house.go(corpus=array, last="a") == ["a"]
    assert house.go(corpus=array, last="a") == []
    assert house.go(last="a") == []  # the manifest is the one any other executor leaves


def test_from_and_until(house: House) -> None:
    assert house.go(last="b") == ["a", "b"]
    assert house.go(first="a", last="a") == ["a"]
    assert house.go() == ["c"]
    with pytest.raises(UserError, match="comes after"):
        house.go(first="c", last="a")
    with pytest.raises(UserError, match=r"unknown stage 'bb' \(did you mean 'b'\?\)"):
        house.go(first="bb")


def test_from_refuses_to_do_what_stands_before(house: House) -> None:
    with pytest.raises(UserError, match="stage 'a' is not done"):
        house.go(first="c")


def test_two_commands_do_not_work_in_one_folder(house: House) -> None:
    house.go()
    with (house.folder / "run" / ".lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="another command is at work"):
            house.go()


def test_the_resolved_recipe_is_saved_without_secrets(house: House) -> None:
    engine.run(house.recipe(corpus={"inputs": ["x"], "pii": {"key": "sixteen-letters-or-more"}}), last="a")
    text = (house.folder / "run" / "recipe.yaml").read_text()
    assert "learning_rate: 0.0001" in text and "sixteen" not in text


def test_a_parent_is_found_where_its_training_was_moved_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A branch in the same run folder has its parent's training moved aside before it begins."""
    from hunmin.stages import _parent

    run = tmp_path / "run"
    given = run / "pretrain.partial" / "checkpoints" / "step-00000020"
    for number in (1, 2, 10):
        (run / f"pretrain.before-{number}" / "checkpoints").mkdir(parents=True)
    for number in (2, 10):
        (run / f"pretrain.before-{number}" / "checkpoints" / "step-00000020").mkdir()
    assert _parent(str(given), run) == str(run / "pretrain.before-10" / "checkpoints" / "step-00000020")
    given.mkdir(parents=True)
    assert _parent(str(given), run) == str(given)
    assert _parent(None, run) is None
    monkeypatch.chdir(tmp_path)  # `out` is given from here, the checkpoint by its whole path, as a message names it
    given.rmdir()
    assert _parent(str(given), Path("run")) == str(Path("run/pretrain.before-10/checkpoints/step-00000020"))
    assert _parent(str(tmp_path / "elsewhere"), run) == str(tmp_path / "elsewhere")
