"""The GPU benchmark runs on a CPU as well, small: what is to be measured in an hour with a GPU is proved before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from bench_gpu import ROWS, make_tokens

from tokenizer.shards import TokenShards

ROOT = Path(__file__).parents[2]
SMALL = ["--layers=1", "--hidden=64", "--length=64", "--batch=4", "--steps=2", "--rounds=1", "--random-tokens=20000"]


def bench(out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "bench_gpu.py"), "--out", str(out), *SMALL, *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)


def test_rows_are_measured_kept_and_not_measured_again(tmp_path: Path) -> None:
    names = ["full-sentences", "packed", "full-sentences, dense mask", "peer"]
    done = bench(tmp_path, "--rows", *names)
    assert done.returncode == 0, done.stderr
    held = json.loads((tmp_path / "gpu.json").read_bytes())
    assert sorted(row["name"] for row in held["rows"]) == sorted(names)
    assert all(row["tokens_per_second"] > 0 and 0 <= row["data_wait"] < 1 for row in held["rows"])
    ours = next(row for row in held["rows"] if row["name"] == "full-sentences")
    assert ours["tflops"] > 0 and 0 < ours["padding_of_samples"] < 0.3
    table = (tmp_path / "gpu.md").read_text()
    assert held["torch"] in table and all(f"| {name} |" in table for name in names)
    again = bench(tmp_path, "--rows", *names)
    assert json.loads((tmp_path / "gpu.json").read_bytes())["rows"] == held["rows"] and again.returncode == 0


def test_a_row_that_fails_is_named_and_the_others_stay(tmp_path: Path) -> None:
    done = bench(tmp_path, "--rows", "contiguous", "contiguous, FP8")
    assert done.returncode == 1
    rows = {row["name"]: row for row in json.loads((tmp_path / "gpu.json").read_bytes())["rows"]}
    assert rows["contiguous"]["tokens_per_second"] > 0
    assert "fp8" in rows["contiguous, FP8"]["error"] or "8" in rows["contiguous, FP8"]["error"]


def test_what_is_asked_for_is_there() -> None:
    """By the project's own list: kinds of samples, dropout, FP8, every switch by itself, the peer twice."""
    said = json.dumps(ROWS)
    for sign in ("packed", "contiguous", "fp8", "dense", "fuse", "attention", "deepspeed", "zero_stage", "peer"):
        assert sign in said
    assert [row.get("dropout") for row in ROWS.values()].count(0.0) == 2
    assert next(iter(ROWS)) == "full-sentences"


def test_random_text_is_as_long_as_korean(tmp_path: Path) -> None:
    shards = TokenShards(make_tokens(tmp_path / "tokens", 1000, 200_000))
    sentences, documents = (np.diff(np.asarray(part(0))) for part in (shards.sentences, shards.documents))
    assert 20 < np.median(sentences) < 35 and 60 < np.median(documents) < 400
    assert int(np.asarray(shards.tokens(0)).max()) < 1000
