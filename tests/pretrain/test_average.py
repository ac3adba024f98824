"""The mean of checkpoints: by hand, of equal ones, and what has none."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from common.errors import HunminError, UserError
from hunmin.main import run_command
from hunmin.recipes.recipe import Recipe
from pretrain.callbacks.checkpoint_metadata import METADATA, WEIGHTS, read_metadata, step_folder, write_metadata
from pretrain.export import export_checkpoint, is_export_of
from pretrain.export.checkpoint import checkpoints_to_average, mean_weights
from pretrain.export.run import export_run
from tokenizer.save import build_tokenizer, save_tokenizer

sys.path.insert(0, str(Path(__file__).parent))
from training_runs import train

MODEL = "model.safetensors"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tokens: Path, tokenizer: Path) -> Path:
    """A run of three checkpoints, the first of them of another phase; read only."""
    vocabulary, out = tmp_path_factory.mktemp("vocabulary"), tmp_path_factory.mktemp("run")
    entries = (tokenizer / "vocab.txt").read_text(encoding="utf-8").split()
    save_tokenizer(build_tokenizer(entries, "roberta"), "roberta", 16, vocabulary)
    train(out, tokens, vocabulary, steps=30, phases=[{"steps": 10, "objective": "clm"}, {"steps": 20}])
    return out


def checkpoint(run: Path, step: int) -> Path:
    return step_folder(run / "checkpoints", step)


def test_the_mean_of_two_checkpoints_is_that_of_their_numbers(run: Path, tmp_path: Path) -> None:
    last = checkpoint(run, 30)
    export_checkpoint(last, tmp_path / "model", average=2)
    first, second = (load_file(checkpoint(run, step) / WEIGHTS) for step in (20, 30))
    mean = load_file(tmp_path / "model" / MODEL)
    assert mean.keys() == first.keys() == second.keys()
    for name, weight in mean.items():
        truth = ((first[name].astype(np.float64) + second[name]) / 2).astype(np.float32)
        assert weight.dtype == np.float32 and weight.tobytes() == truth.tobytes(), name
        assert first[name].any() and name in second
    assert any((first[name] != mean[name]).any() for name in mean)
    assert is_export_of(tmp_path / "model", last, average=2) and not is_export_of(tmp_path / "model", last)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_the_mean_of_equal_checkpoints_has_their_bytes(run: Path, tmp_path: Path, count: int) -> None:
    """Zeros below zero and numbers without a short fraction among them."""
    source, folder = checkpoint(run, 30), tmp_path / "checkpoints"
    for step in range(1, count + 1):
        copied = shutil.copytree(source, step_folder(folder, step))
        write_metadata(copied, {**(read_metadata(source) or {}), "step": step})
    paths = checkpoints_to_average(step_folder(folder, count), count)
    assert [*paths] == list(range(1, count + 1))
    for name, weight in mean_weights(paths.values()).items():
        assert weight.numpy().tobytes() == load_file(source / WEIGHTS)[name].tobytes(), name
    export_checkpoint(step_folder(folder, count), tmp_path / "mean", average=count)
    export_checkpoint(source, tmp_path / "one")
    assert (tmp_path / "mean" / MODEL).read_bytes() == (tmp_path / "one" / MODEL).read_bytes()


def test_a_mean_keeps_the_sign_of_zero(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    numbers = np.array([-0.0, 0.0, 1 / 3, -1e-38, 3e38], np.float32)
    for name in "ab":
        (tmp_path / name).mkdir()
        save_file({"w": numbers}, tmp_path / name / WEIGHTS)
    (mean,) = mean_weights([tmp_path / "a", tmp_path / "b", tmp_path / "a"]).values()
    assert mean.numpy().tobytes() == numbers.tobytes()


def test_the_export_of_a_run_names_what_it_averaged(run: Path, tmp_path: Path) -> None:
    (tmp_path / "mean").mkdir()
    (tmp_path / "last").mkdir()
    counts = export_run(run, tmp_path / "mean", 2)
    assert counts["step"] == 30 and counts["averaged"] == [20, 30]
    assert "averaged" not in export_run(run, tmp_path / "last")
    assert (tmp_path / "last" / MODEL).read_bytes() == (run / "model" / MODEL).read_bytes()
    assert (tmp_path / "mean" / MODEL).read_bytes() != (run / "model" / MODEL).read_bytes()


def test_what_has_no_mean_is_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    last = checkpoint(run, 30)
    with pytest.raises(UserError, match=r"(?s)has 3 checkpoints up to step-00000030, and 4 are.*average 3 at most"):
        export_checkpoint(last, tmp_path / "model", average=4)
    with pytest.raises(UserError, match=r"(?s)step 10 has another objective than step-00000030.*average 2 checkpoints"):
        export_checkpoint(last, tmp_path / "model", average=3)
    with pytest.raises(UserError, match=r"(?s)step 10 has another objective.*without an average"):
        export_checkpoint(checkpoint(run, 20), tmp_path / "model", average=2)
    assert run_command(["export", str(last), "--out", str(tmp_path / "model"), "--average", "1"]) == 2
    assert "greater than or equal to 2" in capsys.readouterr().err
    damaged = tmp_path / "checkpoints"
    shutil.copytree(run / "checkpoints", damaged)
    weights = step_folder(damaged, 20) / WEIGHTS
    changed = bytearray(weights.read_bytes())
    changed[-1] ^= 1
    weights.write_bytes(changed)
    with pytest.raises(HunminError, match=r"step-00000020 is damaged"):
        export_checkpoint(step_folder(damaged, 30), tmp_path / "model", average=2)
    (step_folder(damaged, 20) / METADATA).unlink()
    with pytest.raises(UserError, match="2 checkpoints up to"):
        export_checkpoint(step_folder(damaged, 30), tmp_path / "model", average=3)
    assert not (tmp_path / "model").exists()


def test_the_command_averages(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    last, out = checkpoint(run, 30), tmp_path / "model"
    assert run_command(["export", str(last), "--out", str(out), "--average", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["average"] == 2
    export_checkpoint(last, tmp_path / "other", average=2)
    assert (out / MODEL).read_bytes() == (tmp_path / "other" / MODEL).read_bytes()


SAVING = {"steps": 40, "checkpoint_every": 10, "keep_last": 4, "optimizer": {"warmup_steps": 4}}
LONG = {"steps": 20, "max_seq_len": 64}


@pytest.mark.parametrize(
    ("average", "changes", "said"),
    [
        (1, {}, "greater than or equal to 2"),
        (5, {}, r"keep_last=4.*set pretrain.keep_last=5"),
        (5, {"keep_last": 5}, r"4 checkpoints that training saves; lower it"),
        (3, {"phases": [{"steps": 20}, LONG]}, r"back to step 20, in a phase of another"),
        (2, {"phases": [{"steps": 20}, LONG]}, ""),
        (4, {"phases": [{"steps": 20}, {"steps": 20, "global_batch": 64}]}, ""),
        (4, {}, ""),
    ],
)
def test_a_recipe_averages_what_training_leaves(average: int, changes: dict[str, Any], said: str) -> None:
    tree = {"name": "x", "out": "run", "corpus": {"inputs": ["a.jsonl"]}, "export": {"average": average}}
    tree["pretrain"] = {**SAVING, **changes}
    if not said:
        assert Recipe.model_validate(tree).export.average == average
        return
    with pytest.raises(ValueError, match=said):
        Recipe.model_validate(tree)
