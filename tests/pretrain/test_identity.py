"""Processes, accumulation, ZeRO stages, a compiled encoder and bf16 leave the losses what they are."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from pretrain.callbacks.checkpoint_metadata import checkpoints_by_size
from pretrain.export import export_checkpoint

sys.path.insert(0, str(Path(__file__).parent))
from training_runs import MODEL, RUN, assert_near, signal_at, train

EXACT: dict[str, Any] = {"model": {**RUN["model"], "dropout": 0.0}, "steps": 24}


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory, tokens: Path, tokenizer: Path) -> Path:
    """A run without dropout, of one process."""
    out = tmp_path_factory.mktemp("exact")
    train(out, tokens, tokenizer, **EXACT)
    return out


PAIRWISE = [
    ("torch", 0, 1, 2), ("torch", 0, 2, 2), ("deepspeed", 0, 1, 1), ("deepspeed", 0, 2, 2), ("deepspeed", 1, 1, 2),
    ("deepspeed", 1, 2, 1), ("deepspeed", 2, 1, 1), ("deepspeed", 2, 2, 2), ("deepspeed", 3, 1, 2),
    ("deepspeed", 3, 2, 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("engine", "zero", "processes", "accumulation"),
    [pytest.param(*case, marks=pytest.mark.slow) if case[2] > 1 else case for case in PAIRWISE[:3]]
    + [pytest.param(*case, marks=pytest.mark.slow) for case in PAIRWISE[3:]],
)
def test_engines_processes_and_accumulation_change_no_loss(
    engine: str,
    zero: int,
    processes: int,
    accumulation: int,
    exact: Path,
    tmp_path: Path,
    tokens: Path,
    tokenizer: Path,
) -> None:
    micro_batch = RUN["global_batch"] // (processes * accumulation)
    changes = {**EXACT, "engine": engine, "zero_stage": zero, "micro_batch": micro_batch}
    real = subprocess.PIPE if engine == "torch" else None  # two as `hunmin run` starts them
    train(tmp_path, tokens, tokenizer, processes, stderr=real, **changes)
    assert_near(exact, tmp_path, 1e-4)
    # the export is whole at every stage, its decoder still tied (hiyouga/LlamaFactory#10813, transformers#10789)
    _, checkpoint = checkpoints_by_size(tmp_path / "checkpoints")[-1]
    export_checkpoint(checkpoint, tmp_path / "export")
    final, exported, straight_on = (
        load_file(folder / "model.safetensors") for folder in (tmp_path / "model", tmp_path / "export", exact / "model")
    )
    assert final.keys() == exported.keys() == straight_on.keys()
    for name, tensor in final.items():
        assert torch.equal(tensor, exported[name])
        torch.testing.assert_close(tensor, straight_on[name], atol=1e-3, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.drill)])
def test_a_compiled_run_has_the_same_losses(
    processes: int, exact: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    count = f"""
import atexit
def note():
    from torch._dynamo.utils import counters
    if graphs := counters["stats"]["unique_graphs"]:  # none in what starts the processes
        open({str(tmp_path / "graphs")!r}, "w").write(str(graphs))
atexit.register(note)
"""
    train(tmp_path, tokens, tokenizer, processes, count, **EXACT, compile=True)
    # training and validation, without and with padding; and it broke nowhere into pieces but those of `compile_layers`
    graphs = int((tmp_path / "graphs").read_text())
    assert 2 <= graphs <= 4 if processes == 1 else 6 <= graphs <= 8
    assert_near(exact, tmp_path, 1e-3)
    assert load_file(tmp_path / MODEL).keys() == load_file(exact / MODEL).keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "zero"),
    [("torch", 0), *(pytest.param("deepspeed", stage, marks=pytest.mark.drill) for stage in (1, 3))],
)
def test_four_processes_resume_to_the_same_bytes(
    engine: str, zero: int, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    """Sums over more than two processes depend on the order of their terms: two would show no fault here."""
    changes = {
        "engine": engine, "zero_stage": zero, "micro_batch": RUN["global_batch"] // 4, "steps": 8,
        "optimizer": {**RUN["optimizer"], "warmup_steps": 2}, "checkpoint_every": 3, "keep_last": 9,
    }  # fmt: skip
    straight, resumed = tmp_path / "straight", tmp_path / "resumed"
    train(straight, tokens, tokenizer, 4, **changes)
    shutil.copytree(straight / "checkpoints" / "step-00000003", resumed / "checkpoints" / "step-00000003")
    errors = train(resumed, tokens, tokenizer, 4, **changes)
    assert "resuming at step 3" in errors, errors
    assert (straight / MODEL).read_bytes() == (resumed / MODEL).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    "places",
    [
        [("torch", 0, 1), ("torch", 0, 2), ("torch", 0, 4)],
        pytest.param([("deepspeed", 1, 1), ("deepspeed", 1, 2), ("deepspeed", 1, 4)], marks=pytest.mark.drill),
        [("deepspeed", 2, 4), ("deepspeed", 3, 2), ("deepspeed", 2, 1)],
        [("deepspeed", 3, 4), ("deepspeed", 0, 2), ("torch", 0, 1)],
    ],
)
def test_a_run_goes_on_on_other_processes_stages_and_engines(
    places: list[tuple[str, int, int]], exact: Path, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    """The same global batches and the same losses, wherever the optimizer state was split."""
    for number, (engine, zero, world) in enumerate(places):
        patch = signal_at(8 * number + 7, "SIGTERM")
        changes = {**EXACT, "engine": engine, "zero_stage": zero}
        errors = train(tmp_path, tokens, tokenizer, world, patch=patch, **changes)
        assert ("stopped as asked" in errors) == (number < 2) and "Traceback" not in errors, errors
        assert ("resuming at step" in errors) == (number > 0)
    assert_near(exact, tmp_path, 1e-4)
    assert not list((tmp_path / "checkpoints").glob(".*"))
    _, checkpoint = checkpoints_by_size(tmp_path / "checkpoints")[-1]
    export_checkpoint(checkpoint, tmp_path / "export")  # of four processes as well
    exported, final = (load_file(tmp_path / name / "model.safetensors") for name in ("export", "model"))
    assert exported.keys() == final.keys() and all(torch.equal(exported[name], final[name]) for name in final)


@pytest.mark.slow
def test_bf16_on_a_cpu_stays_near_fp32(exact: Path, tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    train(tmp_path, tokens, tokenizer, **EXACT, dtype="bf16")
    assert_near(exact, tmp_path, 0.02)
    assert all(tensor.dtype == torch.float32 for tensor in load_file(tmp_path / MODEL).values())
