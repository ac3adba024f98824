"""Which checkpoint a run goes on from: the newest that is whole, readable and its own."""

import errno
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from common.errors import HunminError, UserError
from common.files import xxh3_file
from pretrain.callbacks import checkpoint, checkpoint_metadata
from pretrain.callbacks.checkpoint_metadata import (
    METADATA,
    check_metadata,
    checkpoints_by_size,
    damaged_files,
    newest_checkpoint,
    read_metadata,
    remove_unfinished,
    step_folder,
    write_metadata,
)
from pretrain.optim.optimizer import OptimizerState

FACTS: dict[str, Any] = {"fingerprint": "f", "settings": {"seed": 1}, "dtype": "fp32"}


def write(folder: Path, step: int, **changed: Any) -> Path:
    """Write a whole checkpoint of one file and return that file's path."""
    path = step_folder(folder, step)
    path.mkdir()
    state = path / "state.bin"
    state.write_bytes(bytes([step]) * 100)
    files = {state.name: [100, xxh3_file(state)]}
    write_metadata(path, {"step": step, "files": files, **FACTS, **changed})
    return state


def chosen(folder: Path, **changed: Any) -> str | None:
    """Return the name of the checkpoint that a run with these facts goes on from."""
    path, mark = newest_checkpoint(folder)
    if path:
        check_metadata(path, mark, {**FACTS, **changed})
    assert (path is None) == (mark == {})
    return path and path.name


def test_the_newest_is_taken(tmp_path: Path) -> None:
    assert chosen(tmp_path) is None
    for step in (5, 20, 10):
        write(tmp_path, step)
    assert chosen(tmp_path) == "step-00000020"


def test_what_is_damaged_gives_way_to_the_one_before(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first, second, third, fourth = (write(tmp_path, step) for step in (1, 2, 3, 4))
    fourth.write_bytes(b"short")
    assert chosen(tmp_path) == "step-00000003"
    third.unlink()
    assert chosen(tmp_path) == "step-00000002"
    assert [step for step, _ in checkpoints_by_size(tmp_path)] == [1, 2]
    second.write_bytes(second.read_bytes()[:-1] + b"?")  # the size is right
    assert chosen(tmp_path) == "step-00000001"
    (first.parent / METADATA).write_text("{")
    # it would begin at step 0, after all that work
    with pytest.raises(UserError, match=r"(?s)none of the checkpoints.*step-00000001/complete\.json is damaged"):
        chosen(tmp_path)
    said = capfd.readouterr().err
    for step in (2, 3, 4):
        assert f"step-0000000{step} is passed over: state.bin is damaged" in said
    apart = sorted(path.name for path in (tmp_path / "damaged").iterdir())
    assert apart == ["step-00000002", "step-00000003", "step-00000004"] and first.is_file()


def test_a_list_of_checkpoints_leaves_out_those_of_other_sizes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Their bytes are read where a run resumes; a command that only lists reads none."""
    first, second, third, fourth = (write(tmp_path, step) for step in (1, 2, 3, 4))
    second.write_bytes(bytes([2]) * 99)
    third.write_bytes(bytes([2]) * 100)
    fourth.unlink()
    assert checkpoints_by_size(tmp_path) == [(1, first.parent), (3, third.parent)]
    said = " ".join(capfd.readouterr().err.split())
    assert "step-00000002 is passed over: state.bin is damaged or missing" in said and "step-00000004" in said
    assert read_metadata(second.parent) is None and read_metadata(fourth.parent) is None
    assert (read_metadata(third.parent) or {})["step"] == 3


def test_what_cannot_be_read_gives_way_to_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 1)
    bad = write(tmp_path, 2)

    def read(path: Path) -> str:
        if path == bad:
            raise OSError(errno.EIO, "Input/output error", str(path))
        return xxh3_file(path)

    monkeypatch.setattr(checkpoint_metadata, "xxh3_file", read)
    assert chosen(tmp_path) == "step-00000001"


def test_another_runs_is_refused_not_passed_over(tmp_path: Path) -> None:
    write(tmp_path, 1, fingerprint="other", settings={"seed": 2})
    with pytest.raises(UserError, match="seed"):
        chosen(tmp_path)
    with pytest.raises(UserError, match="the corpus"):
        chosen(tmp_path, settings={"seed": 2})


def test_another_numeric_type_is_refused_with_both(tmp_path: Path) -> None:
    """dtype=auto is bf16 on one device and fp32 on another: a run must not change over unasked."""
    write(tmp_path, 1, dtype="bf16")
    with pytest.raises(UserError, match=r"(?s)was computed in bf16.*continue in fp32.*branch_from"):
        chosen(tmp_path)


class Engine:
    """What holds weights and state."""

    first = True

    def weights(self) -> dict[str, torch.Tensor]:
        return {"weight": torch.arange(20.0)}

    def optimizer_state(self) -> OptimizerState:
        return OptimizerState(3, {name: {"weight": torch.ones(20)} for name in ("exp_avg", "exp_avg_sq")})


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    save(tmp_path, 1, keep_last=1)
    state = checkpoint.load_optimizer(step_folder(tmp_path, 1))
    assert state.steps == 3 and torch.equal(state.moments["exp_avg_sq"]["weight"], torch.ones(20))
    model = torch.nn.Module()
    model.weight = torch.nn.Parameter(torch.zeros(20))
    checkpoint.load_weights(step_folder(tmp_path, 1), model)
    assert torch.equal(model.weight, torch.arange(20.0))
    model.other = torch.nn.Parameter(torch.zeros(1))
    with pytest.raises(HunminError, match=r"missing.*other"):
        checkpoint.load_weights(step_folder(tmp_path, 1), model)


def save(folder: Path, step: int, keep_last: int, keep_every: int | None = None) -> None:
    checkpoint.save_checkpoint(Engine(), folder, step, FACTS, keep_last, keep_every)


def steps(folder: Path) -> list[int]:
    return [step for step, _ in checkpoints_by_size(folder)]


def test_the_last_ones_and_every_nth_are_kept(tmp_path: Path) -> None:
    for step in range(1, 11):
        save(tmp_path, step, keep_last=2, keep_every=4)
    assert steps(tmp_path) == [4, 8, 9, 10] and chosen(tmp_path) == "step-00000010"


@pytest.mark.parametrize("keep_last", [1, 2])
def test_a_damaged_later_checkpoint_never_costs_the_new_one(keep_last: int, tmp_path: Path) -> None:
    """A run goes on from before a damaged checkpoint: what it saves on the way stays, and counts."""
    for step in (10, 14):
        save(tmp_path, step, keep_last=1, keep_every=10)
    later = step_folder(tmp_path, 14) / "weights.safetensors"
    later.write_bytes(later.read_bytes()[:-1] + b"?")
    assert chosen(tmp_path) == "step-00000010"
    for step in (12, 13):
        save(tmp_path, step, keep_last, keep_every=10)
    assert steps(tmp_path) == ([10, 13] if keep_last == 1 else [10, 12, 13])
    assert chosen(tmp_path) == "step-00000013"
    save(tmp_path, 14, keep_last, keep_every=10)
    assert chosen(tmp_path) == "step-00000014"
    assert (tmp_path / "damaged" / later.parent.name / later.name).read_bytes()[-1:] == b"?"


def test_metadata_with_a_secret_are_whole(tmp_path: Path) -> None:
    path = write(tmp_path, 1, parent={"checkpoint": "s3://me:pw-of-mine@host/runs/x?X-Amz-Signature=12ab"}).parent
    assert "pw-of-mine" not in (path / METADATA).read_text() and damaged_files(path) == []


def test_each_byte_of_the_metadata_counts(tmp_path: Path) -> None:
    write(tmp_path, 1, tokens=123, guard={"average": 1.25e-7})
    path = step_folder(tmp_path, 1) / METADATA
    whole = path.read_bytes()
    assert damaged_files(path.parent) == []
    for place, byte in enumerate(whole):
        path.write_bytes(whole[:place] + bytes([byte ^ 1 << place % 8]) + whole[place + 1 :])
        assert damaged_files(path.parent) or json.loads(path.read_bytes()) == json.loads(whole)
    path.write_bytes(whole.replace(b'"digest"', b'"checked"'))
    assert damaged_files(path.parent) == [METADATA]


def test_a_checkpoint_killed_amid_its_removal_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    save(tmp_path, 1, keep_last=1)
    remove = checkpoint.shutil.rmtree

    def killed(path: Path, **how: Any) -> None:
        if how:
            return remove(path, **how)
        (path / "weights.safetensors").unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint.shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path, 2, keep_last=1)
    monkeypatch.undo()
    assert steps(tmp_path) == [2] and "not whole" not in capfd.readouterr().err
    remove_unfinished(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000002"]
