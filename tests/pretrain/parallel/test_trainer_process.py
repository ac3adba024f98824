"""A process of the Trainer's ends without its process group: a thread of that could abort it after its work."""

import subprocess
import sys
from pathlib import Path

import pytest

WORK = """
import os, sys, torch.distributed as dist
from pretrain.parallel.trainer_process import run_job

def work(read, source):
    dist.init_process_group("gloo", store=dist.FileStore(read["store"], 1), rank=0, world_size=1)
    assert dist.is_initialized()

code = run_job("x", sys.argv[1], 1, work, "a batch", "")
print(code, dist.is_initialized())
"""


@pytest.mark.slow
def test_the_group_is_left(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text(f'{{"store": "{tmp_path / "store"}"}}')
    command = [sys.executable, "-c", WORK, str(tmp_path / "job.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    assert (done.returncode, done.stdout.split()) == (0, ["0", "False"]), done.stderr
