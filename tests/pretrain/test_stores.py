"""Key-value stores: of one machine they listen on the loopback alone; a stranger who guesses a key changes nothing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import torch.distributed as dist

from pretrain.lifeline import Lifeline
from pretrain.stores import PREFIX, group_store, open_store
from pretrain.world import world_info

PATIENCE = timedelta(seconds=20)


def listening(port: int) -> list[str]:
    """Return the addresses on which something listens on a port, as Linux lists them."""
    rows = [row.split() for name in ("tcp", "tcp6") for row in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    pairs = [row[1].rpartition(":") for row in rows if row[3] == "0A"]
    return [address for address, _, number in pairs if int(number, 16) == port]


@pytest.fixture
def port() -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
    yield found


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_the_process_groups_store_of_one_machine_is_not_seen_from_outside(port: int) -> None:
    environment = {
        "RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": socket.gethostname(),
        "MASTER_PORT": str(port), PREFIX: "drawn",
    }  # fmt: skip
    first = group_store(world_info(environment), environment, PATIENCE)
    assert listening(port) == ["0100007F"]  # 127.0.0.1
    second = group_store(world_info({**environment, "RANK": "1", "LOCAL_RANK": "1"}), environment, PATIENCE)
    first.set("a", "b")
    assert second.get("a") == b"b"
    stranger = dist.TCPStore("127.0.0.1", port, None, False, PATIENCE, wait_for_workers=False)
    stranger.set("a", "other")
    assert second.get("a") == b"b"


def test_torch_finds_the_store_that_torchrun_or_another_machine_holds(port: int) -> None:
    environment = {
        "RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }  # fmt: skip
    for changes in ({"TORCHELASTIC_USE_AGENT_STORE": "True"}, {"LOCAL_WORLD_SIZE": "1"}):
        other = {**environment, **changes}
        assert group_store(world_info(other), other, PATIENCE) is None
    assert listening(port) == []


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_lifeline_of_one_machine_hears_no_stranger(capfd: pytest.CaptureFixture[str]) -> None:
    opened: list[tuple[str, int, str, str]] = []
    line = Lifeline.start(0, 2, "127.0.0.1", lambda value: opened.append(value) or value, interval=0.05)
    try:
        (_, port, prefix, _), stopped = opened[0], line._stop
        assert listening(port) == ["0100007F"] and len(prefix) >= 32
        stranger = dist.TCPStore("127.0.0.1", port, None, False, PATIENCE, wait_for_workers=False)
        failure = json.dumps({"rank": 1, "text": "attacker says stop"})
        stranger.compare_set("failed", "", failure)
        before = line._store.get("sign/0")
        while line._store.get("sign/0") == before:  # it has looked for failures since
            assert not stopped.is_set()
        assert not line._store.check(["failed"]) and not line._failed.is_set()
    finally:
        line._stop_thread()
    assert "attacker" not in capfd.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_store_for_other_machines_is_reached_by_them() -> None:
    store = open_store(False, 0, PATIENCE)
    assert set(listening(store.port)) <= {"0" * 8, "0" * 32}


def test_the_launcher_draws_a_prefix_for_each_run(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"import os; open({str(tmp_path)!r} + '/rank-' + os.environ['RANK'], 'w').write(os.environ['{PREFIX}'])"
    )
    line = (
        f"import sys; from pretrain.launch import launch; sys.exit(launch([{sys.executable!r}, {str(program)!r}], 2))"
    )
    drawn = []
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", line], env=dict(os.environ)).returncode == 0
        first, second = ((tmp_path / f"rank-{rank}").read_text() for rank in range(2))
        assert first == second and len(first) >= 32
        drawn.append(first)
    assert len(set(drawn)) == 2
