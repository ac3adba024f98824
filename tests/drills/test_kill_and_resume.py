"""The script that measures a kill: it kills, the run goes on, and each figure is there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.drill

SCRIPT = Path(__file__).parents[2] / "scripts" / "kill_and_resume.py"
SMALL = [
    "pretrain.model.layers=1", "pretrain.model.hidden=32", "pretrain.model.heads=1", "pretrain.steps=1200",
    "pretrain.optimizer.warmup_steps=5", "pretrain.checkpoint_every=50", "pretrain.log_every=5",
    "pretrain.global_batch=8", "pretrain.micro_batch=8", "pretrain.validation_samples=0",
    "tokenizer.vocab_size=2000", "klue.tasks=[klue-nli]", "klue.seeds=1", "klue.baseline_random=false",
    "klue.training.epochs=1", "klue.training.max_train_examples=64",
]  # fmt: skip


def test_a_killed_run_is_resumed_and_scored(tmp_path: Path) -> None:
    root = SCRIPT.parents[1]
    sample = tmp_path / "sample"
    done = subprocess.run(
        [sys.executable, "-c", "from hunmin.main import main; main()", "sample", "--out", str(sample)],
        cwd=root, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    changes = [f"out={tmp_path / 'run'}", f"corpus.inputs=[{sample}/corpora/*]", f"klue.data={sample}/klue", *SMALL]
    command = [sys.executable, str(SCRIPT), str(root / "configs" / "quickstart.yaml"), *changes]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "new" / "kill.json")], cwd=root, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows = json.loads((tmp_path / "new" / "kill.json").read_text())["run"]["rows"]
    assert "killed after step" in rows[1]["name"] and rows[1]["value"] > 1 and "1200 steps" in rows[2]["note"]
    assert [row["name"] for row in rows[3:]] == ["klue-nli, pretrained: accuracy"]
    assert "Killed and resumed" in (tmp_path / "new" / "kill.md").read_text()
    again = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60)
    assert again.returncode == 1 and "has trained already" in again.stderr
