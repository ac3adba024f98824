"""A whole run killed at random moments, then run again to its end: the same manifests as the run nobody touched."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from common.manifest import MANIFEST
from hunmin.pipeline.stages import STAGES

sys.path.insert(0, str(Path(__file__).parents[1] / "hunmin"))
from mini import write_mini

pytestmark = pytest.mark.drill


def command(recipe: Path, out: Path) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-m", "hunmin.main", "run", str(recipe), f"out={out}"]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def manifests(out: Path) -> dict[str, bytes]:
    return {stage.name: (out / stage.folder / MANIFEST).read_bytes() for stage in STAGES}


def children_of(pid: int) -> list[int]:
    pids = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return [int(line) for line in pids.split()]


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes], float]:
    folder = tmp_path_factory.mktemp("drill")
    recipe = write_mini(folder, steps=200)
    began = time.monotonic()
    process = command(recipe, folder / "straight")
    _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()
    return recipe, manifests(folder / "straight"), time.monotonic() - began


@pytest.mark.parametrize("seed", range(3))
def test_three_kills_at_random_moments_change_nothing(
    straight: tuple[Path, dict[str, bytes], float], tmp_path: Path, seed: int
) -> None:
    recipe, expected, seconds = straight
    draw = random.Random(seed)
    for _ in range(3):
        process = command(recipe, tmp_path / "run")
        time.sleep(draw.uniform(0.1, 0.7) * seconds)
        descendants = [pid for child in children_of(process.pid) for pid in (child, *children_of(child))]
        process.send_signal(signal.SIGKILL)
        process.communicate()
        # what it started dies with it: nobody goes on writing into the run folder
        until = time.monotonic() + 10
        while any(Path(f"/proc/{pid}").exists() for pid in descendants):
            assert time.monotonic() < until, descendants
            time.sleep(0.1)
    process = command(recipe, tmp_path / "run")
    _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()
    assert manifests(tmp_path / "run") == expected


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_stop_says_so_and_goes_on(
    straight: tuple[Path, dict[str, bytes], float], tmp_path: Path, number: int
) -> None:
    recipe, expected, _ = straight
    process = command(recipe, tmp_path / "run")
    partial = tmp_path / "run" / "pretrain.partial" / "checkpoints"
    until = time.monotonic() + 300
    while not (partial.is_dir() and any(partial.glob("step-*"))):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    os.kill(process.pid, number)
    _, errors = process.communicate()
    assert process.returncode == 130, errors.decode()
    assert "the same command continues from there" in errors.decode() and "Traceback" not in errors.decode()
    process = command(recipe, tmp_path / "run")
    _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()
    assert manifests(tmp_path / "run") == expected
