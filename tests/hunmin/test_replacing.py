"""What a run may not replace: files that are not its own, and more than a minute of work that nobody gave up."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from common.rules import RULES
from common.settings import dump_settings
from hunmin import stages
from hunmin.page.page import write_page
from hunmin.recipe import Recipe, save_recipe
from hunmin.replacing import _loss, given_up, set_aside, work_seconds
from hunmin.run import judge_all, refuse_replacing
from hunmin.stages import stage_named
from hunmin.state import RunFolder, Verdict, begun_with, differences
from klue.settings import KlueSettings
from tests.hunmin.house import House


@pytest.fixture(autouse=True)
def _a_minute(_short_work: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunmin.replacing.LONG_SECONDS", 60.0)


def make_long(house: House, stage: str) -> None:
    """Say of a finished stage that it took ten minutes."""
    path = house.run / "logs" / "timing.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**r, "since_begin": 600 if r["stage"] == stage else 1}) + "\n" for r in rows))


def unfinished(house: House, stage: str, seconds: float, **changes: Any) -> Path:
    """Leave a stage unfinished, begun so many seconds before its newest file was written."""
    partial = house.stop(stage, **changes)
    newest = max(path.stat().st_mtime for path in partial.rglob("*"))
    os.utime(partial / ".work.json", (newest - seconds, newest - seconds))
    return partial


def finished(house: House, stage: str) -> House:
    """Finish all stages, one of them in ten minutes."""
    house.go()
    make_long(house, stage)
    return house


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 0x20
    path.write_bytes(bytes(content))


# --- work


def test_a_minute_of_unfinished_work_is_not_replaced_unasked(house: House) -> None:
    partial = unfinished(house, "b", seconds=61)
    before = tree(partial)
    house.refused("b.partial", "lr: 0.0001 → 0.0003", "restore", "--restart b", lr=3e-4)
    with pytest.raises(UserError, match=r"lr: 0\.0001 → 0.0003"):  # a check beforehand refuses it as well
        refuse_replacing(house.recipe(lr=3e-4))
    assert tree(partial) == before and not (house.run / "b").exists()
    assert house.go() == ["b+", "c"], "restored: it continues"


@pytest.mark.parametrize(("seconds", "options"), [(59, {}), (600, {"restart": "b"})])
def test_less_or_what_is_given_up_is_moved_aside(seconds: float, options: dict[str, str], house: House) -> None:
    unfinished(house, "b", seconds)
    assert house.go(lr=3e-4, **options) == ["b", "c"]
    assert (house.run / "b.before-1" / "piece").exists()
    unfinished(house, "a", seconds=600, seed=7, restart="a")
    assert house.go(seed=7, restart="a", last="a") == ["a"], "begins anew though it could continue"


def test_finished_work_is_not_replaced_unasked(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    finished(house, "b")
    for changes, named in (({"lr": 5e-4}, "lr: 0.0001 → 0.0005"), ({"seed": 7}, "x: 42 → 7")):
        house.refused(named, **changes)  # the root of it, also where an earlier stage is what changed
    house.refused("lr: 0.0001 → 0.0005", lr=5e-4, restart="c")  # which gives up another stage
    (house.folder / "input.txt").write_text("other")
    house.refused("input.txt")
    (house.folder / "input.txt").write_text("input")
    assert house.go() == []
    assert house.go(first="b") == ["b"], "--from asks for it"
    assert house.go(lr=5e-4) == ["b", "c"], "it was made in a second this time"
    line = next(line for line in capsys.readouterr().err.splitlines() if "the new one" in line and "0.0005" in line)
    assert line.startswith("b: the new one is finished (lr: 0.0001 → 0.0005); the earlier b is now b.before-2")
    make_long(house, "b")
    assert house.go(lr=3e-4, restart="b") == ["b", "c"]
    house.did.clear()
    (house.run / "logs" / "timing.jsonl").unlink()
    house.refused("lr: 0.0003 → 0.0002", lr=2e-4)  # work of unknown length counts as long


@pytest.mark.parametrize("stage", ["a", "b"])
def test_a_long_stage_that_lost_a_file_is_not_done_again_unasked(stage: str, house: House) -> None:
    """The file may lie elsewhere still, and what is there of the others would go."""
    lost = finished(house, stage).run / stage / "result"
    lost.rename(house.folder / "result")
    house.refused("output missing or cut short: result")
    assert (lost.parent / "piece").exists()
    (house.folder / "result").rename(lost)
    assert house.go() == []


def test_a_quick_stage_made_again_to_the_same_bytes_costs_nothing(house: House) -> None:
    (finished(house, "b").run / "a" / "result").unlink()
    assert house.go() == ["a"]


def test_hours_of_work_begun_by_older_rules_are_not_replaced_unasked(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfinished(house, "a", seconds=600)
    monkeypatch.setitem(RULES, "a", {1: "first rules"})
    house.refused("a was begun by rules 0, changed since: 1: first rules", "--restart a")
    assert house.go(restart="a", last="a") == ["a"]


def test_what_was_given_up_once_is_not_asked_again(house: House) -> None:
    """A second attempt that was stopped continues without --restart, though the first output is still there."""
    unfinished(finished(house, "b"), "b", seconds=600, lr=5e-4, restart="b")
    assert house.go(lr=5e-4) == ["b+", "c"]


def test_the_earlier_training_is_named_by_its_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for step in (400, 4500):
        (tmp_path / "pretrain" / "checkpoints" / f"step-{step:08d}").mkdir(parents=True)
    set_aside(stage_named("pretrain"), tmp_path / "pretrain", tmp_path / "pretrain", "the new one is finished")
    said = " ".join(capsys.readouterr().err.split())
    assert "the earlier pretrain (4,500 steps) is now pretrain.before-1" in said


def test_work_in_a_copied_run_is_as_long_as_it_was(house: House) -> None:
    """A copy's files may all have the time of the copy."""
    partial = unfinished(house, "b", seconds=0)
    mark = json.loads((partial / ".work.json").read_bytes())
    (partial / ".work.json").write_text(json.dumps({**mark, "begun": mark["begun"] - 61}))
    house.refused("lr: 0.0001 → 0.0004", lr=4e-4)


@pytest.mark.parametrize("later", [0, 3000])
def test_work_under_a_clock_that_was_set_back_is_not_replaced_unasked(later: int, house: House) -> None:
    """The clock goes back by an hour as the work begins, or 50 minutes later: what follows has earlier times."""
    partial = unfinished(house, "b", seconds=0)
    begun = json.loads((partial / ".work.json").read_bytes())["begun"]
    for path in (partial / ".work.json", partial):
        os.utime(path, (begun, begun))
    (partial / "first").touch()
    os.utime(partial / "first", (begun + later, begun + later))
    os.utime(partial / "piece", (begun + later - 3600 + 50,) * 2)
    before = tree(partial)
    house.refused("b.partial", "lr: 0.0001 → 0.0003", lr=3e-4)
    assert tree(partial) == before


def test_what_was_taken_over_is_no_work_of_the_attempt(house: House) -> None:
    """A stage that grows begins with the files of its finished output, which are still there."""

    def take_over(final: Path, partial: Path) -> None:
        shutil.copytree(final, partial, ignore=shutil.ignore_patterns("manifest.json"))

    house.go()
    for path in (house.run / "b").glob("*"):
        os.utime(path, (1e9, 1e9))
    house.change("b", includes=lambda recipe, earlier: True, take_over=take_over)
    partial = house.stop("b", lr=3e-4)
    stage = next(stage for stage in stages.STAGES if stage.name == "b")
    seconds = work_seconds(RunFolder(house.run), stage, partial)
    assert (partial / "result").stat().st_mtime == 1e9 and seconds is not None and seconds < 60


# --- files that are not the run's own


@pytest.mark.parametrize("stage", ["a", "b"])
@pytest.mark.parametrize("kind", ["folder", "file", "link", "manifest of another program", "another stage's folder"])
def test_a_folder_of_the_users_own_is_left_alone(house: House, stage: str, kind: str) -> None:
    mine = house.run / stage
    house.go(last="c" if kind == "another stage's folder" else "a")
    shutil.rmtree(mine, ignore_errors=True)
    if kind == "file":
        mine.write_text("only copy")
    elif kind == "link":  # to an empty folder: a folder does not take a link's name
        (house.folder / "elsewhere").mkdir()
        mine.symlink_to(house.folder / "elsewhere")
    elif kind == "another stage's folder":
        shutil.copytree(house.run / "c", mine)
    else:
        mine.mkdir()
        (mine / "notes.txt").write_text("only copy")
        if kind == "manifest of another program":
            (mine / "manifest.json").write_text('{"name": "something else"}')
    before = tree(house.folder)
    house.did.clear()
    house.refused(str(mine))
    assert tree(house.folder) == before, "nothing is written, nothing is gone"


def test_an_empty_folder_may_be_there(house: House) -> None:
    (house.run / "a").mkdir(parents=True)
    assert house.go() == ["a", "b", "c"]


@pytest.mark.parametrize("later", [60, -3600], ids=["later", "clock-set-back"])
def test_what_a_user_adds_or_edits_in_a_finished_folder_is_kept(
    later: int, house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    house.go()
    (house.run / "a" / "notes.txt").write_text("only copy")
    mine = house.run / "c" / "result"  # a model card that was worked on, say
    mine.write_text("C")
    os.utime(mine, (mine.stat().st_mtime + later,) * 2)
    assert house.go(seed=7) == ["a", "b", "c"]
    said = capsys.readouterr().err
    assert (house.run / "a.before-1" / "notes.txt").read_text() == "only copy" and "notes.txt" in said
    assert (house.run / "c.before-1" / "result").read_text() == "C" and "c/result has been edited" in said
    assert not (house.run / "a" / "notes.txt").exists()


@pytest.mark.parametrize("name", [".notes.md", ".git/config", "logs/notes.txt", "logs/other.log", "checkpoints/x"])
def test_hidden_files_and_those_among_logs_are_the_users_too(name: str, house: House) -> None:
    house.go()
    mine = house.run / "a" / name
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("only copy")
    assert house.go(seed=7) == ["a", "b", "c"]
    assert (house.run / "a.before-1" / name).read_text() == "only copy"


@pytest.mark.parametrize("name", [".lock", "logs/result.log", "logs/metrics.jsonl"])
def test_the_log_of_what_a_stage_made_is_its_own(name: str, house: House) -> None:
    house.go()
    log = house.run / "a" / name
    log.parent.mkdir(exist_ok=True)
    log.write_text("its own")
    assert house.go(seed=7) == ["a", "b", "c"] and not list(house.run.glob("a.before-*"))


@pytest.mark.parametrize("content", ["", "not json", "[]", '{"settings": {}}'])
def test_an_unfinished_folder_without_a_mark_is_moved_aside(content: str, house: House) -> None:
    partial = house.run / "b.partial"
    partial.mkdir(parents=True)
    (partial / "step-40").write_text("hours of work")
    (partial / ".work.json").write_text(content) if content else None
    house.go(last="b")
    assert (house.run / "b.before-1" / "step-40").read_text() == "hours of work"


def test_a_recipe_of_the_users_own_in_the_run_folder_is_left_alone(house: House) -> None:
    mine, told = house.run / "recipe.yaml", "recipe.yaml is your own file"
    mine.parent.mkdir()
    for text in ("# why these values\nname: t\n", "name: t\nout: run\n"):
        mine.write_text(text)
        house.refused(told)
        assert mine.read_text() == text
    mine.unlink()
    house.go()
    mine.write_text(mine.read_text().partition("\n")[2])  # as an earlier version wrote it: a dump of every setting
    assert house.go(seed=7) == ["a", "b", "c"] and "seed: 7" in mine.read_text()
    mine.write_text(mine.read_text() + "# the third try\n")
    house.did.clear()
    house.refused(told, seed=8)


def test_a_page_of_the_users_own_is_left_alone(house: House) -> None:
    mine = house.run / "report.html"
    mine.parent.mkdir()
    mine.write_text("<html>my notes</html>")
    house.refused("report.html")
    save_recipe(house.recipe(), house.run / "recipe.yaml")
    house.patch.undo()  # the page is of the real stages
    with pytest.raises(UserError, match=r"report\.html"):
        write_page(house.run)
    assert mine.read_text() == "<html>my notes</html>"


# --- what earlier versions have left


def test_work_of_a_version_with_fewer_settings_continues(house: House) -> None:
    stage = dataclasses.replace(stage_named("a"), section="klue")
    settings = dump_settings(KlueSettings(data="y"))
    before = begun_with(stage, dump_settings(KlueSettings(data="y")), {"input.txt": "1"})
    del before.settings["keep_head"], before.settings["training"]["epochs"]
    assert differences(stage, before, begun_with(stage, settings, {"input.txt": "1"})) == {}
    found = differences(stage, before, begun_with(stage, settings | {"keep_head": True}, {}))
    assert found == {"setting changed": ["klue.keep_head: null → true"], "input changed": ["input.txt (gone)"]}


def test_a_run_does_not_read_what_it_writes(tmp_path: Path) -> None:
    """Its corpus would be another one at every start."""

    def files(inputs: str, out: str) -> list[str]:
        corpus = {"inputs": [inputs], "decontaminate": {"enabled": False}, "pii": {"enabled": False}}
        recipe = Recipe.model_validate({"name": "t", "out": out, "corpus": corpus})
        return [one.path for one in stage_named("corpus").inputs(recipe) if one.path]

    (tmp_path / "texts" / "run" / "corpus").mkdir(parents=True)
    for name in ("texts/a.txt", "texts/run/corpus/b.txt", "texts/run/mine.txt"):
        (tmp_path / name).write_text("글")
    texts, run = str(tmp_path / "texts"), str(tmp_path / "texts" / "run")
    for inputs, out in ((texts, run), (texts, texts), (f"{texts}/**/*.txt", run)):
        with pytest.raises(UserError, match="what a run writes would become its own input"):
            files(inputs, out)
    assert files(f"{texts}/*.txt", run) == [f"{texts}/a.txt"]
    assert files(f"{run}/*.txt", run) == [f"{run}/mine.txt"], "what lies beside it is the user's own"


# --- finished work that is part of the new one


def test_finished_work_that_the_new_settings_include_is_taken_over(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    finished(house, "a").change(
        "a",
        includes=lambda recipe, earlier: recipe.seed > earlier["x"],
        take_over=lambda final, partial: shutil.copytree(final, partial),
    )
    house.refused("x: 42 → 7", "--restart a", seed=7)
    assert house.go(seed=43, last="a") == ["a+"]  # nothing was asked
    assert "setting changed: x: 42 → 43; what is finished is kept" in capsys.readouterr().err
    assert (house.run / "a" / "result").read_text() == "a 43"
    make_long(house, "a")
    assert house.go(seed=44, last="a", restart="a") == ["a"]  # asked for from its beginning
    make_long(house, "a")
    flip(house.run / "a" / "result")
    house.refused("make it again with --from a", seed=45)
    assert house.go(seed=45, last="a", first="a") == ["a"]


def test_work_that_lost_a_file_is_made_again_not_taken_over(house: House) -> None:
    house.go()
    house.change("a", includes=lambda recipe, earlier: True, take_over=lambda final, partial: None)
    (house.run / "a" / "result").unlink()
    assert house.go(last="a") == ["a"] and (house.run / "a" / "result").read_text() == "a 42"


def test_taken_over_work_of_other_inputs_is_none(house: House) -> None:
    finished(house, "a").change("a", includes=lambda recipe, earlier: True)
    (house.folder / "input.txt").write_text("other")
    house.refused("input.txt", "--restart a", seed=43)
    assert (house.run / "a" / "result").read_text() == "a 42"


# --- elements of an array

ARRAY: dict[str, Any] = {"corpus": {"inputs": ["x"], "executor": "slurm-array"}, "last": "a"}


def test_elements_of_an_array_do_not_replace_work_unasked(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunmin.preflight.SHARED_STAGE", "a")
    partial = unfinished(house, "a", seconds=61, **ARRAY)
    house.refused("x: 42 → 7", f"move {partial} away", **ARRAY, seed=7)
    assert house.go(**ARRAY) == ["a+"], "the whole array began, not this element"
    make_long(house, "a")
    house.did.clear()
    house.refused("x: 42 → 7", **ARRAY, seed=7)
    house.refused("do the stage 'a' alone", **ARRAY, restart="a")


def test_what_an_array_began_is_ended_here(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunmin.preflight.SHARED_STAGE", "a")
    unfinished(house, "a", seconds=61, **ARRAY)
    (house.folder / "input.txt").write_text("other")  # known by the parts of the corpus themselves
    reopened: list[Path] = []
    house.change("a", reopen=reopened.append)
    assert house.go(last="a") == ["a+"] and len(reopened) == 1
    assert json.loads((house.run / "a" / "manifest.json").read_bytes())["inputs"]


# --- the ways on


def test_a_branch_is_offered_from_the_newest_checkpoint_where_one_can_be(tmp_path: Path) -> None:
    def loss(*changes: str) -> str:
        return str(_loss(stage_named("pretrain"), tmp_path, 600, changes))

    batch, steps = "pretrain.global_batch: 8 → 32", [tmp_path / f"checkpoints/step-{n:08d}" for n in (5, 20)]
    assert "branch_from" not in loss(batch), "there is no checkpoint"
    for step in steps:
        step.mkdir(parents=True)
    assert f"pretrain.branch_from={steps[1]}\n" in loss(batch, "pretrain.optimizer.learning_rate: 1 → 2")
    for fixed in ("pretrain.model.layers: 1 → 2", "corpus was made by other rules: x", "klue/new.json (new)"):
        assert "branch_from" not in loss(batch, fixed)
    many = loss(*(f"file-{number} (new)" for number in range(40)))
    assert "file-11" in many and "file-12" not in many and "28 more" in many


def test_every_branch_gives_the_training_up_that_it_replaces(house: House) -> None:
    def given(change: str) -> set[str]:
        return given_up([Verdict(stages.STAGES[1], False, "", changes=(change,))], None, stages.STAGES)

    assert given('pretrain.branch_from: null → "x"') == given('pretrain.branch_from: "x" → "y"') == {"b", "c"}
    assert given('pretrain.branch_from: "x" → null') == set(), "the branch's own work is not given up by that"


def test_a_branch_that_cannot_be_leaves_unfinished_training_where_it_is(house: House) -> None:
    """The recipe restored, it continues, and does not begin anew."""
    partial = unfinished(house, "b", seconds=59)

    def check(recipe: Recipe, run: Path) -> None:
        if recipe.pretrain.optimizer.learning_rate != 1e-4:
            raise UserError("another model")

    house.change("b", check=check)
    house.did.clear()
    house.refused("another model", lr=3e-4)
    assert partial.exists() and house.go() == ["b+", "c"]


# --- damage


def test_a_stage_does_not_read_changed_bytes(house: House) -> None:
    house.go(last="b")
    flip(house.run / "b" / "result")
    house.did.clear()
    house.refused("result is damaged")
    assert house.go(first="b") == ["b", "c"]


# --- only what is read is an input


def test_a_file_that_no_stage_reads_is_no_input(tmp_path: Path) -> None:
    """A note dropped into the benchmark's folder is none; a train file that is read is one."""
    data, text = tmp_path / "klue", tmp_path / "text.txt"
    record = {"guid": "klue-nli-v1-1", "premise": "비가 온다.", "hypothesis": "맑다.", "gold_label": "contradiction"}
    (data / "klue-nli-v1.1").mkdir(parents=True)
    for split in ("train", "dev"):
        path = data / "klue-nli-v1.1" / f"klue-nli-v1.1_{split}.json"
        path.write_text(json.dumps([record]), encoding="utf-8")
    text.write_text("글입니다.", encoding="utf-8")
    corpus = {
        "inputs": [str(text)], "pii": {"key": "sixteen-letters-or-more"}, "decontaminate": {"benchmark": str(data)},
    }  # fmt: skip
    klue = {"data": str(data), "tasks": ["nli"]}
    recipe = Recipe.model_validate({"name": "t", "out": str(tmp_path / "run"), "corpus": corpus, "klue": klue})

    def inputs() -> list[dict[str, str]]:
        run = RunFolder(tmp_path / "run")
        return [run.digests(stage_named(name).inputs(recipe)) for name in ("corpus", "klue")]

    before = inputs()
    assert [len(inputs) for inputs in before] == [3, 2], "text and benchmark; the benchmark"
    for name in ("README.md", "klue-nli-v1.1/LICENSE", "klue-nli-v1.1/notes.pdf"):
        (data / name).write_text("a note")
    assert inputs() == before
    (data / "klue-sts-v1.1").mkdir()
    (data / "klue-sts-v1.1" / "klue-sts-v1.1_train.json").write_text("[]")
    corpus_files, klue_files = inputs()
    assert len(corpus_files) == 4 and klue_files == before[1], "read to decontaminate, but no task of this run"


def test_pseudonyms_that_are_turned_on_are_no_other_key(house: House) -> None:
    """The fingerprint comes and goes with `pii.enabled`, which says it."""
    pii: dict[str, Any] = {"enabled": False}
    house.change("a", settings=lambda recipe: {"pii": pii}, section="corpus")
    house.go()
    for changed, told in (
        ({"enabled": True, "key_fingerprint": "0011aabb"}, "corpus.pii.enabled: false → true"),
        ({"enabled": False}, "corpus.pii.enabled: true → false"),
    ):
        pii = changed
        assert judge_all(house.recipe())[0].why == f"setting changed: {told}" and house.go() == ["a"]


@pytest.mark.parametrize("long", [True, False], ids=["long", "short"])
def test_another_key_of_the_pseudonyms_is_told_as_one(long: bool, house: House) -> None:
    """Its fingerprint says nothing to a person; and the work is continued by the run's own key."""
    key = ["0011aabb"]
    house.change("a", settings=lambda recipe: {"pii": {"key_fingerprint": key[0]}}, section="corpus")
    if long:
        finished(house, "a")
    else:
        house.go()
    key[0] = "22cc33dd"
    with pytest.raises(UserError) as refused:
        house.go()
    said = str(refused.value)
    assert (
        "the key of the pseudonyms (HUNMIN_PII_KEY, or corpus.pii.key) is not the one that the run began with" in said
    )
    assert "set HUNMIN_PII_KEY to the run's own key" in said and "restore what changed" not in said
    assert "fingerprint" not in said and key[0] not in said
    key[0] = "0011aabb"
    assert house.go() == []
