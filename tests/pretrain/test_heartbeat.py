"""The heartbeat file: who is behind or silent stands in it, and nobody while a run goes on."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from pretrain import heartbeat
from pretrain.heartbeat import Heartbeat, report
from pretrain.signs import Sign, read_sign

sys.path.insert(0, str(Path(__file__).parent))
from training_runs import finish, start


def signs(*steps: int, state: str = "running", each: int = 2) -> list[bytes]:
    return [f"{state} 5 {step} n{rank // each}".encode() for rank, step in enumerate(steps)]


def test_a_sign_comes_back_as_it_was() -> None:
    sign = Sign("unmet", 3, 70, "an unknown host")
    assert sign.text() == "unmet 3 70 an unknown host" and read_sign(sign.text().encode()) == sign


def test_who_is_behind_is_told_only_where_nothing_moves() -> None:
    """Signs of different seconds have different steps: 7 and 9 of short ones say nothing yet."""
    going = report(signs(9, 7, 9, 8), [0.0] * 4, 9, still=1.0, interval=2.0)
    assert going == {"step": 9, "seconds_in_step": 1.0, "processes": 4, "late_processes": 0, "late": []}
    hung = report(signs(9, 8, 9, 8), [0.0] * 4, 9, still=4.5, interval=2.0)
    assert hung["late_processes"] == 2 and hung["late"] == [
        {"host": "n0", "processes": 1, "ranks": [1], "step": 8, "silent_seconds": 0.0},
        {"host": "n1", "processes": 1, "ranks": [3], "step": 8, "silent_seconds": 0.0},
    ]


def test_who_is_silent_is_told_at_once_and_the_longest_first() -> None:
    found = report(signs(9, 9, 9, 9), [0.0, 7.0, 6.0, 12.0], 9, still=0.0, interval=2.0)  # three heartbeats are 6 s
    assert [(entry["host"], entry["ranks"], entry["silent_seconds"]) for entry in found["late"]] == [
        ("n1", [3], 12.0), ("n0", [1], 7.0)
    ]  # fmt: skip
    for state in ("closed", "told", "released"):  # these have left
        assert not report(signs(9, 3, state=state), [9.0] * 2, 9, 9.0, 2.0)["late"]


def test_the_file_stays_small_however_many_are_late() -> None:
    """127 of 128 machines, with 8 processes each."""
    found = report(signs(*[5] * 8, *[4] * 1016, each=8), [0.0] * 8 + [30.0] * 1016, 5, still=40.0, interval=2.0)
    assert found["late_processes"] == 1016 and len(found["late"]) == 16 and found["late"][0]["ranks"] == [*range(8, 16)]
    unmet = report([b"running 1 0 n0", *[b"unmet 0 0 an unknown host"] * 1023], [0.0, *[50.0] * 1023], 0, 50.0, 2.0)
    (entry,) = unmet["late"]
    assert entry["processes"] == 1023 and entry["ranks"] == [*range(1, 17)]
    assert len(json.dumps(found, indent=1)) < 6000


def until(true: Callable[[], Any], seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return value


def read(path: Path) -> dict[str, Any]:
    """Return the file, which is whole at any moment; {} before there is one."""
    return json.loads(path.read_text()) if path.exists() else {}


def test_the_file_is_replaced_now_and_then_and_at_the_end(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(heartbeat, "EVERY_SECONDS", 0.5)
    path, written = tmp_path / "heartbeat.json", set()
    beat = Heartbeat(path, 100, 0.1)
    began = time.monotonic()
    while time.monotonic() - began < 1.2:
        beat.look(signs(4, 4), [0.0, 0.0], 4)
        written.add(path.stat().st_mtime_ns if path.exists() else 0)
        time.sleep(0.01)
    assert 3 <= len(written) <= 4  # none yet, and those at 0, 0.5 and 1 second
    now = read(path)
    assert now["state"] == "running" and now["steps"] == 100 and 0.9 < now["seconds_in_step"] < 2
    assert abs(datetime.fromisoformat(now["time"]).timestamp() - time.time()) < 5
    beat.finish("failed", 5, "rank 1 on n0 failed: the disk is full")
    assert (read(path)["state"], read(path)["step"]) == ("failed", 5) and "disk is full" in read(path)["failure"]
    assert [file.name for file in tmp_path.iterdir()] == ["heartbeat.json"]


def test_a_folder_that_has_gone_ends_nothing(tmp_path: Path) -> None:
    beat = Heartbeat(tmp_path / "gone" / "heartbeat.json", 100, 2.0)
    beat.look(signs(4, 4), [0.0, 0.0], 4)
    beat.finish("ended", 100)
    assert not beat._thread.is_alive() and not list(tmp_path.iterdir())


OFTEN = """
import os, time, pathlib, pretrain.heartbeat as h, pretrain.trainer as e
h.EVERY_SECONDS = 0.5
step = e.Trainer.step
def stepping(self, number, *a, **k):
    time.sleep(0.05)
    pathlib.Path(FOLDER, "pid-" + os.environ["RANK"]).write_text(str(os.getpid()))
    return step(self, number, *a, **k)
e.Trainer.step = stepping
"""


def test_a_hung_and_a_stopped_process_of_a_run_are_in_the_file_before_the_run_ends(
    tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    hang = 'time.sleep(9 if number == 30 and os.environ["RANK"] == "1" else 0.05)'
    patch = OFTEN.replace("FOLDER", repr(str(tmp_path))).replace("time.sleep(0.05)", hang)
    changes = {"global_batch": 12, "steps": 150, "checkpoint_every": 200, "validation_samples": 0}
    run = start(tmp_path, tokens, tokenizer, 3, patch=patch, **changes)
    file = tmp_path / "logs" / "heartbeat.json"
    going = until(lambda: (found := read(file)).get("step", 0) > 3 and found, 120)
    assert going["state"] == "running" and going["steps"] == 150 and going["processes"] == 3 and not going["late"]
    hung = until(lambda: (found := read(file)).get("late") and found)
    (entry,) = hung["late"]
    # the others have done their part of the step that it has not, and wait; it hangs, and signs
    assert entry["ranks"] == [1] and (entry["step"], hung["step"]) == (30, 31) and entry["silent_seconds"] <= 4
    until(lambda: read(file)["step"] > 31)
    assert not read(file)["late"]
    pid = int((tmp_path / "pid-2").read_text())
    os.kill(pid, signal.SIGSTOP)
    try:
        late = until(lambda: (found := read(file)).get("late") and found["late"][0]["silent_seconds"] > 6 and found)
        assert run.poll() is None
        stands = {entry.name: entry for entry in (tmp_path / "logs").iterdir()}
    finally:
        os.kill(pid, signal.SIGCONT)
    (entry,) = late["late"]
    assert entry["host"] == socket.gethostname() and entry["ranks"] == [2] and 30 < entry["step"] <= late["step"]
    assert late["late_processes"] == 1 and late["seconds_in_step"] > 4 and late["state"] == "running"
    assert len(stands) < 6  # the file is one, however often it was written
    code, errors = finish(run)
    assert code == 0, errors
    assert read(file)["state"] == "ended" and read(file)["step"] == 150 and not read(file)["late"]


def test_a_process_that_is_lost_is_the_failure_in_the_file(tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    patch = OFTEN.replace("FOLDER", repr(str(tmp_path))) + (
        "import pretrain.lifeline as l\nl.Lifeline.start.__func__.__defaults__ = (0.5, 3.0, 5.0)\n"
    )
    run = start(tmp_path, tokens, tokenizer, 3, patch=patch, global_batch=12, steps=5000, validation_samples=0)
    file = tmp_path / "logs" / "heartbeat.json"
    until(lambda: read(file).get("step", 0) > 3, 120)
    # a stopped process keeps its connections: nothing but its silence tells
    os.kill(int((tmp_path / "pid-1").read_text()), signal.SIGSTOP)
    try:
        code, _ = finish(run)
    finally:
        os.kill(int((tmp_path / "pid-1").read_text()), signal.SIGKILL) if run.poll() is None else None
    assert code == 1 and read(file)["state"] == "failed"
    assert "rank 1 on" in read(file)["failure"] and "gave no sign of life for 3 s" in read(file)["failure"]
