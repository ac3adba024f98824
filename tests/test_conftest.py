"""What all tests share: GPUs are hidden from them, but not from those that want one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ONE = "tests/pretrain/test_gpu.py::test_texts_side_by_side_are_each_alone[False-full-sentences-roberta-sizes0]"


@pytest.mark.slow
def test_tests_for_gpus_fail_where_they_are_asked_for_and_there_is_none() -> None:
    """They were skipped, GPU or not: `make gpu-tests` was green and had run nothing."""
    environment = {**os.environ, "HUNMIN_GPU_TESTS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", ONE]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 1 and f"FAILED {ONE}" in done.stdout, done.stdout


def test_make_asks_for_them() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\ngpu-tests:\n")[2].partition("\n\n")[0]
    assert "HUNMIN_GPU_TESTS=1" in recipe and "tests/pretrain/test_gpu.py" in recipe
