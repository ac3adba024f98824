"""The path of a TPU through TorchTPU's own compiler, on a machine without one: `make test-xla`.

Graphs are lowered to StableHLO by TorchTPU. XLA runs them on the CPU in the place of torch, or libtpu's compiler makes
programs for a TPU v5e of them, which nothing runs. What is not TorchTPU's stands in `xla_on_cpu.py`.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from training_runs import losses, train

from pretrain.callbacks.metrics import read_metrics

MISSING = [name for name in ("torch_tpu", "jax") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (make install-xla)")

HERE = Path(__file__).parent
BY_XLA = """
import sys
sys.path.insert(0, HERE)
import torch
import xla_on_cpu
import pretrain.setup as begin, pretrain.kernels.compile as speed
from types import SimpleNamespace
inner = begin.speed_up
begin.speed_up = lambda model, settings, device, **more: inner(model, settings, SimpleNamespace(type="tpu"), **more)
speed.compile_whole.__defaults__ = (xla_on_cpu.on_cpu,)
xla_on_cpu.count_into(COUNTS)
"""
"""Patch after which a run on a CPU takes the path of a TPU, and its model is computed by XLA."""
RUN: dict[str, Any] = {
    "model": {"layers": 2, "hidden": 32, "heads": 2, "dropout": 0.0}, "packing": "full-sentences", "max_seq_len": 24,
    "steps": 50, "validate_every": 10, "checkpoint_every": 25, "log_every": 1,
    "optimizer": {"learning_rate": 1e-2, "warmup_steps": 5},
}  # fmt: skip
LOG = Path("logs") / "metrics.jsonl"
PAIRS = {"objective": "mlm+nsp", "masking": {"kind": "static", "dupe_factor": 2}}


@pytest.mark.slow
def test_xla_trains_as_torch(tokens: Path, tokenizer: Path, tmp_path: Path) -> None:
    """50 steps in fp32: losses within 1e-3, three compilations, and checkpoints go both ways."""
    plain, xla = tmp_path / "plain", tmp_path / "xla"

    def run(out: Path, by_xla: bool) -> tuple[str, list[float]]:
        counts = tmp_path / f"{out.name}.json"
        patch = BY_XLA.replace("HERE", repr(str(HERE))).replace("COUNTS", repr(str(counts))) if by_xla else ""
        train(out, tokens, tokenizer, patch=patch, **RUN)
        if by_xla:  # forwards, backwards, validation; without them the model was not computed by XLA
            assert len(json.loads(counts.read_text())) == 3
        return errors, [loss for _, loss in losses(out)]

    truth, actual = run(plain, False)[1], run(xla, True)[1]
    assert len(truth) == len(actual) == 50
    before, *_, after = (r["validation_loss"] for r in read_metrics(plain / LOG) if "validation_loss" in r)
    assert abs(after - before) > 0.05  # what the comparison rests on: the weights have moved
    apart = {"from the start": _apart(truth, actual)}
    for source, by_xla in ((plain, True), (xla, False)):
        out = tmp_path / f"from-{source.name}"
        shutil.copytree(source, out, ignore=shutil.ignore_patterns("sitecustomize.py", "step-00000050", "model"))
        errors, actual = run(out, by_xla)
        assert "resuming at step 25" in errors, errors
        apart[f"from a checkpoint of {source.name}"] = _apart(truth, actual)
    print(f"loss of validation {before:.4f} to {after:.4f}; largest difference {apart}")
    assert max(apart.values()) < 1e-3


def _apart(truth: list[float], actual: list[float]) -> float:
    return max(abs(expected - other) for expected, other in zip(truth, actual, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("samples", ["full-sentences", "doc-sentences", "contiguous", "packed", "sentence-pairs"])
def test_a_tpu_has_a_program_for_each_graph(samples: str, tokens: Path, tokenizer: Path, tmp_path: Path) -> None:
    """In bf16, with TorchTPU's kernel of attention; three graphs, whatever is padded."""
    pairs = samples == "sentence-pairs"
    settings = {
        "model": {"type": "bert" if pairs else "roberta", "layers": 2, "hidden": 32, "heads": 2, "dropout": 0.0},
        "packing": samples, "max_seq_len": 24, "steps": 50, "global_batch": 4, "micro_batch": 4,
        "validation_samples": 4, "optimizer": {"warmup_steps": 5}, **(PAIRS if pairs else {}),
    }  # fmt: skip
    program = str(HERE / "xla_for_tpu.py")
    command = [sys.executable, program, json.dumps(settings), str(tokens), str(tokenizer), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    graphs = json.loads(done.stdout.splitlines()[-1])["graphs"]
    print(samples, graphs)
    assert len(graphs) == 3 and all(graph["argument"] and graph["output"] for graph in graphs)
    assert all(graph["kernel"] for graph in graphs)
