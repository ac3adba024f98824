"""The place of a training process (rank, world size, machine) as a function of its environment.

torchrun and DeepSpeed's launcher set RANK and what goes with it. mpirun, srun and an indexed Kubernetes Job have other
names for the same; they are asked in this order. A process that knows half of it is refused: each of N would be "the
first of one", and all would write into one folder.
"""

from __future__ import annotations

import re
import socket
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from common.errors import UserError

Names = tuple[str, str, str, str]
"""A launcher's variables: rank, number of processes, and the same two on this machine."""
TORCHRUN: Names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
SLURM: Names = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE")
KUBERNETES: Names = ("JOB_COMPLETION_INDEX", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
MPI: tuple[Names, ...] = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),  # MPICH and Intel MPI
)
SIZES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PET_NNODES")
"""Variables that tell of several processes."""
PORTS = range(20_000, 30_000)
"""Ports of which a Slurm step takes one by its number: below those that systems hand out."""
PORT = 29_500
"""Port of mpirun and of pods, where none is given."""
LOOPBACK = "127.0.0.1"
START = "start the processes by torchrun, srun or mpirun, and set none of this by hand"


@dataclass(frozen=True)
class WorldInfo:
    """Place of a process in its run."""

    rank: int
    world: int
    local_rank: int
    local_world: int
    """Processes on this machine."""
    address: str
    """Address of the machine of rank 0."""
    port: int
    host: str
    visible: str | None = None
    """CUDA_VISIBLE_DEVICES."""

    def device_index(self, devices: int) -> int:
        """Return which of the GPUs that this process sees is its own; UserError where there are too few of them."""
        own = devices == 1 and len([name for name in (self.visible or "").split(",") if name.strip()]) == 1
        if self.local_world > devices and not own:
            raise UserError(
                f"{self.local_world} processes on {self.host} with {devices} GPU{'s' * (devices != 1)} "
                f"(CUDA_VISIBLE_DEVICES {'is not set' if self.visible is None else '= ' + self.visible})",
                "a process has a GPU of its own: it sees all of the machine's, or one that the scheduler gave it",
                f"start {devices} on each machine (pretrain.processes={devices}, srun --ntasks-per-node={devices}), "
                "or set CUDA_VISIBLE_DEVICES to one GPU for each process",
            )
        return self.local_rank % devices

    def environment(self) -> dict[str, str]:
        """Return the variables that torch and DeepSpeed read."""
        values = (self.rank, self.world, self.local_rank, self.local_world)
        numbers = {name: str(value) for name, value in zip(TORCHRUN, values, strict=True)}
        return {**numbers, "MASTER_ADDR": self.address, "MASTER_PORT": str(self.port)}


def world_info(environment: Mapping[str, str], free_port: Callable[[], int] | None = None) -> WorldInfo:
    """Return the place of a process by its environment; `free_port` gives the port of a single process.

    Raises:
        UserError: variables are missing, no numbers, or contradict each other.
    """
    e, mpi = environment, _mpi(environment)
    address = e.get("MASTER_ADDR", "").strip()
    port = _number(e, "MASTER_PORT", PORT)
    if "RANK" in e:
        names, numbers = TORCHRUN, _by_torchrun(e)
    elif mpi:
        names, numbers = mpi, tuple(_number(e, name) for name in mpi)
        _require(e, ("MASTER_ADDR", "MASTER_PORT") if numbers[3] < numbers[1] else (), mpi[0])
    elif _is_task(e):
        names = SLURM
        numbers = (*_task(e), _number(e, "SLURM_LOCALID"), _tasks_here(e))
        hosts = e.get("SLURM_STEP_NODELIST") or e.get("SLURM_JOB_NODELIST", "")
        address = address or first_host(hosts)
        # the same on all machines, and another one for each step of a job
        own = (zlib.crc32(e.get("SLURM_JOB_ID", "").encode()) + _number(e, "SLURM_STEP_ID")) % len(PORTS)
        port = port if "MASTER_PORT" in e else PORTS[own]
    elif "JOB_COMPLETION_INDEX" in e and ("WORLD_SIZE" in e or e.get("PET_NNODES") != "1"):
        _require(e, ("WORLD_SIZE",) if e.get("WORLD_SIZE") == "1" else ("WORLD_SIZE", "MASTER_ADDR"), KUBERNETES[0])
        names = KUBERNETES
        numbers = (_number(e, KUBERNETES[0]), _number(e, "WORLD_SIZE"), 0, 1)
    else:
        names = TORCHRUN
        numbers = (0, 1, 0, 1)
        address = LOOPBACK
        port = (free_port or _free_port)()
    rank, world, local_rank, local_world = numbers
    # scripts export WORLD_SIZE for all tasks alike, which does no harm where it is right
    for name in SIZES if names is TORCHRUN and "RANK" not in e else SIZES[:1]:
        if e.get(name, str(world)) not in (str(world), "1:1"):
            problem = f"{name}={e[name]} in a process that is rank {rank} of {world}, by {names[0]}"
            raise UserError(problem, "a process must know which one it is, and of how many", START)
    if not (0 <= rank < world and 0 <= local_rank < local_world <= world):
        said = ", ".join(f"{name}={e.get(name, n)}" for name, n in zip(names, numbers, strict=True))
        raise UserError(said, "ranks count from 0 to the number of processes less 1, also on each machine", START)
    if not 0 < port < 2**16:
        raise UserError(f"MASTER_PORT={port}", "ports count from 1 to 65535", "set another one, such as 29500")
    host = socket.gethostname()
    visible = e.get("CUDA_VISIBLE_DEVICES")
    return WorldInfo(rank, world, local_rank, local_world, address or LOOPBACK, port, host, visible)


def _by_torchrun(e: Mapping[str, str]) -> tuple[int, ...]:
    """Return the numbers that torchrun, DeepSpeed's launcher, or a script before `srun` has set."""
    _require(e, ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"), "RANK")
    rank = _number(e, "RANK")
    world = _number(e, "WORLD_SIZE")
    alone = e.get("PET_NNODES") == e["WORLD_SIZE"]
    mpi = _mpi(e)
    step = _is_task(e) and "GROUP_RANK" not in e and _task(e)[1] == world
    # DeepSpeed counts by LOCAL_SIZE; a pod of a PyTorchJob has one process, and a step says it for its tasks
    if world == 1 or alone:
        likely_here = 1
    elif step:
        likely_here = _tasks_here(e)
    else:
        likely_here = _number(e, mpi[3]) if mpi else 0
    local_world = _number(e, "LOCAL_WORLD_SIZE", _number(e, "LOCAL_SIZE", likely_here) or None)
    likely_rank = {world: rank, 1: 0}.get(local_world)
    outer = SLURM[2] if step else mpi[2] if mpi else "LOCAL_RANK"
    local_rank = _number(e, "LOCAL_RANK", _number(e, outer, likely_rank))
    _refuse_copies(e, rank, world, local_world)
    return rank, world, local_rank, local_world


def _refuse_copies(e: Mapping[str, str], rank: int, world: int, local_world: int) -> None:
    """Raise where each of several tasks of a step, or processes of mpirun, would be a run of its own."""
    mpi = _mpi(e)
    elastic = "GROUP_RANK" in e
    task, tasks = 0, 1
    if mpi:
        task, tasks = _number(e, mpi[0]), _number(e, mpi[1])
    elif _is_task(e):
        task, tasks = _task(e)
    alone = local_world == world and (elastic or world != tasks)
    if tasks > 1 and (world < tasks or alone or (world == tasks and rank != task and not elastic)):
        raise UserError(
            f"RANK={rank} and WORLD_SIZE={world} in task {task} of {tasks}",
            "a process has one place: taken from RANK here, several would be the same one, in the same folder",
            "unset RANK and WORLD_SIZE in the script, as srun and mpirun say where each process is; or start one "
            "torchrun on each machine, with --nnodes, --rdzv-backend=c10d and --rdzv-endpoint=HOST:PORT",
        )


def _mpi(e: Mapping[str, str]) -> Names | None:
    """Return mpirun's names; srun sets some of PMI's, too. mpirun starts its daemons by srun: it is asked first."""
    return next((names for names in MPI if all(name in e for name in names)), None)


def _is_task(e: Mapping[str, str]) -> bool:
    """Return whether srun started this process; a batch script's shell has no step, or one that stands for "batch"."""
    step = e.get("SLURM_STEP_ID", "")
    return "SLURM_PROCID" in e and step.isdecimal() and int(step) < 2**31


def _task(e: Mapping[str, str]) -> tuple[int, int]:
    return _number(e, "SLURM_PROCID"), _number(e, SLURM[1] if SLURM[1] in e else "SLURM_NTASKS")


def _tasks_here(e: Mapping[str, str]) -> int:
    text = e.get(SLURM[3]) or e.get("SLURM_TASKS_PER_NODE", "")
    counts: list[int] = []  # of "4(x2),3": 4, 4, 3
    for part in text.split(","):
        if match := re.fullmatch(r"([0-9]+)(?:\(x([0-9]+)\))?", part):
            counts += [int(match[1])] * int(match[2] or 1)
    node = _number(e, "SLURM_NODEID")
    if sum(counts) != _task(e)[1] or node >= len(counts):
        names = (SLURM[1], "SLURM_NTASKS", SLURM[3], "SLURM_TASKS_PER_NODE", "SLURM_NODEID")
        raise UserError(
            f"a Slurm step with {', '.join(f'{name}={e[name]}' for name in names if name in e)}",
            "it must say how many of its tasks run on each machine, and which machine this is",
            "start it by srun --ntasks-per-node=N, and set none of this by hand",
        )
    return counts[node]


def first_host(text: str) -> str:
    """Return the first machine of a list as Slurm writes it.

    >>> first_host("gpu[03-05,9],login"), first_host("r[1-2]n[1,3]"), first_host("n1,n2")
    ('gpu03', 'r1n1', 'n1')

    Raises:
        UserError: it is no such list.
    """
    first = re.match(r"(?:[^,\[\]\s]|\[[0-9]+(?:[-,][0-9]+)*\])+(?=,|$)", text)
    if not first:
        raise UserError(f"machines '{text}'", "Slurm writes them as gpu[03-05,9],other7", "set MASTER_ADDR")
    return re.sub(r"\[([0-9]+)[^\]]*\]", r"\1", first[0])


def _require(e: Mapping[str, str], names: tuple[str, ...], beside: str) -> None:
    missing = [name for name in names if not e.get(name, "").strip()]
    if missing:
        raise UserError(
            f"{beside}={e[beside]} is set, {', '.join(missing)} is not",
            "a process must know which one it is, of how many, and where they meet",
            "set them alike for all processes (a pod alone: WORLD_SIZE=1), or start by torchrun, which sets all",
        )


def _number(e: Mapping[str, str], name: str, default: int | None = None) -> int:
    if name not in e and default is not None:
        return default
    if not re.fullmatch(r"-?[0-9]+", e.get(name, "").strip()):
        said = f"{name}={e[name]}" if name in e else f"{name} is not set"
        raise UserError(said, "it is a whole number, beside the process's rank", START)
    return int(e[name])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
