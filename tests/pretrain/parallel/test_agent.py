"""Two real processes under torchrun's agent: one fails, one hangs, and a stop that saves."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from common.process import die_with_parent
from pretrain.callbacks.metrics import read_metrics

sys.path.insert(0, str(Path(__file__).parent))
from training_runs import finish, start, wait_for

# in every interpreter; PART is what the second process does at its fourth step
PATCH = """
import os, sys, time
if "pretrain.train" in sys.orig_argv:
    from datetime import timedelta
    import torch.distributed as dist, pretrain.trainer as trainer
    from common.errors import UserError
    step = trainer.Trainer.step
    def stepping(self, number, *a, **k):
        if number == 2:
            dist.distributed_c10d._set_pg_timeout(timedelta(seconds=10))
            print("here is rank " + os.environ["RANK"], file=sys.stderr, flush=True)
        if number == 3 and os.environ["RANK"] == "1":
            PART
        return step(self, number, *a, **k)
    trainer.Trainer.step = stepping
"""
SHORT: dict[str, Any] = {"steps": 20, "log_every": 1, "checkpoint_every": 50, "validation_samples": 0}


@pytest.mark.parametrize(
    ("part", "code", "cause"),
    [
        ('raise UserError("the moon is full", "it is new", "wait")', 2, "failed: the moon is full"),
        ("time.sleep(600)", 1, "did not come, last seen at step 3 where others wait at 4"),
    ],
)
@pytest.mark.slow
def test_the_process_that_fails_or_hangs_is_named(
    part: str, code: int, cause: str, tmp_path: Path, tokens: Path, tokenizer: Path
) -> None:
    patch = PATCH.replace("PART", part)
    run = start(tmp_path, tokens, tokenizer, 2, patch=patch, stderr=subprocess.PIPE, **SHORT)
    exit_code, said = finish(run)
    assert exit_code == code, said
    assert "rank 0 ends: rank 1 on " in said and cause in said and "Traceback" not in said, said
    beat = json.loads((tmp_path / "logs" / "heartbeat.json").read_text())
    assert beat["state"] == "failed" and cause in beat["failure"]
    logs = sorted((tmp_path / "logs" / "ranks").rglob("stderr.log"))
    assert [f"here is rank {rank}" in log.read_text() for rank, log in enumerate(logs)] == [True, True]
    for line in ("[rank0]:here is rank 0", "[rank1]:here is rank 1"):
        assert line in said


@pytest.mark.slow
def test_a_stop_saves_the_same_step_on_both_and_ends_well(tmp_path: Path, tokens: Path, tokenizer: Path) -> None:
    changes = {**SHORT, "steps": 100_000}
    run = start(tmp_path, tokens, tokenizer, 2, stderr=subprocess.PIPE, **changes)
    wait_for(tmp_path / "logs" / "metrics.jsonl", run)
    run.send_signal(signal.SIGTERM)
    code, said = finish(run)
    assert code == 0 and "stopped as asked after step" in said and "Traceback" not in said, said
    (saved,) = (tmp_path / "checkpoints").glob("step-*")
    steps = [row["step"] for row in read_metrics(tmp_path / "logs" / "metrics.jsonl") if "loss" in row]
    assert (saved / "complete.json").exists() and int(saved.name.removeprefix("step-")) == steps[-1]


def test_a_stop_waits_for_processes_that_are_starting_and_is_ignored_by_those_that_end(tmp_path: Path) -> None:
    """An interpreter that goes down has no handlers of Python's any more."""
    program = tmp_path / "program.py"
    program.write_text(
        """
import os, sys, time
from pathlib import Path
folder = Path(__file__).parent
def meet(name, other, folder=folder, rank=os.environ["RANK"], sleep=time.sleep):
    (folder / (name + rank)).touch()
    while not (folder / (other + rank)).exists():
        sleep(0.01)
meet("up", "sent")
from pretrain.parallel.agent import ignore_stops
from pretrain.train import StopFlag
stop = StopFlag()
while not stop.asked:
    time.sleep(0.01)
class Slow:
    def __del__(self, meet=meet):
        meet("late", "again")
ignore_stops()
slow = Slow()
"""
    )
    words = [sys.executable, str(program)]
    line = f"import sys; from pretrain.parallel.agent import launch; sys.exit(launch({words!r}, 2))"
    run = subprocess.Popen([sys.executable, "-c", line], preexec_fn=die_with_parent)
    for seen, sent in (("up", "sent"), ("late", "again")):
        for rank in range(2):
            wait_for(tmp_path / f"{seen}{rank}", run)
        run.send_signal(signal.SIGTERM)
        for rank in range(2):
            (tmp_path / f"{sent}{rank}").touch()
    assert run.wait(60) == 0
