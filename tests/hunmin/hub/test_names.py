"""Names on the hub: a folder of the cache, one commit, and nothing fetched."""

import socket
from pathlib import Path

import pytest
from huggingface_hub import constants

from common.errors import UserError
from hunmin.hub.names import local_folder
from hunmin.main import run_command
from hunmin.recipe import load_recipe

COMMIT, OTHER = "0123456789abcdef" * 2 + "01234567", "f" * 40


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """A cache as the hub's library lays it out (huggingface.co/docs/huggingface_hub, "Understand caching")."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    for kind in ("models--klue--roberta-base", "datasets--klue--klue"):
        folder = tmp_path / kind
        (folder / "snapshots" / COMMIT).mkdir(parents=True)
        (folder / "snapshots" / COMMIT / "config.json").write_text("{}", encoding="utf-8")
        (folder / "refs").mkdir()
        (folder / "refs" / "main").write_text(COMMIT, encoding="utf-8")

    def refuse(*_, **__):
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    return tmp_path


def test_a_path_is_itself(tmp_path):
    assert local_folder("runs/x/export", "model") == Path("runs/x/export")


@pytest.mark.parametrize(
    ("name", "kind", "stored"),
    [
        ("klue/roberta-base", "model", "models--klue--roberta-base"),
        ("klue/klue", "dataset", "datasets--klue--klue"),
    ],
)
def test_a_commit_in_the_cache(cache, name, kind, stored):
    assert local_folder(f"hf:{name}@{COMMIT}", kind) == cache / stored / "snapshots" / COMMIT


def test_what_is_not_in_the_cache_is_not_fetched(cache):
    with pytest.raises(UserError, match="is not in the hub's cache") as caught:
        local_folder(f"hf:klue/roberta-base@{OTHER}", "model")
    assert caught.value.remedy == f"hf download klue/roberta-base --revision {OTHER}"
    with pytest.raises(UserError) as caught:
        local_folder(f"hf:someone/tasks@{OTHER}", "dataset")
    assert caught.value.remedy == f"hf download someone/tasks --repo-type dataset --revision {OTHER}"


@pytest.mark.parametrize("name", ["hf:klue/roberta-base", "hf:klue/roberta-base@main"])
def test_a_branch_is_refused_and_the_commit_told(cache, name):
    with pytest.raises(UserError, match="names no commit") as caught:
        local_folder(name, "model")
    assert caught.value.remedy == f"the cache has hf:klue/roberta-base@{COMMIT}"
    with pytest.raises(UserError, match="names no commit") as caught:
        local_folder("hf:someone/else@v1", "model")
    assert caught.value.remedy.startswith("hf download someone/else")


@pytest.mark.parametrize(
    "name",
    ["hf:roberta-base@main", "hf:", f"hf:a/b/c@{COMMIT}", "hf:../../etc", f"hf:../a@{COMMIT}", f"hf:a--b/c@{COMMIT}"],
)
def test_no_name(cache, name):
    with pytest.raises(UserError, match=r"is no name on the hub|names no commit"):
        local_folder(name, "model")


def test_the_command_takes_the_folder_of_the_cache(cache, capsys):
    model, data = f"hf:klue/roberta-base@{COMMIT}", f"hf:klue/klue@{COMMIT}"
    assert run_command(["klue", "finetune", model, "--data", data, "--out", str(cache / "out"), "--dry-run"]) == 2
    assert f"snapshots/{COMMIT}" in capsys.readouterr().err.replace("\n", "")
    assert run_command(["klue", "ceiling", "hf:klue/roberta-base@main", "--data", data]) == 2
    assert "names no commit" in capsys.readouterr().err


def test_a_recipe_takes_the_folder_of_the_cache(cache):
    values = ["corpus.inputs=[texts]", f"klue.data=hf:klue/klue@{COMMIT}", "klue.benchmarks=benchmarks"]
    recipe = load_recipe("local-small", values)
    folder = str(cache / "datasets--klue--klue" / "snapshots" / COMMIT)
    assert (recipe.klue.data, recipe.klue.benchmarks) == (folder, "benchmarks")
    assert recipe.corpus.decontaminate.benchmarks == [folder]
    with pytest.raises(UserError, match="is not in the hub's cache"):
        load_recipe("local-small", [values[0], f"klue.data=hf:klue/klue@{OTHER}"])
    load_recipe("local-small", [f"klue.data=hf:klue/klue@{OTHER}"], without_data=True)
