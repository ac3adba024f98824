"""What a stage's work rests on: every setting but those of how the work is done, every input, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from common.settings import Settings
from hunmin.embed.recipe import EmbedRecipe
from hunmin.instruct.recipe import InstructRecipe
from hunmin.pipeline.run import judge_all
from hunmin.pipeline.stages import stages_of
from hunmin.pipeline.state import RunFolder
from hunmin.recipes.recipe import Recipe, RunSettings, load_recipe
from tests.runs import copy_run

RECIPES: dict[type[RunSettings], dict[str, Any]] = {
    Recipe: {
        "name": "tiny", "out": "run", "klue": {"data": "klue"}, "embed": {"data": [{"path": "pairs.jsonl"}]},
        "corpus": {"inputs": [{"path": "a.jsonl"}], "workers": 1},
        "pretrain": {"phases": [{"steps": 1_000_000}]},
    },
    InstructRecipe: {
        "name": "tiny", "out": "run", "instruct": {"data": "data"}, "tune": {"base": "base"}, "leaderboard": {},
    },
    EmbedRecipe: {"name": "tiny", "out": "run", "embed": {"base": "base", "data": [{"path": "pairs.jsonl"}]}},
}  # fmt: skip
EXCEPTIONS = {
    (Recipe, "corpus.pii.key_env"): "the key that it names is a fact, not the variable",
    (Recipe, "tokenizer.max_seq_len"): "stated by the tokenizer's files, and no part of the vocabulary",
    (Recipe, "klue.published"): "rows that the report shows, nothing that is computed",
    (InstructRecipe, "name"): "a label",
    (EmbedRecipe, "name"): "a label",
    (InstructRecipe, "seed"): "the default of its sections, filled in before",
    (EmbedRecipe, "seed"): "the default of its sections, filled in before",
}
"""Settings that are runtime and a fact, or neither, and why."""


def variants(settings: Settings, section: tuple[str, ...] = ()) -> Iterator[tuple[str, bool, Any]]:
    """Yield for every setting its key, whether it is runtime, and the settings with another value there."""
    for name, field in type(settings).model_fields.items():
        value, extra = getattr(settings, name), field.json_schema_extra
        runtime = isinstance(extra, dict) and bool(extra.get("runtime"))
        first = value[0] if isinstance(value, (list, tuple)) and value else value
        if isinstance(first, Settings) and not runtime:
            for key, inner, changed in variants(first, (*section, name)):
                yield key, inner, settings.model_copy(update={name: changed if first is value else [changed]})
        else:
            yield ".".join((*section, name)), runtime, settings.model_copy(update={name: "another value"})


def facts_of(recipe: RunSettings) -> dict[str, str]:
    """Return stage → its settings, or why it has none of them."""
    settings_of_stages = {}
    for stage in stages_of(recipe):
        try:
            settings_of_stages[stage.name] = repr(stage.settings(recipe))
        except Exception as error:  # a value that cannot be read is another value, too
            settings_of_stages[stage.name] = repr(error)
    return settings_of_stages


@pytest.mark.parametrize("kind", RECIPES, ids=lambda kind: kind.__name__)
def test_every_setting_is_a_fact_of_a_stage_or_runtime(
    kind: type[RunSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUNMIN_PII_KEY", "a key for tests only, long enough")
    recipe = kind.model_validate(RECIPES[kind])
    before = facts_of(recipe)
    keys = {key: (runtime, facts_of(changed) != before) for key, runtime, changed in variants(recipe)}
    assert {(kind, key) for key, (runtime, fact) in keys.items() if runtime == fact} == {
        (owner, key) for owner, key in EXCEPTIONS if owner is kind
    }
    assert sum(fact for _, fact in keys.values()) > 20 and isinstance(recipe, BaseModel)


class Copy:
    """A finished run of one's own, with its sample and recipe."""

    def __init__(self, folder: Path, sample: Path) -> None:
        self.folder, self.run, self.recipe, self.sample = folder, folder / "run", folder / "recipe.yaml", sample
        self.tree: dict[str, Any] = yaml.safe_load(self.recipe.read_text("utf-8"))

    def save(self, **options: Any) -> None:
        self.recipe.write_text(yaml.safe_dump(self.tree, **{"sort_keys": False, **options}), encoding="utf-8")

    def manifest(self, stage: str, change: Callable[[dict[str, Any]], None]) -> None:
        path = self.run / stage / "manifest.json"
        tree = json.loads(path.read_bytes())
        change(tree)
        path.write_text(json.dumps(tree), encoding="utf-8")


def moved(copy: Copy) -> None:
    target = copy.folder / "elsewhere" / "run"
    target.parent.mkdir()
    copy.run.rename(target)
    copy.tree["out"] = str(target)
    copy.save()


def copied(copy: Copy) -> None:
    copy.tree["out"] = str(copy_run(copy.run, copy.folder / "second"))
    copy.save()


def linked(copy: Copy) -> None:
    link = copy.folder / "link"
    link.symlink_to(copy.run)
    copy.tree["out"] = str(link)
    copy.save()


def inputs_moved(copy: Copy) -> None:
    shutil.copytree(copy.sample, copy.folder / "text")
    copy.tree["corpus"]["inputs"] = [str(copy.folder / "text" / "corpora" / "*")]
    copy.tree["klue"]["data"] = str(copy.folder / "text" / "klue")
    copy.save()


def relative(copy: Copy) -> None:
    os.chdir(copy.sample.parent)
    copy.tree["corpus"]["inputs"] = ["sample/corpora/*"]
    copy.tree["klue"]["data"] = "sample/klue"
    copy.save()


def own_folder(copy: Copy) -> None:
    os.chdir(copy.folder)
    copy.tree["out"] = "run"
    copy.save()


def order(copy: Copy) -> None:
    copy.tree = {key: dict(reversed(value.items())) if isinstance(value, dict) else value
                 for key, value in reversed(copy.tree.items())}  # fmt: skip
    copy.save(default_flow_style=True)


def hardware(copy: Copy) -> None:
    copy.tree["corpus"]["workers"] = copy.tree["tokenizer"]["workers"] = copy.tree["encode"]["workers"] = 2
    copy.tree["pretrain"].update(threads=2, micro_batch=8, processes=2)
    copy.save()


def defaults(copy: Copy) -> None:
    recipe = load_recipe(copy.recipe)
    copy.tree["pretrain"]["objective"] = recipe.pretrain.objective
    copy.tree["corpus"]["decontaminate"] = {"enabled": True}
    copy.save()


def without_logs(copy: Copy) -> None:
    shutil.rmtree(copy.run / "logs")
    (copy.run / "report.html").unlink()


def patch_release(copy: Copy) -> None:
    for stage in ("corpus", "tokenizer", "tokens", "pretrain"):
        copy.manifest(stage, lambda tree: tree["versions"].update(dict.fromkeys(tree["versions"], "99.0.1")))


def notes(copy: Copy) -> None:
    (copy.run / "notes.txt").write_text("mine")
    (copy.run / "pretrain" / "notes.txt").write_text("mine")


def published(copy: Copy) -> None:
    copy.tree["hub"] = {"repository": "me/mini", "note": "for colleagues"}
    copy.save()


def secret_elsewhere(copy: Copy) -> None:
    os.environ["HUNMIN_OTHER_KEY"] = copy.tree["corpus"]["pii"].pop("key")
    copy.tree["corpus"]["pii"]["key_env"] = "HUNMIN_OTHER_KEY"
    copy.save()


def offline(copy: Copy) -> None:
    os.environ.update(HF_HUB_OFFLINE="1", LANG="ko_KR.EUC-KR", TZ="Asia/Seoul", PYTHONHASHSEED="7")


def old_checkpoints_gone(copy: Copy) -> None:
    for path in sorted((copy.run / "pretrain" / "checkpoints").glob("step-*"))[:-1]:
        shutil.rmtree(path)


def through_a_link(copy: Copy) -> None:
    (copy.folder / "texts").symlink_to(copy.sample)
    copy.tree["corpus"]["inputs"] = [str(copy.folder / "texts" / "corpora" / "*")]
    copy.save()


def made_again_to_the_same_bytes(copy: Copy) -> None:
    copy.manifest("corpus", lambda tree: tree["settings"].update(shard_mb=255.0))
    copy.tree["corpus"]["shard_mb"] = 255.0
    copy.save()


EVENTS = [
    own_folder,
    moved,
    copied,
    linked,
    order,
    hardware,
    defaults,
    without_logs,
    patch_release,
    notes,
    published,
    secret_elsewhere,
    offline,
    old_checkpoints_gone,
    inputs_moved,
    relative,
    through_a_link,
    made_again_to_the_same_bytes,
]


def redone(recipe: Path, *overrides: str) -> dict[str, str]:
    """Return the stages that a run would do again, and why."""
    return {
        verdict.stage.name: verdict.why for verdict in judge_all(load_recipe(recipe, overrides)) if not verdict.done
    }


@pytest.fixture
def copy(mini_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Copy:
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mini").mkdir()
    copy_run(mini_run / "run", tmp_path / "mini" / "run")
    shutil.copy(mini_run / "recipe.yaml", tmp_path / "mini")
    copy = Copy(tmp_path / "mini", mini_run / "sample")
    copy.tree["out"] = str(copy.run)
    copy.save()
    return copy


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_what_changes_nothing_rebuilds_nothing(event: Callable[[Copy], None], copy: Copy) -> None:
    event(copy)
    assert redone(copy.recipe) == {}


def edited(corpora: Path, klue: Path) -> None:
    with (corpora / "books.txt").open("a") as stream:
        stream.write("한 줄 더.\n")


def swapped(corpora: Path, klue: Path) -> None:
    for old, new in (("books.txt", "x"), ("web.jsonl.zst", "books.txt"), ("x", "web.jsonl.zst")):
        (corpora / old).rename(corpora / new)


def added(corpora: Path, klue: Path) -> None:
    shutil.copy(corpora / "books.txt", corpora / "more.txt")


def removed(corpora: Path, klue: Path) -> None:
    (corpora / "books.txt").unlink()


def renamed(corpora: Path, klue: Path) -> None:
    (corpora / "books.txt").rename(corpora / "novels.txt")


def dev_set_edited(corpora: Path, klue: Path) -> None:
    next(klue.rglob("ynat*_dev.json")).write_text("[]")


@pytest.mark.parametrize("event", [edited, swapped, added, removed, renamed, dev_set_edited])
def test_another_content_of_the_inputs_makes_the_corpus_again(event: Callable[[Path, Path], None], copy: Copy) -> None:
    inputs_moved(copy)
    event(copy.folder / "text" / "corpora", copy.folder / "text" / "klue")
    assert "input changed" in redone(copy.recipe)["corpus"]


@pytest.mark.parametrize(
    "change", [{"name": "책"}, {"id_field": "key"}, {"clean": {"news": True}}, {"licence": "CC0"}], ids=str
)
def test_a_file_read_in_another_way_makes_the_corpus_again(change: dict[str, Any], copy: Copy) -> None:
    [path] = copy.tree["corpus"]["inputs"]
    copy.tree["corpus"]["inputs"] = [{"path": path}]
    copy.save()
    assert redone(copy.recipe) == {}, "the same, written at length"
    copy.tree["corpus"]["inputs"] = [{"path": path, **change}]
    copy.save()
    assert "corpus" in redone(copy.recipe)


def test_the_order_of_the_files_is_the_order_of_the_documents(copy: Copy) -> None:
    files = sorted(str(path) for path in (copy.sample / "corpora").iterdir())
    copy.tree["corpus"]["inputs"] = files
    copy.save()
    assert redone(copy.recipe) == {}
    copy.tree["corpus"]["inputs"] = files[::-1]
    copy.save()
    assert "order of the files" in redone(copy.recipe)["corpus"]


def test_a_model_counts_by_what_it_holds(copy: Copy, tmp_path: Path) -> None:
    """Training that began from weights: the folder may move, the weights may not change."""
    shutil.copytree(copy.run / "export", tmp_path / "first")
    copy.tree["pretrain"]["init_from"] = str(tmp_path / "first")
    copy.save()
    assert "init_from" in redone(copy.recipe)["pretrain"]
    recipe = load_recipe(copy.recipe)
    facts = RunFolder(copy.run).facts(recipe, stages_of(recipe)[3])
    assert facts
    copy.manifest("pretrain", lambda tree: tree.update(inputs=facts.inputs))
    assert redone(copy.recipe) == {}
    shutil.move(tmp_path / "first", tmp_path / "second")
    copy.tree["pretrain"]["init_from"] = str(tmp_path / "second")
    copy.save()
    assert redone(copy.recipe) == {}
    with (tmp_path / "second" / "model.safetensors").open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        stream.write(b"\x01")
    assert "pretrain.init_from/model.safetensors" in redone(copy.recipe)["pretrain"]


def test_another_name_makes_the_report_alone_again(mini_run: Path) -> None:
    assert redone(mini_run / "recipe.yaml", "name=another").keys() == {"report"}
