"""What a run may not replace: files that are not its own, and more than a minute of work that nobody gave up."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from common.errors import HunminError, UserError
from common.settings import dump_settings
from hunmin import stages
from hunmin.recipe import Recipe, save_recipe
from hunmin.state import Verdict
from klue.settings import KlueSettings
from tests.hunmin.house import House


@pytest.fixture(autouse=True)
def _a_minute(_short_work: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunmin.replacing.LONG_SECONDS", 60.0)


def make_long(house: House, stage: str) -> None:
    """Say of a finished stage that it took ten minutes."""
    path = house.folder / "run" / "logs" / "timing.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**r, "since_begin": 600 if r["stage"] == stage else 1}) + "\n" for r in rows))


def make_old(folder: Path, seconds: float) -> None:
    """Set the time at which unfinished work began to so long before its newest file."""
    newest = max(path.stat().st_mtime for path in folder.rglob("*"))
    os.utime(folder / ".work.json", (newest - seconds, newest - seconds))


def unfinished(house: House, stage: str, seconds: float, **changes: Any) -> Path:
    """Leave a stage unfinished, with so many seconds of work in it."""
    house.fail = stage
    with pytest.raises(KeyboardInterrupt):
        house.go(**changes)
    house.fail = ""
    partial = house.folder / "run" / f"{stage}.partial"
    make_old(partial, seconds)
    return partial


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# --- work


def test_a_minute_of_unfinished_work_is_not_replaced_unasked(house: House) -> None:
    partial = unfinished(house, "b", seconds=61)
    before = tree(partial)
    with pytest.raises(UserError) as refused:
        house.go(lr=3e-4)
    said = str(refused.value)
    assert "b.partial" in said and "lr: 0.0001 → 0.0003" in said, "what would be replaced, the setting, old and new"
    assert "restore" in said and "--restart b" in said, "the ways on"
    assert tree(partial) == before and not (house.folder / "run" / "b").exists()
    assert house.go() == ["b+", "c"], "restored: it continues"


def test_less_than_a_minute_is_moved_aside_as_ever(house: House) -> None:
    unfinished(house, "b", seconds=59)
    assert house.go(lr=3e-4) == ["b", "c"]
    assert (house.folder / "run" / "b.before-1" / "piece").exists()


def test_restart_gives_work_up(house: House) -> None:
    unfinished(house, "b", seconds=600)
    assert house.go(lr=3e-4, restart="b") == ["b", "c"]
    assert (house.folder / "run" / "b.before-1" / "piece").exists()
    unfinished(house, "a", seconds=600, seed=7, restart="a")
    assert house.go(seed=7, restart="a", last="a") == ["a"], "begins anew though it could continue"


def test_finished_work_is_not_replaced_unasked(house: House) -> None:
    house.go()
    make_long(house, "b")
    for changes, named in (({"lr": 5e-4}, "lr: 0.0001 → 0.0005"), ({"seed": 7}, "x: 42 → 7")):
        with pytest.raises(UserError) as refused:
            house.go(**changes)
        assert named in str(refused.value), "the root of it, also where an earlier stage is what changed"
        assert house.did == []
    (house.folder / "new.txt").write_text("new")
    (house.folder / "input.txt").write_text("other")
    with pytest.raises(UserError, match=r"input\.txt"):
        house.go()
    (house.folder / "input.txt").write_text("input")
    assert house.go() == []
    assert house.go(first="b") == ["b"], "--from asks for it"
    make_long(house, "b")
    assert house.go(lr=5e-4, restart="b") == ["b", "c"]


def test_a_check_beforehand_refuses_it_as_well(house: House) -> None:
    from hunmin.run import refuse_replacing

    unfinished(house, "b", seconds=61)
    with pytest.raises(UserError, match=r"lr: 0\.0001 → 0.0003"):
        refuse_replacing(house.recipe(lr=3e-4))


def test_a_quick_stage_made_again_to_the_same_bytes_costs_nothing(house: House) -> None:
    house.go()
    make_long(house, "b")
    (house.folder / "run" / "a" / "result").unlink()
    assert house.go() == ["a"]


def test_a_finished_training_that_lost_a_file_is_not_trained_anew_unasked(house: House) -> None:
    house.go()
    make_long(house, "b")
    (house.folder / "run" / "b" / "result").unlink()
    with pytest.raises(UserError, match="result"):
        house.go()
    assert (house.folder / "run" / "b" / "piece").exists()


def test_a_long_stage_that_lost_a_file_is_not_done_again_unasked(house: House) -> None:
    """The file may lie elsewhere still, and what is there of the others would go."""
    house.go()
    make_long(house, "a")
    lost = house.folder / "run" / "a" / "result"
    lost.rename(house.folder / "result")
    with pytest.raises(UserError, match=r"output missing or cut short: result"):
        house.go()
    (house.folder / "result").rename(lost)
    assert house.go() == []


def test_work_of_unknown_length_counts_as_long(house: House) -> None:
    house.go()
    (house.folder / "run" / "logs" / "timing.jsonl").unlink()
    with pytest.raises(UserError, match=r"lr: 0\.0001 → 0.0002"):
        house.go(lr=2e-4)


def test_a_corpus_of_an_earlier_version_is_kept_on_request(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer version with other rules does not build hours of corpus again unasked, and says how to keep it."""
    import dataclasses

    from hunmin import stages

    def with_rules(version: str) -> None:
        rules = {"data/cleaning": version}
        table = tuple(
            dataclasses.replace(
                one, name="corpus", rules=lambda: rules, keeps=lambda recipe: recipe.corpus.keep_finished
            )
            if number == 0
            else dataclasses.replace(one, after=("corpus", *one.after[1:]))
            for number, one in enumerate(stages.STAGES)
        )
        monkeypatch.setattr(stages, "STAGES", table)
        monkeypatch.setattr("hunmin.stages.STAGE_NAMES", ["corpus", "b", "c"])

    with_rules("1")
    house.go()
    make_long(house, "corpus")
    with_rules("2")
    with pytest.raises(UserError) as refused:
        house.go()
    assert "other rules: data/cleaning" in str(refused.value) and "corpus.keep_finished=true" in str(refused.value)
    assert house.go(corpus={"inputs": ["x"], "keep_finished": True}) == []


def test_what_was_given_up_once_is_not_asked_again(house: House) -> None:
    """A second attempt that was stopped continues without --restart, though the first output is still there."""
    house.go()
    make_long(house, "b")
    unfinished(house, "b", seconds=600, lr=5e-4, restart="b")
    assert house.go(lr=5e-4) == ["b+", "c"]


def test_the_message_at_the_end_speaks_of_the_earlier_work(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.go()
    capsys.readouterr()
    house.go(lr=5e-4)
    line = next(line for line in capsys.readouterr().err.splitlines() if "before-1" in line)
    assert line.startswith("b: the new one is finished (lr: 0.0001 → 0.0005); the earlier b")


def test_the_earlier_training_is_named_by_its_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from hunmin.replacing import set_aside
    from hunmin.stages import stage_named

    for step in (400, 4500):
        (tmp_path / "pretrain" / "checkpoints" / f"step-{step:08d}").mkdir(parents=True)
    set_aside(
        stage_named("pretrain"), tmp_path / "pretrain", tmp_path / "pretrain", "pretrain: the new one is finished"
    )
    said = " ".join(capsys.readouterr().err.split())
    assert "the earlier pretrain (4,500 steps) is now pretrain.before-1" in said


# --- files that are not the run's own


@pytest.mark.parametrize("stage", ["a", "b", "c"])
@pytest.mark.parametrize("kind", ["folder", "file", "manifest of another program", "another stage's folder"])
def test_a_folder_of_the_users_own_is_left_alone(house: House, stage: str, kind: str) -> None:
    mine = house.folder / "run" / stage
    mine.parent.mkdir()
    if kind == "file":
        mine.write_text("only copy")
    elif kind == "another stage's folder":
        house.go(last="a")
        shutil.rmtree(mine, ignore_errors=True)
        shutil.copytree(house.folder / "run" / "a", mine) if stage != "a" else mine.mkdir()
        if stage == "a":
            (mine / "notes.txt").write_text("only copy")
    else:
        mine.mkdir()
        (mine / "notes.txt").write_text("only copy")
        if kind == "manifest of another program":
            (mine / "manifest.json").write_text('{"name": "something else"}')
    before = tree(house.folder)
    house.did.clear()
    with pytest.raises(HunminError) as refused:
        house.go()
    assert str(mine) in str(refused.value)
    assert tree(house.folder) == before and house.did == [], "nothing is written, nothing is gone"


def test_an_empty_folder_may_be_there(house: House) -> None:
    (house.folder / "run" / "a").mkdir(parents=True)
    assert house.go() == ["a", "b", "c"]


def test_a_users_file_in_a_finished_folder_is_kept(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.go()
    (house.folder / "run" / "a" / "notes.txt").write_text("only copy")
    assert house.go(seed=7)[0] == "a"
    assert (house.folder / "run" / "a.before-1" / "notes.txt").read_text() == "only copy"
    assert "notes.txt" in capsys.readouterr().err
    assert not (house.folder / "run" / "a" / "notes.txt").exists()


def test_an_unfinished_folder_without_a_mark_is_moved_aside(house: House) -> None:
    for content in ("", "not json", "[]", '{"settings": {}}'):
        partial = house.folder / "run" / "b.partial"
        partial.mkdir(parents=True)
        (partial / "step-40").write_text("hours of work")
        (partial / ".work.json").write_text(content) if content else None
        house.go(last="b")
        kept = [path.read_text() for path in (house.folder / "run").glob("b.before-*/step-40")]
        assert kept and set(kept) == {"hours of work"}
        shutil.rmtree(house.folder / "run" / "b")
    assert len(list((house.folder / "run").glob("b.before-*/step-40"))) == 4


def test_a_recipe_of_the_users_own_in_the_run_folder_is_left_alone(house: House) -> None:
    mine = house.folder / "run" / "recipe.yaml"
    mine.parent.mkdir()
    for text in ("# why these values\nname: t\n", "name: t\nout: run\n"):
        mine.write_text(text)
        with pytest.raises(UserError, match=r"recipe\.yaml is your own file"):
            house.go()
        assert mine.read_text() == text and house.did == []
    mine.unlink()
    house.go()
    house.go(seed=7)  # its own is replaced
    assert "seed: 7" in mine.read_text()
    mine.write_text(mine.read_text() + "# the third try\n")
    with pytest.raises(UserError, match=r"recipe\.yaml is your own file"):
        house.go(seed=8)


def test_recipes_of_earlier_versions_are_known(house: House) -> None:
    """They are plain dumps of every setting, without a first line that says so."""
    house.go()
    path = house.folder / "run" / "recipe.yaml"
    path.write_text(path.read_text().partition("\n")[2])
    assert house.go(seed=7) == ["a", "b", "c"]


def test_a_page_of_the_users_own_is_left_alone(house: House) -> None:
    mine = house.folder / "run" / "report.html"
    mine.parent.mkdir()
    mine.write_text("<html>my notes</html>")
    with pytest.raises(UserError, match=r"report\.html"):
        house.go()
    from hunmin.page.page import write_page

    save_recipe(house.recipe(), house.folder / "run" / "recipe.yaml")
    with pytest.raises(UserError, match=r"report\.html"):
        write_page(house.folder / "run")
    assert mine.read_text() == "<html>my notes</html>"


def test_an_edited_output_is_kept(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """A model card that was worked on, say."""
    house.go()
    mine = house.folder / "run" / "c" / "result"
    mine.write_text("C")
    os.utime(mine, (mine.stat().st_mtime + 60,) * 2)
    assert house.go(first="c") == ["c"]
    assert (house.folder / "run" / "c.before-1" / "result").read_text() == "C"
    assert "c/result has been edited" in capsys.readouterr().err


def test_a_link_to_an_empty_folder_is_refused_before_any_work(house: House) -> None:
    """It could not be given the finished stage: a folder does not take a link's name."""
    (house.folder / "elsewhere").mkdir()
    (house.folder / "run").mkdir()
    (house.folder / "run" / "b").symlink_to(house.folder / "elsewhere")
    with pytest.raises(UserError, match="was not made by a run"):
        house.go()
    assert house.did == []


# --- what earlier versions have left


def test_work_of_a_version_with_fewer_settings_and_more_inputs_continues(house: House) -> None:
    """It lacks a setting, which is at its default, and lists a file that is there and is not read any more."""
    from hunmin.stages import stage_named
    from hunmin.state import begun_with, differences

    (house.folder / "licence").write_text("as you like")
    stage = dataclasses.replace(stage_named("a"), section="klue")
    settings = dump_settings(KlueSettings(data="y"))
    before = begun_with(stage, settings, {"input.txt": "1", str(house.folder / "licence"): "2"})
    del before["settings"]["keep_head"], before["settings"]["training"]["epochs"]
    assert differences(stage, before, settings, {"input.txt": "1"}) == {}
    found = differences(stage, before, settings | {"keep_head": True}, {})
    assert found == {"setting changed": ["klue.keep_head: null → true"], "input changed": ["input.txt (gone)"]}

    partial = unfinished(house, "a", seconds=600)
    mark = json.loads((partial / ".work.json").read_bytes())
    mark["inputs"][str(house.folder / "licence")] = "2"
    (partial / ".work.json").write_text(json.dumps(mark))
    assert house.go(last="a") == ["a+"]


def test_rules_of_another_version_are_told_with_what_keeps_the_corpus(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.go()
    make_long(house, "a")
    first = dataclasses.replace(stages.STAGES[0], rules=lambda: {"data/cleaning": "1", "data/pii": "1"})
    monkeypatch.setattr(stages, "STAGES", (first, *stages.STAGES[1:]))
    with pytest.raises(UserError) as refused:
        house.go()
    said = str(refused.value)
    assert "a was made by other rules: data/cleaning, data/pii\n" in said
    assert "corpus.keep_finished=true" in said


def test_work_in_a_copied_run_is_as_long_as_it_was(house: House) -> None:
    """A copy's files may all have the time of the copy."""
    partial = unfinished(house, "b", seconds=0)
    assert house.go(lr=2e-4) == ["b", "c"], "short"
    unfinished(house, "b", seconds=0, lr=3e-4)
    mark = json.loads((partial / ".work.json").read_bytes())
    (partial / ".work.json").write_text(json.dumps({**mark, "begun": mark["begun"] - 61}))
    with pytest.raises(UserError, match=r"lr: 0\.0003 → 0\.0004"):
        house.go(lr=4e-4)


def test_a_run_does_not_read_what_it_writes(tmp_path: Path) -> None:
    """Its corpus would be another one at every start."""
    from hunmin.stages import stage_named

    def files(**tree: Any) -> list[str]:
        corpus = {"inputs": [tree["inputs"]], "decontaminate": {"enabled": False}, "pii": {"enabled": False}}
        return stage_named("corpus").files(Recipe.model_validate({"name": "t", "out": tree["out"], "corpus": corpus}))

    (tmp_path / "texts" / "run" / "corpus").mkdir(parents=True)
    for name in ("texts/a.txt", "texts/run/corpus/b.txt", "texts/run/mine.txt"):
        (tmp_path / name).write_text("글")
    texts, run = str(tmp_path / "texts"), str(tmp_path / "texts" / "run")
    for inputs, out in ((texts, run), (texts, texts), (f"{texts}/**/*.txt", run)):
        with pytest.raises(UserError, match="what a run writes would become its own input"):
            files(inputs=inputs, out=out)
    assert files(inputs=f"{texts}/*.txt", out=run) == [f"{texts}/a.txt"]
    assert files(inputs=f"{run}/*.txt", out=run) == [f"{run}/mine.txt"], "what lies beside it is the user's own"


# --- elements of an array


def test_elements_of_an_array_do_not_replace_work_unasked(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunmin.preflight.SHARED_STAGE", "a")
    array: dict[str, Any] = {"corpus": {"inputs": ["x"], "executor": "slurm-array"}, "last": "a"}
    partial = unfinished(house, "a", seconds=61, **array)
    with pytest.raises(UserError) as refused:
        house.go(**array, seed=7)
    assert "x: 42 → 7" in str(refused.value) and f"move {partial} away" in str(refused.value)
    assert house.go(**array) == ["a+"], "the whole array began, not this element"
    make_long(house, "a")
    with pytest.raises(UserError, match="x: 42 → 7"):
        house.go(**array, seed=7)
    with pytest.raises(UserError, match="do the stage 'a' alone"):
        house.go(**array, restart="a")


def test_what_an_array_began_is_ended_here(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunmin.preflight.SHARED_STAGE", "a")
    unfinished(house, "a", seconds=61, corpus={"inputs": ["x"], "executor": "slurm-array"}, last="a")
    (house.folder / "input.txt").write_text("other")  # known by the parts of the corpus themselves
    reopened: list[Path] = []
    table = [dataclasses.replace(one, reopen=reopened.append) if one.name == "a" else one for one in stages.STAGES]
    monkeypatch.setattr(stages, "STAGES", tuple(table))
    assert house.go(last="a") == ["a+"] and len(reopened) == 1
    assert json.loads((house.folder / "run" / "a" / "manifest.json").read_bytes())["inputs"]


# --- the ways on


def loss(changes: list[str], folder: Path) -> str:
    from hunmin.replacing import _loss
    from hunmin.stages import stage_named

    return str(_loss(stage_named("pretrain"), folder, 600, changes))


def test_a_branch_is_offered_from_the_newest_checkpoint_where_one_can_be(tmp_path: Path) -> None:
    steps = [tmp_path / "checkpoints" / f"step-{step:08d}" for step in (5, 20)]
    offered = f"pretrain.branch_from={steps[1]}\n"
    assert "branch_from" not in loss(["pretrain.global_batch: 8 → 32"], tmp_path), "there is no checkpoint"
    for step in steps:
        step.mkdir(parents=True)
    assert offered in loss(["pretrain.global_batch: 8 → 32", "pretrain.optimizer.learning_rate: 1 → 2"], tmp_path)
    for fixed in ("pretrain.model.layers: 1 → 2", "corpus was made by other rules: x", "klue/new.json (new)"):
        assert "branch_from" not in loss(["pretrain.global_batch: 8 → 32", fixed], tmp_path)
    many = loss([f"file-{number} (new)" for number in range(40)], tmp_path)
    assert "file-11" in many and "file-12" not in many and "28 more" in many


def test_every_branch_gives_the_training_up_that_it_replaces(house: House) -> None:
    from hunmin.replacing import given_up

    def given(change: str) -> set[str]:
        return given_up([Verdict(stages.STAGES[1], False, "", changes=(change,))], None, stages.STAGES)

    assert given('pretrain.branch_from: null → "x"') == given('pretrain.branch_from: "x" → "y"') == {"b", "c"}
    assert given('pretrain.branch_from: "x" → null') == set(), "the branch's own work is not given up by that"


def test_a_branch_that_cannot_be_leaves_unfinished_training_where_it_is(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recipe restored, it continues, and does not begin anew."""
    partial = unfinished(house, "b", seconds=59)

    def check(recipe: Recipe, run: Path) -> None:
        if recipe.pretrain.optimizer.learning_rate != 1e-4:
            raise UserError("another model")

    table = [dataclasses.replace(one, check=check) if one.name == "b" else one for one in stages.STAGES]
    monkeypatch.setattr(stages, "STAGES", tuple(table))
    with pytest.raises(UserError, match="another model"):
        house.go(lr=3e-4)
    assert partial.exists()
    assert house.go() == ["b+", "c"]


# --- damage


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 0x20
    path.write_bytes(bytes(content))


def test_a_stage_does_not_read_changed_bytes(house: House) -> None:
    house.go(last="a")
    flip(house.folder / "run" / "a" / "result")
    with pytest.raises(HunminError, match="result is damaged"):
        house.go()
    assert house.did == []
    assert house.go(first="a") == ["a", "b", "c"]


def test_changed_results_are_not_reported(house: House) -> None:
    house.go(last="b")
    flip(house.folder / "run" / "b" / "result")
    with pytest.raises(HunminError, match="result is damaged"):
        house.go()
    assert house.did == []


def test_hashes_of_an_earlier_version_are_checked_too(house: House) -> None:
    house.go(last="a")
    path = house.folder / "run" / "a" / "manifest.json"
    manifest = json.loads(path.read_bytes())
    for facts in manifest["outputs"].values():
        del facts["xxh3"]
    path.write_text(json.dumps(manifest))
    assert house.go(last="b") == ["b"], "and a manifest without the second hash means the same output"
    shutil.rmtree(house.folder / "run" / "b")
    flip(house.folder / "run" / "a" / "result")
    with pytest.raises(HunminError, match="result is damaged"):
        house.go()


# --- only what is read is an input


def test_a_file_that_no_stage_reads_is_no_input(tmp_path: Path) -> None:
    """A note dropped into the benchmark's folder is none; a train file that is read is one."""
    from hunmin.recipe import Recipe
    from hunmin.stages import stage_named
    from hunmin.state import RunFolder

    data = tmp_path / "klue"
    folder = data / "klue-nli-v1.1"
    folder.mkdir(parents=True)
    record = {"guid": "klue-nli-v1-1", "premise": "비가 온다.", "hypothesis": "맑다.", "gold_label": "contradiction"}
    for split in ("train", "dev"):
        (folder / f"klue-nli-v1.1_{split}.json").write_text(json.dumps([record]), encoding="utf-8")
    (tmp_path / "text.txt").write_text("글입니다.", encoding="utf-8")
    recipe = Recipe.model_validate(
        {
            "name": "t",
            "out": str(tmp_path / "run"),
            "corpus": {
                "inputs": [str(tmp_path / "text.txt")],
                "pii": {"key": "sixteen-letters-or-more"},
                "decontaminate": {"benchmark": str(data)},
            },
            "klue": {"data": str(data), "tasks": ["nli"]},
        }
    )

    def inputs() -> list[dict[str, str]]:
        run = RunFolder(tmp_path / "run")
        return [run.file_hashes(stage_named(name).files(recipe)) for name in ("corpus", "klue")]

    before = inputs()
    assert [len(files) for files in before] == [3, 2], "text and benchmark; the benchmark"
    for name in ("README.md", "klue-nli-v1.1/LICENSE", "klue-nli-v1.1/notes.pdf"):
        (data / name).write_text("a note")
    assert inputs() == before
    (data / "klue-sts-v1.1").mkdir()
    (data / "klue-sts-v1.1" / "klue-sts-v1.1_train.json").write_text("[]")
    corpus, klue = inputs()
    assert len(corpus) == 4 and klue == before[1], "read to decontaminate, but no task of this run"
