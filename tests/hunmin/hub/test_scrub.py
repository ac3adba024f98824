"""A published recipe: without this machine's paths, names and keys, and one that runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from common.settings import dump_settings
from hunmin.hub.private import refuse_private
from hunmin.hub.scrub import bare, base_model, public_recipe
from hunmin.main import run_command
from hunmin.recipes.recipe import Recipe, load_recipe
from hunmin.sample import write_sample

KEY = "the-key-of-the-pseudonyms"
RECIPES = sorted((Path(__file__).parents[3] / "configs").glob("*.yaml"))
CONFIGS = [path for path in RECIPES if "\ncorpus:" in path.read_text(encoding="utf-8")]


def recipe(*inputs: Any, **changes: Any) -> Recipe:
    tree = {
        "name": "x",
        "out": "/home/hong/runs/x",
        "corpus": {"inputs": list(inputs) or ["a.txt"], "pii": {"key": KEY, "key_env": "MY_KEY"}},
        "pretrain": {"init_from": "hf:klue/roberta-base", "wandb_project": "hongs-project"},
        "klue": {"data": "/mnt/disk of hong/klue"},
        "hub": {"repository": "hong/private-name", "note": "n"},
    }
    return Recipe.model_validate({**tree, **changes})


def published(loaded: Recipe) -> dict[str, Any]:
    tree = yaml.safe_load(public_recipe(loaded))
    assert isinstance(tree, dict)
    return tree


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("/home/hong/corpora/news.jsonl", "news.jsonl"),
        ("~/secret place/*.txt", "*.txt"),
        ("relative/folder/deep/web.txt", "web.txt"),
        ("kimcheolsu/diary.jsonl", "diary.jsonl"),
        ("../kimcheolsu", "kimcheolsu"),
        ("~kimcheolsu", "~"),
        (".", "."),
        ("C:\\Users\\hong\\a.txt", "a.txt"),
        ("s3://b/k", "k"),
        ("https://u:p@h/x.jsonl?X-Amz-Signature=S", "x.jsonl"),
        ("https://u:p@h/x.jsonl;jsessionid=S#S", "x.jsonl"),
        ("https://user:hunter2pass@host", "host"),
        ("https://user:hunter2pass@host/?token=S", "host"),
        ("simplecache::https://u:p@h/d/x.txt?sig=S", "x.txt"),
        ("file:///home/hong/b.txt", "b.txt"),
        ("hf:klue/klue/ynat@train", "hf:klue/klue/ynat@train"),
    ],
)
def test_places_are_cut_to_their_last_names(given: str, left: str) -> None:
    loaded = recipe(given, {"path": given, "licence": "CC0, see https://u:p@h/l?t=S"}, klue={"data": given})
    tree = published(loaded)
    (first, second), data = tree["corpus"]["inputs"], tree["klue"]["data"]
    assert (first, second["path"], data) == (left, left, left)
    assert second["licence"] == "CC0, see https://h/l"
    benchmark = loaded.model_copy(
        update={"corpus": loaded.corpus.model_validate({"inputs": ["a"], "decontaminate": {"benchmark": given}})}
    )
    assert published(benchmark)["corpus"]["decontaminate"]["benchmark"] == left


def test_a_recipe_without_paths_keys_and_names() -> None:
    text = public_recipe(recipe("/home/hong/corpora/news.jsonl"))
    tree = yaml.safe_load(text)
    assert tree["klue"]["data"] == "klue" and tree["pretrain"]["init_from"] == "hf:klue/roberta-base"
    assert tree["out"] == "runs/x"
    assert not any(word in text for word in ("hong", "/home", "/mnt", KEY, "hub"))


def test_folders_of_models_and_benchmarks_are_cut_too() -> None:
    tree = {"klue": {"benchmarks": "clients/acme/bench"}, "tokenizer": {"base": "a/q.bin"},
            "embed": {"guide": "a/b/guide", "mine": {"model": "hf:o/n@c", "reranker": "x/y"}},
            "pretrain": {"model": {"type": "bert"}}}  # fmt: skip
    assert bare(tree) == {
        "klue": {"benchmarks": "bench"}, "tokenizer": {"base": "q.bin"},
        "embed": {"guide": "guide", "mine": {"model": "hf:o/n@c", "reranker": "y"}},
        "pretrain": {"model": {"type": "bert"}},
    }  # fmt: skip


def test_tokens_of_the_user_stay_as_they_are() -> None:
    tokens = ["</s>", "~~", "/x/", "..."]
    assert published(recipe(tokenizer={"user_tokens": tokens[:2]}))["tokenizer"]["user_tokens"] == tokens[:2]


@pytest.mark.parametrize(
    ("begun", "base", "shown"),
    [
        ("hf:klue/roberta-base@0123", "klue/roberta-base", "hf:klue/roberta-base@0123"),
        ("runs/base", None, "./base"),
        ("/home/hong/base", None, "./base"),
        (None, None, None),
    ],
)
def test_a_model_of_a_folder_is_no_name_on_the_hub(begun: str | None, base: str | None, shown: str | None) -> None:
    given = recipe(pretrain={"init_from": begun})
    assert base_model(given) == base and published(given)["pretrain"].get("init_from") == shown


def test_what_is_not_set_is_left_out_and_the_recipe_is_the_same(tmp_path: Path) -> None:
    """`null` stays where it says something: a limit that is lifted, a benchmark that is not looked for."""
    for corpus, left in (
        ({}, {"corpus.decontaminate.benchmark"}),
        ({"clean": {"max_word_chars": None}}, {"corpus.clean.max_word_chars", "corpus.decontaminate.benchmark"}),
        ({"decontaminate": {"benchmark": "klue"}}, set()),
    ):
        given = recipe(corpus={"inputs": ["a.txt"], "pii": {"enabled": False}, **corpus})
        tree = published(given)
        assert nulls(tree) == left
        (tmp_path / "pub.yaml").write_text(yaml.safe_dump(tree), encoding="utf-8")
        again = load_recipe(tmp_path / "pub.yaml")
        for part in ("corpus", "tokenizer", "encode", "pretrain", "klue"):
            assert dump_settings(getattr(again, part)) == bare(dump_settings(getattr(given, part))), part


def nulls(tree: Any, key: str = "") -> set[str]:
    """The dotted keys of a tree whose value is null."""
    if isinstance(tree, dict):
        return {found for name, value in tree.items() for found in nulls(value, f"{key}.{name}".strip("."))}
    return {key} if tree is None else set()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of somebody else, with the files that published recipes name beside them."""
    folder = tmp_path_factory.mktemp("elsewhere")
    write_sample(folder / "sample")
    for source in (folder / "sample" / "corpora").iterdir():
        (folder / source.name).symlink_to(source)
    (folder / "klue").symlink_to(folder / "sample" / "klue")
    return folder


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_published_recipes_run(path: Path, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("HUNMIN_PII_KEY", "0" * 64)
    mine = path.stem == "quickstart"
    yours = [] if mine else ["corpus.inputs=[/home/me/news.jsonl]", "klue.data=/data/klue"]
    for batch in (["pretrain.micro_batch=8"], []):
        loaded = load_recipe(path, [*yours, *batch])
        text = public_recipe(loaded)
        refuse_private({"recipe.yaml": text})
        (tmp_path / "pub.yaml").write_text(text, encoding="utf-8")
        again = load_recipe(tmp_path / "pub.yaml")
        assert public_recipe(again) == text and again.name == path.stem
        assert again.pretrain.global_batch == loaded.pretrain.global_batch
    corpora = sorted(str(file) for file in (place / "sample" / "corpora").iterdir())
    changes = [f"out={tmp_path / 'out'}", *([] if mine else [f"corpus.inputs={json.dumps(corpora)}"])]
    base_on_hub = again.pretrain.init_from is not None  # and not in the cache of this test
    assert run_command(["run", str(tmp_path / "pub.yaml"), *changes, "--dry-run"]) == (2 if base_on_hub else 0)
