"""What a run does not do again unasked: more than a minute of work. And what it never touches: whatever is there."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from common.facts import Facts
from common.rules import RULES
from common.settings import dump_settings
from data.settings import CorpusSettings
from hunmin.page.page import write_page
from hunmin.pipeline import stages
from hunmin.pipeline.redo import _refusal, given_up
from hunmin.pipeline.run import judge_all, refuse_redoing_unasked
from hunmin.pipeline.stages import stage_named
from hunmin.pipeline.state import RunFolder, Verdict
from hunmin.recipes.recipe import Recipe, save_recipe
from klue.settings import KlueSettings
from tests.hunmin.house import House


@pytest.fixture(autouse=True)
def _a_minute(_short_work: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hunmin.pipeline.redo.LONG_SECONDS", 60.0)


def everything(house: House) -> dict[str, bytes]:
    """Return all outputs and pieces that the run has ever made, by their place."""
    return {name: content for name, content in tree(house.run / "made").items() if not name.endswith(".work.json")}


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
    house.refused(partial.resolve().name, "lr: 0.0001 → 0.0003", "restore", "--restart b", lr=3e-4)
    with pytest.raises(UserError, match=r"lr: 0\.0001 → 0.0003"):  # a check beforehand refuses it as well
        refuse_redoing_unasked(house.recipe(lr=3e-4))
    assert tree(partial) == before and not (house.run / "b").exists()
    assert house.go() == ["b+", "c"], "restored: it continues"


@pytest.mark.parametrize(("seconds", "options"), [(59, {}), (600, {"restart": "b"})])
def test_less_or_what_is_given_up_stays_beside(seconds: float, options: dict[str, str], house: House) -> None:
    first = unfinished(house, "b", seconds).resolve()
    assert house.go(lr=3e-4, **options) == ["b", "c"]
    assert (first / "piece").exists() and (house.run / "b").resolve() != first
    assert house.go() == ["b+", "c"], "back at the first settings it continues"
    second = unfinished(house, "a", seconds=600, seed=7, restart="a").resolve()
    assert house.go(seed=7, restart="a", last="a") == ["a"], "begins anew though it could continue"
    assert (second / "piece").exists() and (house.run / "a").resolve() != second


def test_finished_work_is_not_replaced_unasked(house: House) -> None:
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
    make_long(house, "b")
    assert house.go(lr=3e-4, restart="b") == ["b", "c"]
    before = everything(house)
    make_long(house, "b")
    assert house.go() == house.go(lr=5e-4) == house.go(lr=3e-4) == [], "whatever was made once is there"
    assert everything(house) == before
    house.did.clear()
    (house.run / "logs" / "timing.jsonl").unlink()
    house.refused("lr: 0.0003 → 0.0002", lr=2e-4)  # work of unknown length counts as long


@pytest.mark.parametrize("stage", ["a", "b"])
def test_a_long_stage_that_lost_a_file_is_not_done_again_unasked(stage: str, house: House) -> None:
    """The file may lie elsewhere still, and what is there of the others would go."""
    lost = (finished(house, stage).run / stage).resolve() / "result"
    lost.rename(house.folder / "result")
    house.refused("output missing or cut short: result")
    assert (lost.parent / "piece").exists()
    (house.folder / "result").rename(lost)
    assert house.go() == []


def test_a_quick_stage_made_again_to_the_same_bytes_costs_nothing(house: House) -> None:
    damaged = (finished(house, "b").run / "a").resolve()
    (damaged / "result").unlink()
    assert house.go() == ["a"], "beside the damaged one"
    assert (damaged / "manifest.json").exists() and (house.run / "a").resolve() != damaged
    assert house.go() == [], "the one that lacks nothing counts"


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
    house.refused(partial.resolve().name, "lr: 0.0001 → 0.0003", lr=3e-4)
    assert tree(partial) == before


# --- files that are not the run's own


@pytest.mark.parametrize("stage", ["a", "b"])
@pytest.mark.parametrize("kind", ["folder", "file", "link", "manifest of another program", "another stage's folder"])
def test_a_folder_of_the_users_own_is_left_alone(house: House, stage: str, kind: str) -> None:
    mine = house.run / stage
    house.go(last="c" if kind == "another stage's folder" else "a")
    mine.unlink(missing_ok=True)
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


@pytest.mark.parametrize("change", [{"seed": 7}, {"restart": "a"}, {"lr": 5e-4}], ids=["settings", "anew", "later"])
@pytest.mark.parametrize("state", ["finished", "unfinished"])
@pytest.mark.parametrize("name", ["notes.txt", ".notes.md", ".git/config", "logs/notes.txt", "checkpoints/x", "result"])
def test_what_a_user_adds_or_edits_stays_where_it_is(
    name: str, state: str, change: dict[str, Any], house: House
) -> None:
    """The last one is an output that was worked on: a model card, say."""
    if state == "finished":
        house.go()
    else:
        house.stop("a")
    mine = (house.run / ("a" if state == "finished" else "a.partial")).resolve() / name
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("only copy" if name != "result" else "ONLY")
    before = everything(house)
    if name == "result" and "seed" not in change and state == "finished" and change != {"restart": "a"}:
        house.did.clear()
        house.refused("result", **change)
    else:
        house.go(**change)
    after = everything(house)
    rewritten = {str(mine.relative_to(house.run / "made"))} if state == "unfinished" and name == "result" else set()
    assert {key: after.get(key) for key in before if key not in rewritten} == {
        key: content for key, content in before.items() if key not in rewritten
    }


@pytest.mark.parametrize("content", ["", "not json", "[]", '{"settings": {}}'])
def test_an_unfinished_folder_without_a_mark_is_left_alone(content: str, house: House) -> None:
    damaged = house.stop("b").resolve()
    (damaged / "step-40").write_text("hours of work")
    (damaged / ".work.json").write_text(content) if content else (damaged / ".work.json").unlink()
    assert house.go(last="b") == ["b"]
    assert (damaged / "step-40").read_text() == "hours of work" and (house.run / "b").resolve() != damaged


def test_a_recipe_of_the_users_own_in_the_run_folder_is_left_alone(house: House) -> None:
    mine, message = house.run / "recipe.yaml", "recipe.yaml is your own file"
    mine.parent.mkdir()
    for text in ("# why these values\nname: t\n", "name: t\nout: run\n"):
        mine.write_text(text)
        house.refused(message)
        assert mine.read_text() == text
    mine.unlink()
    house.go()
    mine.write_text(mine.read_text().partition("\n")[2])  # as an earlier version wrote it: a dump of every setting
    assert house.go(seed=7) == ["a", "b", "c"] and "seed: 7" in mine.read_text()
    mine.write_text(mine.read_text() + "# the third try\n")
    house.did.clear()
    house.refused(message, seed=8)


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


# --- what is no difference


def test_work_of_a_version_with_fewer_settings_continues(tmp_path: Path) -> None:
    work = RunFolder(tmp_path).work(stage_named("klue"))
    settings = dump_settings(KlueSettings(data="y"))
    before = Facts(dump_settings(KlueSettings(data="y")), {"input.txt": "1"}, 1)
    del before.settings["keep_head"], before.settings["training"]["epochs"]
    assert not work.differences(before, Facts(settings, {"input.txt": "1"}, 1)).any
    differences = work.differences(before, Facts(settings | {"keep_head": True}, {}, 1))
    assert (differences.settings, differences.inputs) == (("klue.keep_head: null → true",), ("input.txt (gone)",))


def test_a_run_does_not_read_what_it_writes(tmp_path: Path) -> None:
    """Its corpus would be another one at every start."""

    def files(inputs: str, out: str) -> list[str]:
        corpus = {"inputs": [inputs], "decontaminate": {"enabled": False}, "pii": {"enabled": False}}
        recipe = Recipe.model_validate({"name": "t", "out": out, "corpus": corpus})
        return [input.path for input in stage_named("corpus").inputs(recipe) if input.path]

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


def test_finished_work_that_the_new_settings_include_is_no_reason_to_ask(house: House) -> None:
    """KLUE with more seeds: the jobs of those that are there count (`tests/klue/test_job.py`)."""

    def grows(old: Facts, new: Facts, finished: bool) -> bool:
        return old.inputs == new.inputs and bool(old.settings["x"] < new.settings["x"])

    finished(house, "a").change("a", includes=grows)
    house.refused("x: 42 → 7", "--restart a", seed=7)
    assert house.go(seed=43, last="a") == ["a"]
    make_long(house, "a")
    (house.folder / "input.txt").write_text("other")
    house.refused("input.txt", "--restart a", seed=44)


def test_an_unfinished_corpus_takes_inputs_that_come_and_go() -> None:
    """Its parts are found by their content; other settings, another benchmark make other parts."""
    includes = stage_named("corpus").includes
    before = Facts({"inputs": ["a"], "shard_mb": 1}, {"a.txt": "1", "benchmark/x": "9"}, 1)
    grown = Facts({"inputs": ["a", "b"], "shard_mb": 1}, {"a.txt": "2", "b.txt": "1", "benchmark/x": "9"}, 1)
    assert includes(before, grown, False) and not includes(before, grown, True)
    assert not includes(before, Facts({**grown.settings, "shard_mb": 2}, grown.inputs, 1), False)
    assert not includes(before, Facts(grown.settings, {**(grown.inputs or {}), "benchmark/x": "8"}, 1), False)


def test_klue_takes_more_seeds_of_the_same_model_and_data() -> None:
    includes = stage_named("klue").includes
    one_seed, five_seeds = (Facts(dump_settings(KlueSettings(data="y", seeds=n)), {"export": "1"}, 1) for n in (1, 5))
    assert includes(one_seed, five_seeds, True) and not includes(five_seeds, one_seed, True)
    assert not includes(one_seed, Facts(five_seeds.settings, {"export": "2"}, 1), True)


# --- the ways on


def test_a_branch_is_offered_from_the_newest_checkpoint_where_one_can_be(tmp_path: Path) -> None:
    def loss(*changes: str) -> str:
        return str(_refusal(stage_named("pretrain"), tmp_path, 600, changes))

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
        return given_up([Verdict(stages.STAGES[1], False, "", earlier={Path(): (change,)})], None, stages.STAGES)

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


@pytest.mark.parametrize("on", [True, False])
def test_pseudonyms_that_are_turned_on_or_off_are_no_other_key(on: bool, house: House) -> None:
    """The fingerprint comes and goes with `pii.enabled`, which says it."""
    states: list[dict[str, Any]] = [{"enabled": False}, {"enabled": True, "key_fingerprint": "0011aabb"}]
    before, after = states if on else states[::-1]
    house.change("a", settings=lambda recipe: {"pii": before}, model=CorpusSettings)
    house.go()
    house.change("a", settings=lambda recipe: {"pii": after})
    change = f"a.pii.enabled: {str(not on).lower()} → {str(on).lower()}"
    assert judge_all(house.recipe())[0].why == f"setting changed: {change}" and house.go() == ["a"]


@pytest.mark.parametrize("long", [True, False], ids=["long", "short"])
def test_another_key_of_the_pseudonyms_is_told_as_one(long: bool, house: House) -> None:
    """Its fingerprint says nothing to a person; and the work is continued by the run's own key."""
    key = ["0011aabb"]
    house.change("a", settings=lambda recipe: {"pii": {"key_fingerprint": key[0]}}, model=CorpusSettings)
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
