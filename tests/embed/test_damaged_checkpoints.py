"""A flipped bit in each file of the newest checkpoint of an embedder and of a reranker: the one before is resumed from,
to the same end."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tiny_encoders import losses_of

from common.errors import UserError
from tests.damage import flip, tree

pytest.importorskip("sentence_transformers")
FILES = ["code.json", "config.json", "manifest.json", "model.safetensors", "optimizer.pt", "rng_state.pth",
         "scheduler.pt", "trainer_state.json"]  # fmt: skip
KINDS = {"embedder": ["triplets"], "reranker": ["triplets", "distilled"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tuned")


@pytest.fixture(params=KINDS)
def tuned(request: Any, folder: Path, run: Any, base: Path, rows: dict[str, Any]) -> tuple[Path, Any]:
    """A finished tuning, made once of each kind, with two checkpoints, and what tunes it in another folder."""
    data, changes = [rows[name] for name in KINDS[request.param]], {"reranker": request.param == "reranker"}

    def again(out: Path) -> Path:
        return run(base, data, out, keep_last=2, **changes)

    return folder / request.param if (folder / request.param).exists() else again(folder / request.param), again


def copied(whole: Path, out: Path) -> Path:
    """Return the newest checkpoint in a copy of a tuning that has not left its model yet."""
    shutil.copytree(whole, out, dirs_exist_ok=True)
    shutil.rmtree(out / "model")
    return out / "checkpoints" / "checkpoint-9"


@pytest.mark.parametrize("name", FILES)
def test_the_one_before_is_resumed_from(name: str, tuned: Any, tmp_path: Path, capsys: Any) -> None:
    whole, again = tuned
    newest = copied(whole, tmp_path)
    assert {*tree(newest)} == {*FILES} and {*tree(newest.with_name("checkpoint-6"))} == {*FILES}
    flip(newest / name)
    held = tree(newest)
    again(tmp_path)
    assert f"checkpoint-9 is passed over: {name} is damaged" in " ".join(capsys.readouterr().err.split())
    assert tree(newest.parent / "damaged" / newest.name) == held
    assert tree(tmp_path / "model") == tree(whole / "model") and losses_of(tmp_path) == losses_of(whole)


def test_tuning_does_not_begin_anew_where_none_is_sound(tuned: Any, tmp_path: Path) -> None:
    whole, again = tuned
    newest = copied(whole, tmp_path)
    flip(newest / "optimizer.pt")
    flip(newest.with_name("checkpoint-6") / "manifest.json")
    held = tree(newest.parent)
    with pytest.raises(UserError, match=r"checkpoint-9/optimizer\.pt is damaged.*checkpoint-6/manifest\.json is dam"):
        again(tmp_path)
    assert tree(newest.parent) == held and not (tmp_path / "model").exists()
