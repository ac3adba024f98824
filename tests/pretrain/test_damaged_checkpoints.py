"""A flipped bit in each file of a pretraining's newest checkpoint: the one before is resumed from, to the same end."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from pretrain.callbacks.checkpoint_metadata import step_folder
from tests.damage import flip, tree

sys.path.insert(0, str(Path(__file__).parent))
from training_runs import MODEL, finish, losses, start, train

FILES = ["complete.json", "optimizer.safetensors", "vocab.txt", "weights.safetensors"]


def copied(straight: Path, out: Path) -> Path:
    """Return a copy of a finished run with its last two checkpoints, before it has left a model."""
    for step in (50, 60):
        shutil.copytree(step_folder(straight / "checkpoints", step), step_folder(out / "checkpoints", step))
    shutil.copytree(straight / "logs", out / "logs")
    return out


@pytest.mark.parametrize("name", FILES)
def test_the_one_before_is_resumed_from(
    name: str, straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    newest = step_folder(copied(straight, tmp_path) / "checkpoints", 60)
    assert {*tree(newest)} == {*FILES}
    flip(newest / name)
    files = tree(newest)
    errors = " ".join(train(tmp_path, tokens, tokenizer).split())
    assert f"step-00000060 is passed over: {name} is damaged" in errors and "resuming at step 50 of 60" in errors
    assert tree(tmp_path / "checkpoints" / "damaged" / newest.name) == files
    assert tree(newest) == tree(step_folder(straight / "checkpoints", 60)) != files
    assert (tmp_path / MODEL).read_bytes() == (straight / MODEL).read_bytes() and losses(tmp_path) == losses(straight)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("zero", [2, 3])
def test_it_is_resumed_from_under_zero_too(
    zero: int, name: str, straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    """A checkpoint holds whole weights, whatever the stage: the steps after it are those of another engine."""
    newest = step_folder(copied(straight, tmp_path) / "checkpoints", 60)
    flip(newest / name)
    files = tree(newest)
    changes = {"engine": "deepspeed", "zero_stage": zero}
    errors = " ".join(train(tmp_path, tokens, tokenizer, processes=2, **changes).split())
    assert f"step-00000060 is passed over: {name} is damaged" in errors and "resuming at step 50 of 60" in errors
    assert tree(tmp_path / "checkpoints" / "damaged" / newest.name) == files and (tmp_path / MODEL).is_file()


def test_training_does_not_begin_anew_where_none_is_sound(
    straight: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    copied(straight, tmp_path)
    for step, name in ((50, "optimizer.safetensors"), (60, "complete.json")):
        flip(step_folder(tmp_path / "checkpoints", step) / name)
    files = tree(tmp_path / "checkpoints")
    code, errors = finish(start(tmp_path, tokens, tokenizer))
    message = " ".join(errors.split())
    assert code == 2 and "step-00000060/complete.json is damaged" in message and "Traceback" not in errors
    assert "step-00000050/optimizer.safetensors is damaged" in message
    assert tree(tmp_path / "checkpoints") == files and not (tmp_path / "model").exists()
