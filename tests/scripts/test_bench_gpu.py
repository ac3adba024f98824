"""The GPU benchmark runs on a CPU as well, small: what is to be measured in an hour with a GPU is proved before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from bench_gpu import BATCH, ROWS, make_tokens
from gpu_report import holds_row, put_row, read_report, write_report

from tokenizer.shards import TokenShards

ROOT = Path(__file__).parents[2]
SMALL = [
    "--layers=1",
    "--hidden=64",
    "--length=64",
    "--micro=4",
    "--batch=8",
    "--steps=2",
    "--rounds=1",
    "--random-tokens=20000",
]


def bench(out: Path, *options: str, path: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "bench_gpu.py"), "--out", str(out), *SMALL, *options]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{path}{os.pathsep}{ROOT}" if path else str(ROOT),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200)


@pytest.mark.drill
def test_rows_are_measured_kept_and_not_measured_again(tmp_path: Path) -> None:
    names = ["attention dropout 0", "packed", "dense mask", "peer"]
    done = bench(tmp_path, "--rows", *names)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "gpu.json").read_bytes())
    assert sorted(row["name"] for row in report["rows"]) == sorted(names)
    assert all(row["tokens_per_second"] > 0 and 0 <= row["data_wait"] < 1 for row in report["rows"])
    ours = next(row for row in report["rows"] if row["name"] == "attention dropout 0")
    assert ours["tflops"] > 0 and 0 < ours["padding"] < 0.3 and len(ours["rounds"]) == 1
    table = (tmp_path / "gpu.md").read_text()
    assert f"torch {torch.__version__}" in table and all(f"| {name} |" in table for name in names)
    again = bench(tmp_path, "--rows", *names)
    assert json.loads((tmp_path / "gpu.json").read_bytes())["rows"] == report["rows"] and again.returncode == 0


@pytest.mark.drill
def test_a_row_that_fails_is_named_and_the_others_stay(tmp_path: Path) -> None:
    (tmp_path / "deepspeed").mkdir()
    (tmp_path / "deepspeed" / "__init__.py").write_text("raise RuntimeError('a DeepSpeed that is broken')")
    done = bench(tmp_path, "--rows", "contiguous", "DeepSpeed's ZeRO 1", path=str(tmp_path))
    assert done.returncode == 1
    rows = {row["name"]: row for row in json.loads((tmp_path / "gpu.json").read_bytes())["rows"]}
    assert rows["contiguous"]["tokens_per_second"] > 0
    assert "a DeepSpeed that is broken" in rows["DeepSpeed's ZeRO 1"]["error"]


@pytest.mark.slow
def test_a_row_that_takes_too_long_is_left_for_the_next_call(tmp_path: Path) -> None:
    done = bench(tmp_path, "--rows", "contiguous", "--minutes=0.02")
    assert done.returncode == 0 and "time is up: contiguous left" in done.stdout
    assert not read_report(tmp_path / "gpu.json")["rows"]


def test_figures_of_other_conditions_never_stand_in_one_table(tmp_path: Path) -> None:
    """By name alone, a row of 64 samples a step stood beside others of 128, under their head."""
    path, names = tmp_path / "new" / "gpu.json", ["first", "second", "third"]
    short, other = {"device": "A", "torch": "1", "shape": "128"}, {"device": "A", "torch": "1", "shape": "64"}
    report = read_report(path)
    for name, conditions, rate in (("first", short, 100.0), ("second", short, 50.0), ("third", other, 25.0)):
        put_row(report, {"name": name, "tokens_per_second": rate}, conditions, names)
    text = write_report(path, report)
    assert text == path.with_suffix(".md").read_text() and read_report(path) == report
    first, second = text.split("\n\n|")[1:]
    assert "| second | 50 | 0.50 |" in first and "64" in first.splitlines()[-1] and "| third | 25 | 1.00 |" in second
    assert holds_row(report, "first", short) and not holds_row(report, "first", other)
    put_row(report, {"name": "first", "error": "no"}, other, names)
    assert [row["name"] for row in report["rows"]] == names and not holds_row(report, "first", short)


def test_a_part_that_fails_keeps_no_other_from_running(tmp_path: Path) -> None:
    """`make gpu` with a Python that notes what it is asked for and fails at the tests."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\ncase "$*" in *"-m pytest"*) exit 1;; esac\n')
    python.chmod(0o755)
    command = ["make", "gpu", f"GPU_PYTHON={python}", f"OUT={tmp_path / 'gpu'}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    asked = (tmp_path / "asked").read_text()
    assert done.returncode and "failed: gpu-tests\n" in done.stdout
    assert asked.index("bench_gpu.py") < asked.index("kill_and_resume.py") < asked.index("-m pytest")
    assert ("sample --out runs/sample" in asked) == (not (ROOT / "runs" / "sample").exists())


def test_what_is_asked_for_is_there() -> None:
    """By the project's own list: kinds of samples, dropout, single switches, the peer twice."""
    said = json.dumps(ROWS)
    for sign in ("packed", "contiguous", "dense", "world", "zero_stage", "attention_dropout", "peer"):
        assert sign in said
    assert [row.get("model", {}).get("dropout") for row in ROWS.values()].count(0.0) == 4
    assert next(iter(ROWS)) == "as shipped"
    recipe = yaml.safe_load((ROOT / "configs" / "klue-roberta-base.yaml").read_text())["pretrain"]
    assert recipe["global_batch"] == BATCH and "global_batch" not in ROWS["as shipped"]
    assert {row.get("global_batch", BATCH) * row.get("max_seq_len", 512) for row in ROWS.values()} == {BATCH * 512}


def test_random_text_is_as_long_as_korean(tmp_path: Path) -> None:
    shards = TokenShards(make_tokens(tmp_path / "tokens", 1000, 200_000))
    sentences, documents = (np.diff(np.asarray(part(0))) for part in (shards.sentences, shards.documents))
    assert 20 < np.median(sentences) < 35 and 60 < np.median(documents) < 400
    assert int(np.asarray(shards.tokens(0)).max()) < 1000
