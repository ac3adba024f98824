"""Tuning killed and stopped at any moment, within a checkpoint, in the second epoch: the undisturbed run's bytes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "pretrain" / "tuning"))

from tiny_decoders import write_base, write_build, write_job

from pretrain.callbacks.metrics import read_metrics

pytestmark = [
    pytest.mark.drill,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc"),
]

ROOT = Path(__file__).parents[2]
LORA = {"rank": 4, "alpha": 8, "dropout": 0.1}
EPOCH = 150
"""Steps of an epoch; there are two."""
EARLY = [(signal.SIGKILL, "any")] * 4 + [(signal.SIGTERM, "any")] * 2
LATE = [(signal.SIGKILL, "step")] * 3 + [(signal.SIGTERM, "step")] * 2 + [(signal.SIGKILL, "checkpoint")] * 3


def start(job: Path, processes: int) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "TOKENIZERS_PARALLELISM": "false"}
    many = [str(processes)] if processes > 1 else []
    command = [sys.executable, "-m", "pretrain.tuning.train", *many, str(job)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)


def descendants(pid: int) -> list[int]:
    try:
        own = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return own + [below for child in own for below in descendants(child)]


def end(process: subprocess.Popen[bytes], everyone: list[int]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=240)
    until = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in everyone):
        assert time.monotonic() < until, everyone
        time.sleep(0.05)
    return process.returncode, errors.decode()


def wait(process: subprocess.Popen[bytes], look: Callable[[], object]) -> None:
    while process.poll() is None and not look():
        time.sleep(0.001)


def place_of(out: Path) -> int:
    """Return what tells one start's log from another's: each start writes it anew."""
    log = out / "logs" / "metrics.jsonl"
    return log.stat().st_ino if log.exists() else 0


def step_of(out: Path) -> int:
    return max((row["step"] for row in read_metrics(out / "logs" / "metrics.jsonl")), default=0)


def readable(path: Path) -> bool:
    with suppress(OSError, ValueError):
        return bool(json.loads((path / "trainer_state.json").read_bytes()))
    return False


def unfinished(out: Path) -> list[Path]:
    return [path for path in (out / "checkpoints").glob("checkpoint-*") if not readable(path)]


def contents(out: Path) -> dict[str, bytes]:
    files = [path for name in ("model", "adapter", "rejects") for path in (out / name).rglob("*") if path.is_file()]
    return {str(path.relative_to(out)): path.read_bytes() for path in [*files, out / "counts.json"]}


@pytest.mark.parametrize(
    ("kind", "lora", "processes"),
    [("gpt_neox", None, 1), ("gpt_neox", LORA, 1), ("llama", None, 1), ("llama", LORA, 1), ("gpt_neox", None, 2)],
    ids=["gpt_neox-all", "gpt_neox-lora", "llama-all", "llama-lora", "gpt_neox-all-2"],
)
def test_kills_and_stops_change_nothing(
    kind: str, lora: dict[str, float] | None, processes: int, tmp_path: Path
) -> None:
    base, build = write_base(tmp_path / "base", kind), write_build(tmp_path / "build", train=4 * EPOCH)
    changes = {"lora": lora, "checkpoint_every": 7, "processes": processes}
    began = time.monotonic()
    straight = tmp_path / "straight"
    process = start(write_job(base, build, straight, **changes), processes)
    wait(process, lambda: step_of(straight))
    begin = time.monotonic() - began
    code, errors = end(process, [])
    assert code == 0, errors
    longest = begin + (time.monotonic() - began - begin) / 10  # early ones leave the second epoch to the late ones
    draw = random.Random(f"{kind} {lora} {processes}")
    early, late = list(EARLY), list(LATE)
    draw.shuffle(early)
    draw.shuffle(late)
    targets = iter(sorted(draw.sample(range(EPOCH + 10, 2 * EPOCH - 20), len(late))))
    out = tmp_path / "run"
    job, caught, second, stopped = write_job(base, build, out, **changes), 0, 0, 0
    for number, when in [*early, *late]:
        before, process = place_of(out), start(job, processes)
        if when == "any":
            until = time.monotonic() + draw.uniform(0.1, longest)
            while time.monotonic() < until and step_of(out) < EPOCH:  # the first start is slower than those after it
                time.sleep(0.02)
        else:
            target = next(targets)
            wait(process, lambda before=before: place_of(out) != before)
            wait(process, lambda target=target: step_of(out) >= target)
            if when == "checkpoint":
                wait(process, lambda: unfinished(out))
                time.sleep(draw.uniform(0, 0.01))
        everyone = descendants(process.pid)
        victim = draw.choice([process.pid, *everyone]) if number == signal.SIGKILL else process.pid
        with suppress(ProcessLookupError):
            os.kill(victim, number)
        code, errors = end(process, everyone)
        caught += bool(unfinished(out))
        second += step_of(out) > EPOCH and not (out / "model").exists()
        if number == signal.SIGTERM:
            mark = out / "logs" / "stopped"
            stopped += mark.exists()
            assert code == 0 or (when == "any" and code == -signal.SIGTERM), (code, errors)
            mark.unlink(missing_ok=True)
            assert "Traceback" not in errors, errors
    code, errors = end(start(job, processes), [])
    assert code == 0, errors
    print(f"\n{kind} lora={lora is not None} processes={processes}: {len(early) + len(late)} disturbances, {second} in "
          f"the second epoch, {caught} left an unfinished checkpoint, {stopped} stops saved")  # fmt: skip
    assert caught and second >= 5 and stopped >= 2
    assert contents(out) == contents(straight)
    assert not unfinished(out)
