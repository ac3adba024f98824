"""A process among the others: its part of the machine's cores, and the store by which they meet."""

import sys
from datetime import timedelta
from pathlib import Path

import pytest

from common.errors import UserError
from pretrain.parallel import processes
from pretrain.parallel.processes import open_local_store, thread_count
from pretrain.parallel.world import WorldInfo
from tests.pretrain.parallel.meeting import free_port, meet


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


def listening(port: int) -> list[str]:
    """Return the addresses on which something listens on a port, as Linux lists them."""
    rows = [row.split() for name in ("tcp", "tcp6") for row in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    pairs = [row[1].rpartition(":") for row in rows if row[3] == "0A"]
    return [address for address, _, number in pairs if int(number, 16) == port]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_the_store_of_one_machine_is_not_seen_from_outside() -> None:
    store = open_local_store(0)
    assert listening(store.port) == ["0100007F"]  # 127.0.0.1


def test_a_store_that_nobody_reaches_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PATIENCE", timedelta(milliseconds=200))
    port = free_port()
    with pytest.raises(UserError, match=f"rank 1 on n1 cannot reach port {port} of 127.0.0.1"):
        processes._store(WorldInfo(1, 2, 1, 2, "n0", port, "n1"), False)


JOIN = """
import os
from pretrain.parallel.processes import join_processes, leave_processes, place_process
process = join_processes(place_process())
with process.monitor:
    print(process.world)
leave_processes()
"""


def test_a_node_that_comes_back_meets_those_whose_agents_have_counted_a_restart() -> None:
    """torchrun's count is of each agent; a node that has been started anew begins at 0."""
    counts = [{"TORCHELASTIC_RESTART_COUNT": count} for count in (1, 0)]
    assert meet(JOIN, counts) == ([0, 0], ["2\n", "2\n"])
