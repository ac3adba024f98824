"""Names on the hub: from the cache, else fetched, always of one commit, which is recorded and kept."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
import torch
import yaml
from hub_server import Hub, Repository
from huggingface_hub import constants
from safetensors.torch import save
from transformers import RobertaConfig, RobertaModel

from common.errors import UserError
from common.manifest import Manifest, describe_outputs, write_manifest
from common.names import commit_of, find, find_here, hub_name, pinned_name, read_commits, shown_name
from data.readers.hub import split_name
from data.readers.volume import file_version
from hunmin.api import TextEncoder
from hunmin.hub.scrub import base_model, public_recipe
from hunmin.main import run_command
from hunmin.pipeline.inputs import Input
from hunmin.pipeline.stages import stage_named
from hunmin.recipes.pins import refuse_unknown_names
from hunmin.recipes.preflight import refuse_other_model
from hunmin.recipes.recipe import load_recipe, save_recipe
from tokenizer.save import build_tokenizer, save_tokenizer

COMMIT, OTHER, THIRD = "0123456789abcdef" * 2 + "01234567", "f" * 40, "a" * 40
VOCABULARY = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]", "나라", "##의", "말", "##이"]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    save_tokenizer(build_tokenizer(VOCABULARY, "roberta"), "roberta", 32, folder)
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub's library, and a folder to work in without any."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "cache"


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


def store(cache: Path, repository: str, commit: str, files: dict[str, bytes], kind: str = "models") -> Path:
    """Write a repository's commit, its main, into a cache as the hub's library lays it out."""
    folder = cache / f"{kind}--{repository.replace('/', '--')}"
    for name, content in files.items():
        (folder / "snapshots" / commit / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "snapshots" / commit / name).write_bytes(content)
    (folder / "refs").mkdir(exist_ok=True)
    (folder / "refs" / "main").write_text(commit, encoding="utf-8")
    return folder / "snapshots" / commit


def model_files(tokenizer: Path) -> dict[str, bytes]:
    files = {name: (tokenizer / name).read_bytes() for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt")}
    config = {"model_type": "roberta", "vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1,
              "num_attention_heads": 2, "intermediate_size": 32, "pad_token_id": 1}  # fmt: skip
    weights = RobertaModel(RobertaConfig(**config), add_pooling_layer=False).state_dict()
    stored = save({name: torch.zeros_like(value) for name, value in weights.items()}, {"format": "pt"})
    return {**files, "config.json": json.dumps(config).encode(), "model.safetensors": stored}


def test_a_path_that_exists_is_that_path_and_hf_is_the_hub(cache: Path, offline: None) -> None:
    assert find("runs/x/export", "model") == Path("runs/x/export")
    assert find("./x/y", "model") == Path("./x/y") and hub_name("/a/b") is None and hub_name("a/b/c") is None
    Path("klue/roberta-base").mkdir(parents=True)
    assert find("klue/roberta-base", "model") == Path("klue/roberta-base")  # as transformers has it
    with pytest.raises(UserError, match="not in the hub's cache"):
        find("hf:klue/roberta-base", "model")


@pytest.mark.parametrize("name", ["klue/roberta-base", "hf:klue/roberta-base", f"klue/roberta-base@{COMMIT}"])
def test_what_the_cache_holds_is_taken_without_a_connection(
    name: str, cache: Path, offline: None, tokenizer: Path
) -> None:
    folder = store(cache, "klue/roberta-base", COMMIT, model_files(tokenizer))
    commits: dict[str, str] = {}
    assert find(name, "model", commits) == find_here(name, "model") == folder
    assert list(commits.values()) == [COMMIT]
    assert shown_name(folder) == "klue/roberta-base" and pinned_name(folder) == f"hf:klue/roberta-base@{COMMIT}"
    data = store(cache, "klue/klue", OTHER, {"ynat/x.parquet": b""}, "datasets")
    assert find("klue/klue", "dataset") == data


def test_a_cache_behind_a_link_and_a_broken_ref(
    tmp_path: Path, cache: Path, offline: None, tokenizer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = store(cache, "klue/roberta-base", COMMIT, model_files(tokenizer))
    (tmp_path / "link").symlink_to(cache)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "link"))
    assert find("klue/roberta-base", "model") == tmp_path / "link" / folder.relative_to(cache)
    for written in ("", "abc"):
        (folder.parents[1] / "refs" / "main").write_text(written, encoding="utf-8")
        assert find_here("klue/roberta-base", "model") is None and find_here("한글/이름", "model") is None
    assert find(f"klue/roberta-base@{COMMIT}", "model").name == COMMIT


def test_offline_one_error_says_what_to_fetch(cache: Path, offline: None, tokenizer: Path) -> None:
    for name, part, command in (
        ("klue/roberta-base", "model", "hf download klue/roberta-base"),
        (f"hf:klue/roberta-base@{OTHER}", "tokenizer", f"hf download klue/roberta-base --revision {OTHER}"),
        ("someone/tasks", "dataset", "hf download someone/tasks --repo-type dataset"),
    ):
        with pytest.raises(UserError, match="not in the hub's cache") as caught:
            find(name, part)  # type: ignore[arg-type]
        assert command in caught.value.fix and find_here(name, part) is None  # type: ignore[arg-type]
    files = model_files(tokenizer)
    store(cache, "klue/roberta-base", COMMIT, {name: files[name] for name in ("tokenizer.json", "config.json")})
    assert find_here("klue/roberta-base", "tokenizer") and not find_here("klue/roberta-base", "model")  # no weights


@pytest.mark.parametrize("name", ["hf:", "hf:a/b/c", "hf:../../etc", "hf:../a", "hf:a--b/c", "hf:a/b@", "hf:a b/c"])
def test_no_name(name: str, cache: Path, offline: None) -> None:
    with pytest.raises(UserError, match="is no name on the hub"):
        find(name, "model")


def test_what_the_cache_lacks_is_fetched_and_its_commit_kept(
    hub: Hub, cache: Path, tokenizer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        **model_files(tokenizer),
        "pytorch_model.bin": b"the same",
        "onnx/model.onnx": b"the same",
        "tf_model.h5": b"",
    }
    hub.repositories["klue/roberta-base"] = Repository(False, {COMMIT: files}, COMMIT)
    commits: dict[str, str] = {}
    folder = find("klue/roberta-base", "tokenizer", commits)
    assert folder == cache / "models--klue--roberta-base" / "snapshots" / COMMIT
    assert not (folder / "model.safetensors").exists() and (folder / "tokenizer.json").is_file()
    # meanwhile its owner changes it: what is fetched later is of the commit that was met first
    hub.repositories["klue/roberta-base"].commits[OTHER] = {**files, "model.safetensors": b"others"}
    hub.repositories["klue/roberta-base"].head = OTHER
    assert find("klue/roberta-base", "model", commits) == folder and commits == {"klue/roberta-base": COMMIT}
    assert (folder / "model.safetensors").read_bytes() == files["model.safetensors"]
    held = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert held == set(model_files(tokenizer))  # once each, and what this program reads
    assert (
        f"fetching model klue/roberta-base (commit {COMMIT[:12]})" in (said := capsys.readouterr().err)
        and "%" not in said
    )
    calls = len(hub.calls)
    assert find("klue/roberta-base", "model") == folder and len(hub.calls) == calls
    assert find("hf:klue/roberta-base@main", "model", {"klue/roberta-base@main": OTHER}).name == OTHER


def test_data_sets_are_fetched_whole(hub: Hub, cache: Path) -> None:
    hub.repositories["datasets/klue/klue"] = Repository(False, {COMMIT: {"ynat/train.parquet": b"1"}}, COMMIT)
    folder = find("klue/klue", "dataset")
    assert (folder / "ynat" / "train.parquet").read_bytes() == b"1" and folder.name == COMMIT
    assert commit_of(hub_name("klue/klue"), "dataset") == COMMIT  # type: ignore[arg-type]


OWN = {"name": "tone", "train": "hf:a/tone/data/train.csv", "dev": "hf:a/tone/dev.csv@v1"}


def test_a_file_of_a_data_set_is_fetched_alone(hub: Hub, cache: Path) -> None:
    files = {"data/train.csv": b"text,label\n", "dev.csv": b"1", "data/raw.zip": b"not asked for"}
    hub.repositories["datasets/a/tone"] = Repository(False, {COMMIT: files}, COMMIT)
    assert find_here(OWN["train"], "dataset") is None
    commits: dict[str, str] = {}
    path = find(OWN["train"], "dataset", commits)
    folder = cache / "datasets--a--tone" / "snapshots" / COMMIT
    assert path == folder / "data" / "train.csv" and path.read_bytes() == files["data/train.csv"]
    assert [file.name for file in folder.rglob("*.*")] == ["train.csv"] and commits == {"a/tone": COMMIT}
    assert pinned_name(path) == f"hf:a/tone/data/train.csv@{COMMIT}"
    calls = len(hub.calls)
    assert find_here(OWN["train"], "dataset") == path == find(str(pinned_name(path)), "dataset")
    assert len(hub.calls) == calls
    with pytest.raises(UserError, match=r"no file 'data/trian.csv' \(did you mean 'data/train.csv'\?\)"):
        find("hf:a/tone/data/trian.csv", "dataset")
    for name, part in (("hf:a/tone/../../x.csv", "dataset"), (OWN["train"], "model")):
        with pytest.raises(UserError, match="is no name on the hub"):
            find(name, part)  # type: ignore[arg-type]


def test_files_of_own_tasks_are_of_one_commit(hub: Hub, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"data/train.csv": b"text,label\n", "dev.csv": b"text,label\n"}
    hub.repositories["datasets/a/tone"] = Repository(False, {COMMIT: files}, COMMIT)
    tree = {"name": "t", "out": "run", "klue": {"own": [OWN | {"dev": 0.1}], "suites": ["own"]}}
    tree["corpus"] = {"inputs": ["texts.jsonl"]}
    Path("recipe.yaml").write_text(yaml.safe_dump(tree), encoding="utf-8")
    with pytest.raises(UserError, match=r"fetch it: hf download a/tone data/train\.csv --repo-type dataset"):
        refuse_unknown_names(load_recipe("recipe.yaml"), ask=False)
    recipe = load_recipe("recipe.yaml", fetch=True)
    path = str(cache / "datasets--a--tone" / "snapshots" / COMMIT / "data" / "train.csv")
    assert recipe.klue and recipe.klue.own[0].train == path and recipe.hub.commits == {"a/tone": COMMIT}
    save_recipe(recipe, Path("run/recipe.yaml"))
    (cache / "datasets--a--tone" / "refs" / "main").write_text(OTHER)
    assert load_recipe("recipe.yaml", fetch=True) == recipe
    assert yaml.safe_load(public_recipe(recipe))["klue"]["own"][0]["train"] == f"hf:a/tone/data/train.csv@{COMMIT}"


def test_what_the_hub_does_not_have_is_one_error(hub: Hub, cache: Path, tokenizer: Path) -> None:
    with pytest.raises(UserError, match="runs/exprt is neither a folder here nor a model on the hub"):
        find("runs/exprt", "model")
    hub.repositories["a/b"] = Repository(False, {COMMIT: {"README.md": b""}}, COMMIT)
    with pytest.raises(UserError, match=r"does not hold config\.json, weights and a tokenizer"):
        find("a/b", "model")
    assert run_command(["klue", "finetune", "a/b", "--data", "a/b", "--out", "x"]) == 2


def test_a_runs_folder_stands_for_its_export_and_its_tokenizer(cache: Path, offline: None, tokenizer: Path) -> None:
    run = Path("run")
    run.mkdir()
    (run / "recipe.yaml").write_text("name: x\n")
    for part, inner in (("model", "export"), ("tokenizer", "tokenizer")):
        with pytest.raises(UserError, match=f"stage '{inner}' is not finished"):
            find(run, part)  # type: ignore[arg-type]
        (run / inner).mkdir()
        (run / inner / "manifest.json").write_text("{}")
        assert find(run, part) == run / inner  # type: ignore[arg-type]
    assert find(run, "dataset") == run
    (run / "config.json").write_text("{}")  # a model with its recipe beside it, as pushes leave them
    assert find(run, "model") == run


def test_commands_take_names(
    hub: Hub, cache: Path, tokenizer: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    hub.repositories["klue/bert-base"] = Repository(False, {COMMIT: model_files(tokenizer)}, COMMIT)
    Path("text.txt").write_text("나라의 말이\n" * 20, encoding="utf-8")
    run = Path("run")
    (run / "tokenizer").mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (run / "tokenizer" / name).write_bytes((tokenizer / name).read_bytes())
    outputs = describe_outputs(run / "tokenizer")
    write_manifest(run / "tokenizer", Manifest(stage="tokenizer", settings={}, inputs={}, outputs=outputs))
    (run / "recipe.yaml").write_text("name: x\n")
    assert run_command(["tokenizer", "compare", "klue/bert-base", "run", "--text", "text.txt", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["tokenizer"] for row in rows] == ["klue/bert-base", "run"]
    assert run_command(["tokenizer", "show", "hf:klue/bert-base", "나라의", "--with", "run", "--json"]) == 0
    assert [row["line"] for row in json.loads(capsys.readouterr().out)][1:] == ["나라 ##의"] * 2
    Path("words.txt").write_text("훈민\n", encoding="utf-8")
    assert run_command(["tokenizer", "extend", "klue/bert-base", "--words", "words.txt", "--out", "longer"]) == 0
    assert json.loads(Path("longer/manifest.json").read_bytes())["settings"]["base"] == f"hf:klue/bert-base@{COMMIT}"
    assert TextEncoder("klue/bert-base").vocab_size == len(VOCABULARY)


def test_decontamination_takes_a_data_set_on_the_hub(hub: Hub, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guid, sentence = "b-1", "나라의 말이 중국과 달라 한자와 서로 통하지 아니한다."
    line = json.dumps({"guid": guid, "sentence": sentence, "title": sentence}, ensure_ascii=False)
    hub.repositories["datasets/a/tasks"] = Repository(False, {COMMIT: {"dev.jsonl": line.encode()}}, COMMIT)
    Path("in.jsonl").write_text(json.dumps({"id": "1", "text": sentence}, ensure_ascii=False) + "\n", encoding="utf-8")
    words = ["corpus", "decontaminate", "--benchmark", "a/tasks", "--in", "in.jsonl", "--out", "out.jsonl"]
    assert run_command([*words, "--hits", "hits.jsonl"]) == 0
    assert Path("out.jsonl").read_text() == "" and json.loads(Path("hits.jsonl").read_text())["benchmark_guid"] == guid


def test_fine_tuning_records_commits_and_keeps_to_them(
    hub: Hub, cache: Path, tokenizer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.repositories["klue/bert-base"] = Repository(False, {COMMIT: model_files(tokenizer)}, COMMIT)
    hub.repositories["datasets/klue/klue"] = Repository(False, {THIRD: {"ynat/train.parquet": b"1"}}, THIRD)
    met: list[tuple[str, str]] = []

    def run_klue(settings: object, model: Path, *_: object, **share: object) -> None:
        met.append((model.name, Path(settings.data).name))  # type: ignore[attr-defined]
        raise UserError("enough")

    monkeypatch.setattr("klue.runner.run_klue", run_klue)
    command = ["klue", "finetune", "klue/bert-base", "--data", "klue/klue", "--out", "scores"]
    assert run_command(command) == 2
    assert read_commits(Path("scores")) == {"klue/bert-base": COMMIT, "klue/klue": THIRD}
    for name, kind in (("klue/bert-base", "models"), ("klue/klue", "datasets")):  # something else is main by now
        (cache / f"{kind}--{name.replace('/', '--')}" / "refs" / "main").write_text(OTHER)
    assert run_command(command) == 2
    assert met == [(COMMIT, THIRD)] * 2


def test_a_recipe_names_commits_and_its_run_keeps_them(hub: Hub, cache: Path, tokenizer: Path) -> None:
    hub.repositories["klue/roberta-base"] = Repository(False, {COMMIT: model_files(tokenizer)}, COMMIT)
    hub.repositories["datasets/klue/klue"] = Repository(False, {THIRD: {"ynat/train.parquet": b"1"}}, THIRD)
    hub.repositories["datasets/someone/news"] = Repository(False, {OTHER: {}}, OTHER)
    tree = {
        "name": "t", "out": "run", "klue": {"data": "klue/klue"}, "tokenizer": {"base": "klue/roberta-base"},
        "corpus": {"inputs": ["someone/news", {"path": "hf:someone/news/old@test"}, "texts/gone.jsonl"]},
        "pretrain": {"init_from": "klue/roberta-base"},
    }  # fmt: skip
    Path("recipe.yaml").write_text(yaml.safe_dump(tree), encoding="utf-8")
    looked_at = load_recipe("recipe.yaml")  # a plan, a page: nothing is fetched
    assert looked_at.pretrain.init_from == "klue/roberta-base" and looked_at.klue and looked_at.klue.data == "klue/klue"
    assert stage_named("klue").inputs(looked_at) == []
    assert stage_named("tokenizer").inputs(looked_at) == [Input("tokenizer.base", "", "klue/roberta-base")]
    refuse_unknown_names(looked_at, ask=True)
    assert not cache.exists()
    with pytest.raises(UserError, match="neither a path here nor in the hub's cache") as caught:
        refuse_unknown_names(looked_at, ask=False)
    for command in ("hf download klue/roberta-base", "hf download klue/klue --repo-type dataset"):
        assert str(caught.value).count(f"fetch it: {command}") == 1
    with pytest.raises(UserError, match="sample/klu is neither a folder here nor a data set on the hub"):
        refuse_unknown_names(load_recipe("recipe.yaml", ["klue.data=sample/klu"]), ask=True)
    recipe = load_recipe("recipe.yaml", fetch=True)
    pinned = f"hf:klue/roberta-base@{COMMIT}"
    assert (recipe.pretrain.init_from, recipe.tokenizer.base) == (pinned, pinned)
    data = str(cache / "datasets--klue--klue" / "snapshots" / THIRD)
    assert recipe.klue and recipe.klue.data == data and recipe.corpus.decontaminate.benchmarks == [data]
    inputs = [one if isinstance(one, str) else one.path for one in recipe.corpus.inputs]
    assert inputs == [f"hf:someone/news@train@{OTHER}", f"hf:someone/news/old@test@{OTHER}", "texts/gone.jsonl"]
    assert recipe.hub.commits == {"klue/roberta-base": COMMIT, "klue/klue": THIRD, "someone/news": OTHER}
    save_recipe(recipe, Path("run/recipe.yaml"))
    for name, kind in (("klue/roberta-base", "models"), ("klue/klue", "datasets")):
        (cache / f"{kind}--{name.replace('/', '--')}" / "refs" / "main").write_text("c" * 40)
    hub.repositories["datasets/someone/news"].head = "b" * 40
    assert load_recipe("recipe.yaml", fetch=True) == recipe == load_recipe("run/recipe.yaml", fetch=True)
    assert base_model(recipe) == "klue/roberta-base"
    public = yaml.safe_load(public_recipe(recipe))
    assert public["pretrain"]["init_from"] == pinned and public["klue"]["data"] == f"hf:klue/klue@{THIRD}"
    with pytest.raises(UserError, match="another shape"):  # by the model in the cache, before any stage
        refuse_other_model(recipe)


def test_a_data_sets_revision_stands_after_its_split() -> None:
    assert split_name("hf:a/b") == ("a/b", None, "train", None)
    assert split_name("hf:a/b/c@test") == ("a/b", "c", "test", None)
    assert split_name("hf:a/b@test@v1") == ("a/b", None, "test", "v1")
    assert split_name(f"hf:a/b@{COMMIT}") == ("a/b", None, "train", COMMIT)
    assert file_version(f"hf:a/b@test@{COMMIT}").facts == [COMMIT]  # without asking anyone
