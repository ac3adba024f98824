"""A flipped bit in each file of a decoder's newest checkpoint: the one before is resumed from, to the same end."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tiny_decoders import write_job

from common.errors import UserError
from pretrain.callbacks.metrics import read_metrics
from pretrain.callbacks.tuning_checkpoints import newest_checkpoint
from tests.damage import flip, tree

LORA = {"rank": 4, "alpha": 8, "dropout": 0.1}
SHARED = ["code.json", "manifest.json", "optimizer.pt", "rng_state.pth", "scheduler.pt", "trainer_state.json",
          "training_args.bin"]  # fmt: skip
FILES = {
    "all": ["config.json", "generation_config.json", "model.safetensors"],
    "lora": ["README.md", "adapter_config.json", "adapter_model.safetensors"],
}
NEWEST, BEFORE = "checkpoint-12", "checkpoint-9"
CHANGES: dict[str, dict[str, Any]] = {"all": {}, "lora": {"lora": LORA}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tuned")


@pytest.fixture
def whole(folder: Path, bases: dict[str, Path], run: Any) -> Any:
    def of(kind: str) -> Path:
        """Return a finished tuning, made once of each kind, with two checkpoints."""
        return folder / kind if (folder / kind).exists() else run(bases["llama"], folder / kind, **CHANGES[kind])

    return of


def copied(whole: Path, out: Path) -> Path:
    """Return the newest checkpoint in a copy of a tuning that has not left its model yet."""
    shutil.copytree(whole, out, dirs_exist_ok=True)
    shutil.rmtree(out / "model")
    shutil.rmtree(out / "adapter", ignore_errors=True)
    return out / "checkpoints" / NEWEST


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in FILES for name in [*FILES[kind], *SHARED]])
def test_the_one_before_is_resumed_from(
    kind: str, name: str, whole: Any, bases: dict[str, Path], run: Any, tmp_path: Path, capsys: Any
) -> None:
    newest = copied(whole(kind), tmp_path)
    assert {*tree(newest)} == {*FILES[kind], *SHARED}
    flip(newest / name)
    files = tree(newest)
    run(bases["llama"], tmp_path, **CHANGES[kind])
    assert f"{NEWEST} is passed over: {name} is damaged" in " ".join(capsys.readouterr().err.split())
    assert tree(newest.parent / "damaged" / NEWEST) == files
    for part in ("model", *(["adapter"] if kind == "lora" else [])):
        assert tree(tmp_path / part) == tree(whole(kind) / part)
    figures = [read_metrics(out / "logs" / "metrics.jsonl") for out in (tmp_path, whole(kind))]
    assert figures[0] == figures[1]


def test_tuning_does_not_begin_anew_where_none_is_sound(
    whole: Any, bases: dict[str, Path], run: Any, tmp_path: Path
) -> None:
    newest = copied(whole("all"), tmp_path)
    flip(newest / "optimizer.pt")
    flip(newest.with_name(BEFORE) / "manifest.json")
    files = tree(newest.parent)
    with pytest.raises(UserError, match=rf"{NEWEST}/optimizer\.pt is damaged.*{BEFORE}/manifest\.json is damaged"):
        run(bases["llama"], tmp_path)
    assert tree(newest.parent) == files and not (tmp_path / "model").exists()


def test_a_damaged_later_checkpoint_never_costs_the_new_one(
    whole: Any, bases: dict[str, Path], run: Any, tmp_path: Path
) -> None:
    """A stop left a checkpoint between the others; the run that resumes before it keeps its own newest one."""
    run(bases["llama"], tmp_path, stop_at=11)
    assert newest_checkpoint(tmp_path / "checkpoints")[0] == 11
    flip(tmp_path / "checkpoints" / "checkpoint-11" / "optimizer.pt")
    run(bases["llama"], tmp_path, stop_at=10, keep_last=1)
    assert newest_checkpoint(tmp_path / "checkpoints")[0] == 10
    run(bases["llama"], tmp_path)
    assert tree(tmp_path / "model") == tree(whole("all") / "model")
    assert (tmp_path / "checkpoints" / "damaged" / "checkpoint-11" / "optimizer.pt").is_file()


@pytest.mark.drill
@pytest.mark.parametrize("zero", [1, 2, 3])
def test_two_processes_under_zero_resume_from_the_one_before(
    zero: int, build: Path, bases: dict[str, Path], tmp_path: Path
) -> None:
    """Each file of DeepSpeed's checkpoint is checked; the run resumes in earnest after damage in one of a process."""
    from test_worlds import launched

    job = write_job(bases["llama"], build, tmp_path / "run", processes=2, zero_stage=zero)
    code, errors = launched(job, "pretrain.tuning.train", "2")
    assert code == 0, errors
    names = [*tree(tmp_path / "run" / "checkpoints" / NEWEST)]
    states = [name for name in names if "optim_states" in name]
    assert len(states) == 2 and "manifest.json" in names
    for name in names:
        shutil.copytree(tmp_path / "run" / "checkpoints", tmp_path / "copy")
        flip(tmp_path / "copy" / NEWEST / name)
        assert newest_checkpoint(tmp_path / "copy") == (9, tmp_path / "copy" / BEFORE), name
        shutil.rmtree(tmp_path / "copy")
    model = tree(tmp_path / "run" / "model")
    newest = copied(tmp_path / "run", tmp_path / "again")
    flip(newest / states[1])
    files = tree(newest)
    job = write_job(bases["llama"], build, tmp_path / "again", processes=2, zero_stage=zero)
    code, errors = launched(job, "pretrain.tuning.train", "2")
    assert code == 0, errors
    assert f"{NEWEST} is passed over: {states[1]} is damaged" in " ".join(errors.split())
    assert tree(newest.parent / "damaged" / NEWEST) == files and tree(tmp_path / "again" / "model") == model
