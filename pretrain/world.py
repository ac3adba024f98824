"""Where a training process is, one of how many and on which machine: a function of its environment.

torchrun and DeepSpeed's launcher set RANK and what goes with it. A task that `srun` starts, a process of `mpirun` and a
pod of an indexed Kubernetes Job have other names for the same. What contradicts itself is refused: started with half of
it, N processes would each be "the first of one" and write into one folder.
"""

from __future__ import annotations

import re
import socket
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from common.errors import UserError

BASE = ("RANK", "WORLD_SIZE")
MPI = {
    "Open MPI": tuple(f"OMPI_COMM_WORLD_{name}" for name in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")),
    "MPI": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
}  # fmt: skip
"""Launcher → its names for rank, number of processes, and the same on this machine."""
PORTS = range(20_000, 30_000)
"""Out of which a port is taken where only a job's number says which: below those that systems hand out."""


@dataclass(frozen=True)
class WorldInfo:
    """Where a process is."""

    rank: int
    world: int
    local_rank: int
    local_world: int
    """Processes on this machine."""
    address: str
    """Of the machine of rank 0."""
    port: int
    launcher: str
    """What started it: "single", "torchrun" (or alike), "slurm", "Open MPI", "MPI" or "kubernetes"."""
    host: str
    visible: str | None
    """CUDA_VISIBLE_DEVICES."""

    def device_index(self, devices: int) -> int:
        """Return which of the GPUs that this process sees is its own.

        Args:
            devices: how many it sees, at least 1.

        Raises:
            UserError: there are fewer than processes on this machine, and nothing shows that each has one of its own.
        """
        own = devices == 1 and self.visible is not None and len(self.visible.split(",")) == 1
        if self.local_world > devices and not own:
            raise UserError(
                f"{self.local_world} processes on {self.host} with {devices} GPUs",
                "a process has a GPU of its own: it sees all of the machine's, or one that the scheduler gave it",
                f"start {devices} on each machine (pretrain.processes={devices}, srun --ntasks-per-node={devices})",
            )
        return self.local_rank % devices

    def threads(self, cores: int) -> int:
        """Return the CPU threads of a process: its part of the machine's cores, at least 1."""
        return max(1, cores // self.local_world)

    def environment(self) -> dict[str, str]:
        """Return the variables that torch and DeepSpeed read."""
        return {
            "RANK": str(self.rank),
            "WORLD_SIZE": str(self.world),
            "LOCAL_RANK": str(self.local_rank),
            "LOCAL_WORLD_SIZE": str(self.local_world),
            "MASTER_ADDR": self.address,
            "MASTER_PORT": str(self.port),
        }


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def world_info(environment: Mapping[str, str], port: Callable[[], int] = free_port) -> WorldInfo:
    """Return where a process is, by its environment.

    Args:
        environment: of the process.
        port: returns a free port, for a process by itself.

    Raises:
        UserError: variables are missing, no numbers, or contradict each other.
    """
    e = environment
    if "JOB_COMPLETION_INDEX" in e and "RANK" not in e:
        info = _by_kubernetes(e)
    elif any(name in e for name in BASE):
        info = _by_torchrun(e)
    elif _is_step(e):
        info = _by_slurm(e)
    elif launcher := next((name for name, names in MPI.items() if names[0] in e), None):
        info = _by_mpi(e, launcher)
    else:
        info = _info(e, "single", 0, 1, 0, 1, "127.0.0.1", port())
    fits = 0 <= info.rank < info.world and 0 <= info.local_rank < info.local_world <= info.world
    if not fits:
        raise UserError(
            f"rank {info.rank} of {info.world}, on this machine {info.local_rank} of {info.local_world} "
            f"({info.launcher})",
            "ranks count from 0 to the number of processes less 1, and a machine has no more than there are in all",
            "start the processes by torchrun, srun or mpirun, and set none of this by hand",
        )
    return info


def _by_torchrun(e: Mapping[str, str]) -> WorldInfo:
    """As torchrun, DeepSpeed's launcher and `pretrain.launch` set it."""
    missing = [name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if name not in e]
    if missing:
        raise UserError(
            f"{' and '.join(name for name in BASE if name in e)} is set, {', '.join(missing)} is not",
            "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT go together",
            f"unset {' '.join(name for name in BASE if name in e)}, or start by torchrun, which sets all",
        )
    rank, world = _number(e, "RANK"), _number(e, "WORLD_SIZE")
    elastic = "TORCHELASTIC_RUN_ID" in e or "GROUP_RANK" in e
    if _is_step(e) and not elastic:
        tasks, task = _step_tasks(e), _number(e, "SLURM_PROCID")
        # one launcher a machine starts several; each task by itself cannot be fewer than there are tasks
        if world < tasks or (world == tasks and rank != task):
            raise UserError(
                f"RANK={rank} and WORLD_SIZE={world} in task {task} of {tasks} of a Slurm step",
                "every task would be a run of its own in the same folder",
                "unset RANK and WORLD_SIZE in the batch script: srun says where each task is",
            )
    if "LOCAL_WORLD_SIZE" in e:
        local_world = _number(e, "LOCAL_WORLD_SIZE")
    elif world == 1:
        local_world = 1
    elif "LOCAL_SIZE" in e:  # DeepSpeed's launcher
        local_world = _number(e, "LOCAL_SIZE")
    elif _is_step(e) and not elastic:
        local_world = _tasks_here(e)
    elif "OMPI_COMM_WORLD_LOCAL_SIZE" in e:
        local_world = _number(e, "OMPI_COMM_WORLD_LOCAL_SIZE")
    else:
        raise UserError(
            f"WORLD_SIZE={world} without LOCAL_WORLD_SIZE",
            "each process takes its part of its machine's cores and GPUs, so it must know how many share them",
            "set LOCAL_WORLD_SIZE to the number of processes on this machine",
        )
    if "LOCAL_RANK" in e:
        local_rank = _number(e, "LOCAL_RANK")
    elif _is_step(e) and not elastic:
        local_rank = _number(e, "SLURM_LOCALID")
    elif "OMPI_COMM_WORLD_LOCAL_RANK" in e:
        local_rank = _number(e, "OMPI_COMM_WORLD_LOCAL_RANK")
    else:
        local_rank = rank % local_world
    return _info(e, "torchrun", rank, world, local_rank, local_world, e["MASTER_ADDR"], _number(e, "MASTER_PORT"))


def _is_step(e: Mapping[str, str]) -> bool:
    """Return whether `srun` started this process as a task; a batch script's shell has a rank, too, but no step."""
    step = e.get("SLURM_STEP_ID", e.get("SLURM_STEPID", ""))
    return "SLURM_PROCID" in e and step.isdigit() and int(step) < 2**31  # the batch shell's is negative, or "batch"


def _step_tasks(e: Mapping[str, str]) -> int:
    return _number(e, "SLURM_STEP_NUM_TASKS" if "SLURM_STEP_NUM_TASKS" in e else "SLURM_NTASKS")


def _by_slurm(e: Mapping[str, str]) -> WorldInfo:
    hosts = expand_hosts(e.get("SLURM_STEP_NODELIST") or e.get("SLURM_JOB_NODELIST") or e.get("SLURM_NODELIST", ""))
    address = e.get("MASTER_ADDR") or (hosts[0] if hosts else "")
    world = _step_tasks(e)
    if not address:
        raise UserError(
            "a Slurm step without SLURM_STEP_NODELIST", "processes meet on the first machine", "set MASTER_ADDR"
        )
    if "MASTER_PORT" in e:
        port = _number(e, "MASTER_PORT")
    else:  # the same on all machines, another one for each step
        named = f"{e.get('SLURM_JOB_ID', e.get('SLURM_JOBID', ''))}.{e.get('SLURM_STEP_ID', e.get('SLURM_STEPID', ''))}"
        port = PORTS[zlib.crc32(named.encode()) % len(PORTS)]
    return _info(
        e, "slurm", _number(e, "SLURM_PROCID"), world, _number(e, "SLURM_LOCALID"), _tasks_here(e), address, port
    )


def _tasks_here(e: Mapping[str, str]) -> int:
    """Return the tasks of a Slurm step on this machine."""
    stated = e.get("SLURM_STEP_TASKS_PER_NODE") or e.get("SLURM_TASKS_PER_NODE")
    if not stated:
        return _number(e, "SLURM_NTASKS_PER_NODE") if "SLURM_NTASKS_PER_NODE" in e else _step_tasks(e)
    counts = tasks_per_node(stated)
    node = _number(e, "SLURM_NODEID") if "SLURM_NODEID" in e else 0
    if node >= len(counts):
        raise UserError(
            f"SLURM_NODEID={node} with tasks on {len(counts)} machines ({stated})", "a step's machines count from 0"
        )
    return counts[node]


def _by_mpi(e: Mapping[str, str], launcher: str) -> WorldInfo:
    rank, world, local_rank, local_world = (_number(e, name) if name in e else None for name in MPI[launcher])
    assert rank is not None
    if world is None or local_rank is None or local_world is None:
        missing = [name for name in MPI[launcher] if name not in e]
        raise UserError(
            f"{MPI[launcher][0]} is set, {', '.join(missing)} is not",
            "a process must know how many there are, in all and on its machine",
            "start the processes by torchrun or srun",
        )
    if local_world < world and not ("MASTER_ADDR" in e and "MASTER_PORT" in e):
        raise UserError(
            f"{world} processes of {launcher} on several machines without MASTER_ADDR and MASTER_PORT",
            "processes meet on the machine of rank 0",
            "export both: mpirun -x MASTER_ADDR=HOST -x MASTER_PORT=29500 …",
        )
    port = _number(e, "MASTER_PORT") if "MASTER_PORT" in e else None
    if port is None:
        named = e.get("PMIX_NAMESPACE") or e.get("OMPI_MCA_ess_base_jobid") or e.get("PMI_JOBID") or ""
        port = PORTS[zlib.crc32(named.encode()) % len(PORTS)]
    return _info(e, launcher, rank, world, local_rank, local_world, e.get("MASTER_ADDR", "127.0.0.1"), port)


def _by_kubernetes(e: Mapping[str, str]) -> WorldInfo:
    """A pod of an indexed Job, with one process: it knows which it is, but must be told of how many."""
    missing = [name for name in ("WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if name not in e]
    if missing:
        raise UserError(
            f"JOB_COMPLETION_INDEX={e['JOB_COMPLETION_INDEX']} without {', '.join(missing)}",
            "a pod of an indexed Job does not know how many there are: each would be a run of its own in one folder",
            "set WORLD_SIZE (the Job's completions), MASTER_ADDR (pod 0) and MASTER_PORT in the pod's template, or "
            "start torchrun in it",
        )
    index, world = _number(e, "JOB_COMPLETION_INDEX"), _number(e, "WORLD_SIZE")
    return _info(e, "kubernetes", index, world, 0, 1, e["MASTER_ADDR"], _number(e, "MASTER_PORT"))


def _info(
    e: Mapping[str, str],
    launcher: str,
    rank: int,
    world: int,
    local_rank: int,
    local_world: int,
    address: str,
    port: int,
) -> WorldInfo:
    visible = e.get("CUDA_VISIBLE_DEVICES")
    return WorldInfo(rank, world, local_rank, local_world, address, port, launcher, socket.gethostname(), visible)


def _number(e: Mapping[str, str], name: str) -> int:
    try:
        return int(e[name])
    except KeyError:
        raise UserError(f"{name} is not set", "the launcher sets it beside the process's rank") from None
    except ValueError:
        raise UserError(
            f"{name}={e[name]}", "it is a whole number", f"set it, or unset all of {', '.join(BASE)}"
        ) from None


def tasks_per_node(text: str) -> list[int]:
    """Return the tasks of each machine as Slurm writes them.

    >>> tasks_per_node("4(x2),3")
    [4, 4, 3]
    """
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)
        if not match:
            raise UserError(f"tasks per machine '{text}'", "Slurm writes them as 4(x2),3")
        found += [int(match[1])] * int(match[2] or 1)
    return found


def expand_hosts(text: str) -> list[str]:
    """Return the machines of a Slurm list, in its order.

    >>> expand_hosts("gpu[03-05,9],login,r[1-2]n[1-2]")
    ['gpu03', 'gpu04', 'gpu05', 'gpu9', 'login', 'r1n1', 'r1n2', 'r2n1', 'r2n2']
    """
    # commas within brackets belong to a name
    return [host for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text) for host in _expand_host(part)]


def _expand_host(text: str) -> list[str]:
    before, bracket, rest = text.partition("[")
    if not bracket:
        return [text]
    inside, _, after = rest.partition("]")
    numbers: list[str] = []
    for part in inside.split(","):
        first, dash, last = part.partition("-")
        numbers += [str(n).zfill(len(first)) for n in range(int(first), int(last) + 1)] if dash else [first]
    return [before + number + end for number in numbers for end in _expand_host(after)]
