"""The same losses for one process, accumulation, two processes and each ZeRO stage; signals; refusals of a process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tiny_decoders import write_build, write_job

from common.errors import UserError
from pretrain.callbacks.metrics import read_metrics

ROOT = Path(__file__).parents[3]
LORA = {"rank": 4, "alpha": 8, "dropout": 0}
STEPS = {"global_batch": 16, "micro_batch": 4, "epochs": 8, "checkpoint_every": 5}


def launched(job: Path, *options: str) -> tuple[int, str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(
        [sys.executable, "-m", *options, str(job)], env=environment, capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stderr


def losses(out: Path) -> dict[str, list[float]]:
    rows = read_metrics(out / "logs" / "metrics.jsonl")
    return {name: [row[name] for row in rows if name in row] for name in ("loss", "eval_loss_where")}


def assert_equal(first: Path, second: Path) -> None:
    for name, values in losses(first).items():
        assert len(values) == 8 and losses(second)[name] == pytest.approx(values, abs=1e-5), name


@pytest.fixture(scope="module")
def sixteen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build whose sixteen examples are one step, so that micro-batches of any size hold the same."""
    return write_build(tmp_path_factory.mktemp("sixteen"), train=16)


@pytest.mark.slow
def test_accumulation(sixteen: Path, bases: dict[str, Path], run: Any, tmp_path: Path) -> None:
    whole = run(bases["llama"], tmp_path / "16", instructions=sixteen, **{**STEPS, "micro_batch": 16})
    for size in (1, 4, 3 * 16):
        changes = {**STEPS, "micro_batch": min(size, 16), "global_batch": max(size, 16)}
        assert_equal(whole, run(bases["llama"], tmp_path / f"by-{size}", instructions=sixteen, **changes))


@pytest.mark.drill
@pytest.mark.parametrize(("zero", "lora"), [(0, None), (1, None), (2, None), (3, None), (3, LORA)])
def test_two_processes_and_their_resume(
    zero: int, lora: dict[str, Any] | None, sixteen: Path, bases: dict[str, Path], run: Any, tmp_path: Path
) -> None:
    alone = run(bases["llama"], tmp_path / "alone", instructions=sixteen, lora=lora, **STEPS)
    job = write_job(bases["llama"], sixteen, tmp_path / "run", **STEPS, lora=lora, processes=2, zero_stage=zero)
    code, errors = launched(job, "pretrain.tuning.train", "2")
    assert code == 0, errors
    assert_equal(alone, tmp_path / "run")
    rows, written = losses(tmp_path / "run"), (tmp_path / "run" / "model" / "model.safetensors").read_bytes()
    shutil.rmtree(tmp_path / "run" / "model")
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "checkpoint-8")
    code, errors = launched(job, "pretrain.tuning.train", "2")
    assert code == 0, errors
    assert losses(tmp_path / "run") == rows
    assert (tmp_path / "run" / "model" / "model.safetensors").read_bytes() == written


@pytest.mark.drill
@pytest.mark.parametrize("zero", [0, 2])
def test_torchrun_and_a_lone_process_with_zero(
    zero: int, sixteen: Path, bases: dict[str, Path], run: Any, tmp_path: Path
) -> None:
    alone = run(bases["llama"], tmp_path / "alone", instructions=sixteen, **STEPS)
    processes = 1 if zero else 2
    job = write_job(bases["llama"], sixteen, tmp_path / "run", **STEPS, zero_stage=zero)
    launcher = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), "-m"]
    code, errors = launched(job, *([] if zero else launcher), "pretrain.tuning.train")
    assert code == 0, errors
    assert_equal(alone, tmp_path / "run")


@pytest.mark.slow
def test_a_process_tells_a_user_mistake_without_a_traceback(
    bases: dict[str, Path], build: Path, tmp_path: Path
) -> None:
    code, errors = launched(write_job(bases["llama"], build, tmp_path, max_seq_len=500), "pretrain.tuning.train")
    assert code == 2 and "tune.max_seq_len (500) is more than the 128 positions" in errors and "Traceback" not in errors


def test_a_process_with_other_code_is_refused_where_the_trainer_meets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pretrain.callbacks.hf_trainer import begin_or_resume
    from pretrain.parallel.versions import TRAINER, versions_of

    def gather(places: list[Any], own: Any) -> None:
        assert own[1] == versions_of(TRAINER)
        places[:] = [own, ("n1", {**own[1], "accelerate": "0.1"})]

    monkeypatch.setattr("torch.distributed.all_gather_object", gather)
    arguments: Any = SimpleNamespace(output_dir=str(tmp_path / "checkpoints"), world_size=2, process_index=0)
    with pytest.raises(UserError, match=r"rank 1 on n1: hunmin \S+, accelerate 0\.1\n"):
        begin_or_resume(arguments, [], "settings")
    assert not (tmp_path / "checkpoints").exists()
