"""A flipped bit in any file of finished work: `verify` names the file, and `push` and `export` refuse it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from common.current import make_current
from common.manifest import MANIFEST, Manifest, describe_outputs, write_manifest
from common.results import encoded
from hunmin.hub.publish import refuse_damaged_model
from hunmin.main import run_command
from pretrain.callbacks.tuning_checkpoints import finish_checkpoint
from tests.damage import flip
from tests.runs import copy_run

MODEL = ("config.json", "model.safetensors", "tokenizer.json", "README.md")
EMBEDDER = (*MODEL, "modules.json", "1_Pooling/config.json", "hunmin-embed.json")
FOLDERS = {
    "tune": [*(f"model/{name}" for name in MODEL), "adapter/adapter_model.safetensors", "counts.json"],
    "embed": [*(f"model/{name}" for name in EMBEDDER), "counts.json", "scores/mteb/results/x/1/KLUE-STS.json"],
    "rerank": [*(f"model/{name}" for name in EMBEDDER), "counts.json"],
}
"""Stage or result → what it leaves, beside checkpoints and a table of scores."""


def finished(run: Path, stage: str) -> Path:
    """Write what a tuning leaves in a run, with its manifest, and return its folder."""
    folder = run / "made" / f"{stage}-0123456789"
    for name in (*FOLDERS[stage], "checkpoints/checkpoint-9/model.safetensors", "checkpoints/checkpoint-9/code.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name} of {stage}")
    if stage == "embed":
        (folder / "scores" / "table.json").write_bytes(encoded({"rows": [], "tasks": {}}))
    finish_checkpoint(folder / "checkpoints" / "checkpoint-9")
    write_manifest(folder, Manifest(stage=stage, settings={}, inputs={}, outputs=describe_outputs(folder)))
    make_current(run, stage, folder)
    return folder


def each_flipped(folder: Path) -> Iterator[str]:
    """Yield each file of a folder, logs and marks aside, while a bit of it is flipped."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    assert len(files) > 3
    for path in files:
        name = path.relative_to(folder)
        if "logs" not in name.parts and not any(part.startswith(".") for part in name.parts):
            whole = path.read_bytes()
            flip(path)
            yield name.as_posix()
            path.write_bytes(whole)


def damaged(run: Path, capfd: pytest.CaptureFixture[str]) -> dict[str, list[str]]:
    """Return what `hunmin verify` says of a run: folder → damaged files."""
    capfd.readouterr()
    code = run_command(["verify", str(run), "--json"])
    files = {row["what"]: row["damaged"] for row in json.loads(capfd.readouterr().out) if row["damaged"]}
    assert code == bool(files)
    return files


def told(files: dict[str, list[str]], stage: str, name: str) -> bool:
    """Return whether the one damage that was found is a file of a stage, or of its checkpoint."""
    where, _, file = name.rpartition("/")
    at = f"{stage}/{where}" if name.startswith("checkpoints/") else stage
    if name == MANIFEST or (file == MANIFEST and at != stage):  # what it says of other files no longer holds, either
        return [*files] == [at]
    return files == {at: [file if at != stage else name]}


@pytest.mark.parametrize("stage", ["tune", "embed", "rerank"])
def test_verify_names_each_file_of_a_tuning(stage: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = finished(tmp_path, stage)
    assert damaged(tmp_path, capfd) == {}
    for name in each_flipped(folder):
        assert told(damaged(tmp_path, capfd), stage, name), name


@pytest.mark.parametrize("stage", ["pretrain", "export"])
def test_verify_names_each_file_of_a_pretraining(
    stage: str, mini_run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = copy_run(mini_run / "run", tmp_path / "run")
    for name in each_flipped(run / stage):
        assert told(damaged(run, capfd), stage, name), name


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("embed", ["push", "me/x", "--dry-run"]), ("embed", ["export", "--onnx"]), ("embed", ["export", "--gguf"]),
        ("rerank", ["push", "me/x", "--dry-run"]), ("rerank", ["export", "--onnx"]),
        ("tune", ["push", "me/x", "--dry-run"]), ("tune", ["export", "--onnx"]),
    ],
)  # fmt: skip
def test_no_file_of_a_damaged_tuning_leaves(
    stage: str, words: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = finished(tmp_path, stage)
    command = [words[0], str(folder / "model"), *words[1:]]
    for name in each_flipped(folder):
        if name.startswith("checkpoints/"):
            continue
        before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
        capfd.readouterr()
        assert run_command(command) == 1, name
        error = " ".join(capfd.readouterr().err.split())
        assert "is damaged" in error and (name == MANIFEST or f"{folder / name} is damaged" in error), name
        assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    refuse_damaged_model(folder / "model")  # whole again, it is not refused


@pytest.mark.parametrize("words", [["push", "RUN", "me/x", "--dry-run"], ["push", "STEP", "me/x", "--dry-run"],
                                   ["export", "STEP", "--out", "OUT"]])  # fmt: skip
def test_no_damaged_checkpoint_leaves(
    words: list[str], mini_run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = copy_run(mini_run / "run", tmp_path / "run")
    newest = sorted((run / "pretrain" / "checkpoints").glob("step-*"))[-1]
    places: dict[str, Any] = {"RUN": run, "STEP": newest, "OUT": tmp_path / "out"}
    for name in each_flipped(newest):
        capfd.readouterr()
        assert run_command([str(places.get(word, word)) for word in words]) in (1, 2), name
        error = " ".join(capfd.readouterr().err.split())
        assert "damaged" in error or "is not a whole checkpoint" in error, error
        assert not (tmp_path / "out").exists() and "Traceback" not in error
