"""Checkpoints of the Trainer: finished by their manifest, passed over when damaged, never deleted for that."""

from pathlib import Path

import pytest

from common.errors import UserError
from pretrain.callbacks.tuning_checkpoints import (
    damaged_files,
    finish_checkpoint,
    finished_checkpoints,
    newest_checkpoint,
)

FILES = ("model.safetensors", "optimizer.pt", "rng_state.pth", "scheduler.pt", "trainer_state.json", "code.json")


def write(folder: Path, step: int, finished: bool = True) -> Path:
    path = folder / f"checkpoint-{step}"
    path.mkdir(parents=True)
    for name in FILES:
        (path / name).write_bytes(f"{name} of step {step}".encode())
    if finished:
        finish_checkpoint(path)
    return path


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
@pytest.mark.parametrize("damage", ["flipped", "cut", "gone"])
def test_a_damaged_one_is_passed_over_and_stays(
    name: str, damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = write(tmp_path, 9), write(tmp_path, 10)
    content = bytearray((second / name).read_bytes())
    content[len(content) // 2] ^= 0x20
    (second / name).write_bytes(content if damage == "flipped" else content[:3])
    if damage == "gone" and name != "manifest.json":
        (second / name).unlink()
    files = {path.name: path.read_bytes() for path in second.iterdir()}
    assert newest_checkpoint(tmp_path) == (9, first)
    message = " ".join(capsys.readouterr().err.split())
    assert f"checkpoint-10 is passed over: {name} is damaged" in message
    assert {path.name: path.read_bytes() for path in (tmp_path / "damaged" / second.name).iterdir()} == files
    assert finished_checkpoints(tmp_path) == [(9, first)]


def test_each_byte_of_the_manifest_counts(tmp_path: Path) -> None:
    (tmp_path / "checkpoint-1").mkdir()
    (tmp_path / "checkpoint-1" / "model.safetensors").write_bytes(b"weights")
    finish_checkpoint(tmp_path / "checkpoint-1")
    path = tmp_path / "checkpoint-1" / "manifest.json"
    whole = path.read_bytes()
    assert damaged_files(path.parent) == []
    for place, byte in enumerate(whole):
        path.write_bytes(whole[:place] + bytes([byte ^ 1 << place % 8]) + whole[place + 1 :])
        assert damaged_files(path.parent), place


def test_training_does_not_begin_anew_where_all_are_damaged(tmp_path: Path) -> None:
    path = write(tmp_path, 12)
    (path / "trainer_state.json").write_bytes(b"{")
    with pytest.raises(UserError, match="none of the checkpoints"):
        newest_checkpoint(tmp_path)
    assert (path / "model.safetensors").is_file()


def test_unfinished_ones_go_and_what_is_the_users_stays(tmp_path: Path) -> None:
    assert newest_checkpoint(tmp_path) == (0, None)
    write(tmp_path, 3, finished=False)
    (tmp_path / "checkpoint-best").mkdir()
    last = write(tmp_path, 2)
    assert finished_checkpoints(tmp_path) == [(2, last)] and newest_checkpoint(tmp_path) == (2, last)
    assert {path.name for path in tmp_path.iterdir()} == {"checkpoint-2", "checkpoint-best"}
