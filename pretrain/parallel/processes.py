"""A process of a run: its device, its threads, and the others."""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from common.errors import UserError
from common.process import core_numbers
from pretrain.parallel.accelerator import GROUPS, device_of
from pretrain.parallel.monitor import Monitor
from pretrain.parallel.versions import STEP, publish_versions, read_versions, refuse_together, versions_of
from pretrain.parallel.world import LOOPBACK, WorldInfo, world_info

T = TypeVar("T")

PATIENCE = timedelta(minutes=30)
"""Time that processes wait for each other to begin, and in a step; work of the first one alone has no limit."""
AGENT_PATIENCE = timedelta(minutes=1)
"""Patience with the store of torchrun's agent, which is there before its processes."""
FOREVER = timedelta(days=365)
SHARED_SECONDS = 10
"""How long a file may take to be seen on another node: network file systems cache folders."""
PROBE = ".shared-"
"""Prefix of the file that shows whether a folder is shared."""


@dataclass
class Process:
    """This process of a run."""

    rank: int
    world: int
    host: str
    device: torch.device
    monitor: Monitor = field(default_factory=lambda: Monitor(0, [""]))
    code: dict[str, str] = field(default_factory=lambda: versions_of(STEP))
    """Versions of the code that it runs, equal on all processes."""
    _meetings: int = 0

    @property
    def first(self) -> bool:
        """Whether it is the first one, which writes what is written once."""
        return self.rank == 0

    def on_first(self, name: str, work: Callable[[], T]) -> T:
        """Return on all processes, as JSON, what `work` returns on the first; all call it, in the same order.

        The others wait however long it takes, and no collective runs meanwhile; a failure ends them (`Monitor`).
        """
        key = self._key(name)
        if not self.first:
            self.monitor.store.wait([key], FOREVER)
            return json.loads(self.monitor.store.get(key))  # type: ignore[no-any-return]
        result = work()
        if self.world > 1:
            self.monitor.store.set(key, json.dumps(result))
        return result

    def gather(self, name: str, value: Any) -> list[Any]:
        """Return each process's JSON value, by rank, on the first one, [] elsewhere; all call it, in one order."""
        key = self._key(name)
        if self.world == 1:
            return [value]
        self.monitor.store.set(f"{key}/{self.rank}", json.dumps(value))
        if not self.first:
            return []
        keys = [f"{key}/{rank}" for rank in range(self.world)]
        self.monitor.store.wait(keys, FOREVER)
        return [json.loads(text) for text in self.monitor.store.multi_get(keys)]

    def meet(self, name: str) -> None:
        """Wait until all processes have come here, however long it takes; all call it, in the same order."""
        key = self._key(name)
        if self.world > 1:
            if self.monitor.store.add(f"{key}/come", 1) == self.world:
                self.monitor.store.set(key, "")
            self.monitor.store.wait([key], FOREVER)

    def _key(self, name: str) -> str:
        self._meetings += 1
        return f"{self._meetings}/{name}"


def place_process() -> WorldInfo:
    """Return this process's place, and set its environment variables; UserError where they contradict each other."""
    info = world_info(os.environ)
    os.environ.update(info.environment())
    return info


def join_processes(info: WorldInfo, threads: int | None = None) -> Process:
    """Meet the other processes of the run, and return this one.

    Raises:
        UserError: the store of rank 0 is not reached, a process runs other code, or see `device_of`.
    """
    device, own = device_of(info), core_numbers()
    if device.type == "cuda":
        torch.cuda.set_device(device)  # before anything is put on the first one by default
    if info.world == 1:
        torch.set_num_threads(threads or thread_count(own, [own]))
        return Process(0, 1, info.host, device)
    agent = _agent_has_store()
    # held to the end: on rank 0 it may be the one that the others are connected to
    store = _store(info, info.rank == 0 and not agent)
    # An agent's store holds the keys of earlier attempts. A store of rank 0 is new at each, and there the count, which
    # is the agent's own, would part a node that comes back from those whose agents have counted a restart.
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") if agent else ""
    versions_store = dist.PrefixStore(f"versions/{attempt}", store)
    code = publish_versions(versions_store, info.rank, info.host)
    group = dist.PrefixStore(f"group/{attempt}", store)
    dist.init_process_group(GROUPS[device.type], store=group, rank=info.rank, world_size=info.world, timeout=PATIENCE)
    everywhere: list[Any] = [None] * info.world
    try:
        try:
            dist.all_gather_object(everywhere, (info.host, own, code))
        except RuntimeError:
            refuse_together(read_versions(versions_store, info.world, (info.host, code)), versions_store)
            raise
        refuse_together([(host, code[0] if code else {}) for host, _, *code in everywhere], versions_store)
    except UserError:
        dist.destroy_process_group()  # a thread of it that outlives the interpreter would abort the process
        raise
    torch.set_num_threads(threads or thread_count(own, [cores for host, cores, _ in everywhere if host == info.host]))
    hosts = [host for host, *_ in everywhere]
    monitor = Monitor(info.rank, hosts, lambda: dist.PrefixStore(f"monitor/{attempt}", _store(info, False)))
    process = Process(info.rank, info.world, info.host, device, monitor, code)
    process.meet("the monitor")
    monitor.start()
    return process


def _store(info: WorldInfo, opens: bool) -> Any:
    """Return torch's store at the meeting's address: opened by this process, or a new connection to it.

    Where all processes are of one machine it listens on the loopback alone. Between machines it listens on all
    interfaces, and torch knows no password for it.
    """
    local = info.local_world == info.world
    agent = _agent_has_store()
    host = LOOPBACK if local and not agent else info.address
    try:
        if opens and local:
            return open_local_store(info.port)
        patience = AGENT_PATIENCE if agent else PATIENCE
        return dist.TCPStore(host, info.port, None, opens, patience, wait_for_workers=False)
    except (RuntimeError, OSError) as error:
        action = "open" if opens else "reach"
        raise UserError(
            f"rank {info.rank} on {info.host} cannot {action} port {info.port} of {host}: {error}",
            "the processes of a run meet at a port of the machine of rank 0",
            "open the ports between the machines, or set MASTER_ADDR and MASTER_PORT to what all of them reach",
        ) from None


def _agent_has_store() -> bool:
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


def open_local_store(port: int) -> Any:
    """Return a new store of this process that listens on the loopback alone; port 0 is any that is free."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as torch does
        listening.bind((LOOPBACK, port))
        listening.listen(socket.SOMAXCONN)
        port = listening.getsockname()[1]
        return dist.TCPStore(
            LOOPBACK, port, None, True, PATIENCE, wait_for_workers=False, master_listen_fd=listening.detach()
        )


def thread_count(own: frozenset[int], here: Sequence[frozenset[int]]) -> int:
    """Return the CPU threads of a process: its share of the cores that it may use, at least 1.

    Launchers differ: torchrun lets all processes of a machine use all its cores, srun may bind each task to its `own`.
    """
    return max(1, int(sum(Fraction(1, sum(core in cores for cores in here)) for core in own)))


def require_shared_folder(folder: Path, process: Process) -> None:
    """Check that all processes see one and the same folder, rather than at the first checkpoint; all call it.

    Raises:
        UserError: this process does not see what rank 0 has written there.
        OSError: rank 0 cannot write there.
    """
    if process.world == 1:
        return

    def write() -> str:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(f"{PROBE}*"):  # by a run that was killed
            left.unlink(missing_ok=True)
        name = PROBE + secrets.token_hex(8)
        (folder / name).touch()
        return name

    # the others look for the file only once it is there: some file systems remember for a minute what was missing
    probe = folder / process.on_first("write to the run's folder", write)
    until = time.monotonic() + SHARED_SECONDS
    try:
        # reading a folder makes a network file system ask its server anew
        while not (folder.is_dir() and probe in folder.iterdir()):
            if time.monotonic() > until:
                who = f"{process.host} (rank {process.rank})"
                raise UserError(
                    f"{who} does not see what rank 0 writes to the run's folder {folder}",
                    "all machines of a run share its folder",
                    "put it on a file system that every machine mounts under the same path (NFS, Lustre)",
                )
            time.sleep(0.2)
        process.meet("see the run's folder")
    finally:
        if process.first:
            probe.unlink(missing_ok=True)


def leave_processes() -> None:
    """Leave the process group in order."""
    if dist.is_initialized():
        dist.destroy_process_group()


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turn running out of memory, on the device or the host, into a UserError."""
    try:
        yield
    except RuntimeError as error:  # torch.OutOfMemoryError is one; a CPU's allocator has none of its own
        if not isinstance(error, torch.OutOfMemoryError) and "DefaultCPUAllocator" not in str(error):
            raise
        raise UserError(
            "the memory of the device does not hold a micro-batch",
            "weights, gradients, optimizer state and the activations of pretrain.micro_batch samples must fit",
            "halve pretrain.micro_batch (the global batch stays), or set pretrain.gradient_checkpointing=true",
        ) from None
