"""A process among the others: its part of the machine's cores."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from pretrain.processes import thread_count


@pytest.mark.parametrize(
    ("cores", "threads"),
    [
        ([range(64)], [64]),
        ([range(64)] * 4, [16] * 4),  # torchrun, or srun without binding: all may use all
        ([range(16), range(16, 32)], [16, 16]),  # srun --cpu-bind=cores: each has its own
        ([range(16), range(16), range(16, 32)], [8, 8, 16]),  # bound by socket
        ([range(16), range(8, 24)], [12, 12]),
        ([range(2)] * 4, [1] * 4),
    ],
)
def test_a_process_takes_its_part_of_the_cores_that_it_may_use(cores: list[range], threads: list[int]) -> None:
    here = [frozenset(numbers) for numbers in cores]
    assert [thread_count(own, here) for own in here] == threads


PROGRAM = """
import os, sys
import torch
from pretrain import processes

rank = int(os.environ["RANK"])
cores = frozenset(range(4 * rank, 4 * rank + 4) if sys.argv[1] == "bound" else range(8))
processes.core_numbers = lambda: cores
process = processes.join_processes(processes.place_process(), *map(int, sys.argv[2:]))
process.lifeline.close()
processes.leave_processes()
sys.exit(10 + torch.get_num_threads())
"""


@pytest.mark.parametrize(("arguments", "threads"), [(["bound"], 4), (["free"], 4), (["bound", "3"], 3)])
def test_the_cores_of_a_bound_process_are_not_divided_again(arguments: list[str], threads: int) -> None:
    """`srun` binds tasks to cores of their own; torchrun and unbound steps do not."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free_port = probe.getsockname()[1]
    meet = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            env={**os.environ, **meet, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(2)
    ]
    assert [process.wait(60) for process in started] == [10 + threads] * 2
