"""Every launcher that starts processes here leaves a log of each, and shows the error of the one that fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hunmin.main import run_command

sys.path.insert(0, str(Path(__file__).parents[1] / "hunmin"))
from mini import write_mini

pytestmark = pytest.mark.drill
ROOT = Path(__file__).parents[2]
# in every interpreter; the first rank says something, the second one breaks amid the run
BREAK = """
import os, sys
if os.environ.get("RANK") and any("train" in word for word in sys.orig_argv):
    import pretrain.trainer as e
    step = e.Trainer.step
    def stepping(self, number, *a, **k):
        if number == 3:
            print("here is rank " + os.environ["RANK"], file=sys.stderr, flush=True)
            if os.environ["RANK"] == "1":
                raise ValueError("the GPU of rank 1 is made of cheese")
        return step(self, number, *a, **k)
    e.Trainer.step = stepping
"""


@pytest.fixture(scope="module")
def encoded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose token shards are done."""
    folder = tmp_path_factory.mktemp("logs")
    settings = {"global_batch": 16, "micro_batch": 4, "steps": 20, "log_every": 1}
    assert run_command(["run", str(write_mini(folder, **settings)), "--until", "encode"]) == 0
    return folder


@pytest.mark.parametrize("launcher", ["local", "torchrun", "deepspeed"])
def test_the_error_of_the_process_that_fails_is_seen_and_each_has_a_log(
    launcher: str, encoded: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    shutil.copytree(encoded / "run", out)
    (tmp_path / "sitecustomize.py").write_text(BREAK)
    command = [
        sys.executable, "-m", "hunmin.main", "launch", str(encoded / "recipe.yaml"), f"out={out}", "--launcher",
        launcher, "--devices", "2", "--cpu", "--restarts", "0",
    ]  # fmt: skip
    environment = {
        **os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}", "WANDB_MODE": "offline", "OMP_NUM_THREADS": "1",
        "DS_ACCELERATOR": "cpu",
    }  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    cause = "the GPU of rank 1 is made of cheese"
    assert cause in said, said
    # nothing that looks like another cause comes before it
    for other in ("closed by peer", "gave no sign of life", "ChildFailedError", "exit code 1", "return code = 1"):
        where = said.find(other)
        assert where < 0 or where > said.find(cause) or launcher == "deepspeed", (other, said)
    logs = [path for path in out.rglob("*.log") if "ranks" in path.parts]
    for rank in range(2):
        (own,) = [path for path in logs if f"here is rank {rank}" in path.read_text()]
        assert rank == 0 or cause in own.read_text()
