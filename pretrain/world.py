"""Where a training process is, one of how many and on which machine: a function of its environment.

torchrun and DeepSpeed's launcher set RANK and what goes with it. A task that `srun` starts, a process of `mpirun` and a
pod of an indexed Kubernetes Job have other names for the same; they are asked in this order. What contradicts itself is
refused: started with half of it, N processes would each be "the first of one" and write into one folder.
"""

from __future__ import annotations

import re
import socket
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from common.errors import UserError
from pretrain.slurm_lists import expand_hosts, tasks_per_node

Names = tuple[str, str, str, str]
"""Of a launcher's variables: rank, number of processes, and the same two on this machine."""
TORCHRUN: Names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
SLURM: Names = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE")
SLURM_NODES = ("SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES")
KUBERNETES: Names = ("JOB_COMPLETION_INDEX", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
MPI: tuple[Names, ...] = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),  # MPICH and Intel MPI
)
MPI_JOBS = ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID")
"""Variables that tell one `mpirun` on a machine from another."""
PORTS = range(20_000, 30_000)
"""Out of which a port is taken where only a job's number says which: below those that systems hand out."""
POD_PORT = 29_500
"""Of a pod that is told none: its network is its own."""
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class WorldInfo:
    """Where a process is."""

    rank: int
    world: int
    local_rank: int
    local_world: int
    """Processes on this machine."""
    node: int
    nodes: int
    """Machine and number of machines; where no launcher says so, counted as if all held as many processes as this."""
    address: str
    """Of the machine of rank 0."""
    port: int
    launcher: str
    """What started it: "single", "torchrun" (or alike), "slurm", "openmpi" (any mpirun) or "kubernetes"."""
    host: str
    visible: str | None = None
    """CUDA_VISIBLE_DEVICES."""

    def device_index(self, devices: int) -> int:
        """Return which of the GPUs that this process sees is its own.

        Args:
            devices: how many it sees, at least 1.

        Raises:
            UserError: there are fewer than processes on this machine, and nothing shows that each has one of its own.
        """
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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
    return port


def world_info(environment: Mapping[str, str], free_port: Callable[[], int] = _free_port) -> WorldInfo:
    """Return where a process is, by its environment.

    Args:
        environment: of the process.
        free_port: returns a port that nobody listens on, for a process by itself.

    Raises:
        UserError: variables are missing, no numbers, or contradict each other.
    """
    e = environment
    if "RANK" in e:
        return _by_torchrun(e)
    if _is_task(e):
        info = _by_slurm(e)
    elif mpi := _mpi_names(e):
        info = _by_mpi(e, mpi)
    elif "JOB_COMPLETION_INDEX" in e and not _only_pod(e):
        info = _by_kubernetes(e, free_port)
    else:
        info = _by_itself(e, free_port)
    # scripts export it for all tasks alike, which does no harm where it is right
    if "WORLD_SIZE" in e and _number(e, "WORLD_SIZE") != info.world:
        raise UserError(
            f"WORLD_SIZE={e['WORLD_SIZE']} without RANK, in a process that is one of {info.world} ({info.launcher})",
            "a process must know which one it is, and of how many",
            "unset WORLD_SIZE, or start the processes by torchrun, srun or mpirun",
        )
    return info


def _by_torchrun(e: Mapping[str, str]) -> WorldInfo:
    """As torchrun, DeepSpeed's launcher and `pretrain.launch` set it; torchrun in each task of a step is usual."""
    together = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    missing = [name for name in together if not e.get(name, "").strip()]
    if missing:
        raise UserError(
            f"RANK={e['RANK']} is set, {', '.join(missing)} is not",
            "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT go together",
            f"unset {' '.join(name for name in together if name in e)}, or start by torchrun, which sets all",
        )
    rank, world = _number(e, "RANK"), _number(e, "WORLD_SIZE")
    elastic = "TORCHELASTIC_RUN_ID" in e or "GROUP_RANK" in e
    outer = None if elastic else SLURM if _is_task(e) else _mpi_names(e)
    if outer:
        _refuse_other_world(e, rank, world, outer)
    elif elastic:
        _refuse_torchrun_by_itself(e, world)

    if "LOCAL_WORLD_SIZE" in e:
        local_world = _number(e, "LOCAL_WORLD_SIZE")
    elif world == 1 or e.get("PET_NNODES") == str(world):  # a Kubeflow PyTorchJob of one process a pod
        local_world = 1
    elif "LOCAL_SIZE" in e:  # DeepSpeed's launcher
        local_world = _number(e, "LOCAL_SIZE")
    elif outer and (outer == SLURM or outer[3] in e):
        local_world = _tasks_here(e) if outer == SLURM else _number(e, outer[3])
    else:
        raise UserError(
            f"WORLD_SIZE={world} without LOCAL_WORLD_SIZE",
            "each process takes its part of its machine's cores and GPUs, so it must know how many share them",
            "set LOCAL_WORLD_SIZE to the number of processes on this machine",
        )
    if "LOCAL_RANK" in e:
        local_rank = _number(e, "LOCAL_RANK")
    elif outer and outer[2] in e:
        local_rank = _number(e, outer[2])
    elif local_world in (1, world):
        local_rank = rank if local_world == world else 0
    else:
        raise UserError(
            f"RANK={rank}, WORLD_SIZE={world} and LOCAL_WORLD_SIZE={local_world} without LOCAL_RANK",
            "two processes of a machine with the same LOCAL_RANK would share a GPU, so it is not guessed",
            "set LOCAL_RANK, counting from 0 on each machine",
        )
    return _info(e, "torchrun", TORCHRUN, (rank, world, local_rank, local_world), e["MASTER_ADDR"].strip(), _port(e))


def _refuse_other_world(e: Mapping[str, str], rank: int, world: int, outer: Names) -> None:
    """Refuse RANK and WORLD_SIZE that every task of a step, or process of mpirun, would have alike."""
    task, tasks = _number(e, outer[0]), _step_tasks(e) if outer == SLURM else _number(e, outer[1])
    # a launcher in each task, as DeepSpeed's, says where its processes are on the machine, and starts several
    here = _number(e, "LOCAL_WORLD_SIZE" if "LOCAL_WORLD_SIZE" in e else "LOCAL_SIZE", 0)
    spread = "LOCAL_RANK" in e and here > 0 and (here < world or tasks == 1) and world > tasks
    if (rank, world) != (task, tasks) and not spread:
        raise UserError(
            f"RANK={rank} and WORLD_SIZE={world} in a process with {outer[0]}={task} of {outer[1]}={tasks}",
            "a process has one place: taken from RANK here, several would be the same one or a run of their own, "
            "in the same folder",
            "unset RANK and WORLD_SIZE in the script: srun and mpirun say where each process is; or start one "
            "torchrun on each machine",
        )


def _refuse_torchrun_by_itself(e: Mapping[str, str], world: int) -> None:
    """Refuse a torchrun that knows of one machine, in one of several tasks of a step or processes of mpirun."""
    outer = SLURM if _is_task(e) else _mpi_names(e)
    if not outer or e.get("GROUP_WORLD_SIZE") != "1":
        return
    tasks = _step_tasks(e) if outer == SLURM else _number(e, outer[1], 1)
    if tasks > 1:
        raise UserError(
            f"a torchrun of one machine ({world} processes) in each of {tasks} tasks ({outer[1]})",
            "each would be a run of its own, in the same folder",
            "give torchrun --nnodes, --rdzv-backend=c10d and --rdzv-endpoint=HOST:PORT, or start one task",
        )


def _is_task(e: Mapping[str, str]) -> bool:
    """Return whether `srun` started this process as a task.

    A batch script's shell has a SLURM_PROCID, too, but no step, or one with a number that stands for "batch". mpirun
    starts its daemons by `srun` on the other machines, and their processes see the daemon's step: not theirs.
    """
    step, mpi = _step(e), _mpi_names(e)
    if "SLURM_PROCID" not in e or not step.isdecimal() or int(step) >= 2**31:
        return False
    if not mpi or mpi[1] not in e:
        return True
    # srun itself may set PMI_RANK and PMI_SIZE: then they agree
    return (_number(e, mpi[0]), _number(e, mpi[1])) == (_number(e, "SLURM_PROCID"), _step_tasks(e))


def _step(e: Mapping[str, str]) -> str:
    return e.get("SLURM_STEP_ID", e.get("SLURM_STEPID", ""))


def _step_tasks(e: Mapping[str, str]) -> int:
    return _number(e, "SLURM_STEP_NUM_TASKS" if "SLURM_STEP_NUM_TASKS" in e else "SLURM_NTASKS")


def _by_slurm(e: Mapping[str, str]) -> WorldInfo:
    numbers = (_number(e, "SLURM_PROCID"), _step_tasks(e), _number(e, "SLURM_LOCALID"), _tasks_here(e))
    hosts = e.get("SLURM_STEP_NODELIST") or e.get("SLURM_JOB_NODELIST") or e.get("SLURM_NODELIST", "")
    address = e.get("MASTER_ADDR", "").strip() or next(iter(expand_hosts(hosts)), "")
    if not address:
        raise UserError("a step without SLURM_STEP_NODELIST", "processes meet on the first machine", "set MASTER_ADDR")
    job = e.get("SLURM_JOB_ID", e.get("SLURM_JOBID", ""))
    # the same on all machines, and another one for each step of a job
    port = PORTS[(zlib.crc32(job.encode()) + int(_step(e))) % len(PORTS)]
    return _info(e, "slurm", SLURM, numbers, address, _port(e) if "MASTER_PORT" in e else port)


def _tasks_here(e: Mapping[str, str]) -> int:
    """Return the tasks of a Slurm step on this machine."""
    tasks, node = _step_tasks(e), _number(e, "SLURM_NODEID", -1)
    name = "SLURM_STEP_TASKS_PER_NODE" if "SLURM_STEP_TASKS_PER_NODE" in e else "SLURM_TASKS_PER_NODE"
    if name in e:
        counts = tasks_per_node(e[name])
    else:
        nodes = next((_number(e, name) for name in SLURM_NODES if name in e), int(tasks == 1))
        # on several machines, tasks need not be spread evenly
        counts = [_number(e, "SLURM_NTASKS_PER_NODE", tasks if nodes == 1 else 0)] * nodes
    if sum(counts) != tasks or node >= len(counts) or (node < 0 and len(set(counts)) > 1):
        names = ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NODEID", name, "SLURM_NTASKS_PER_NODE")
        raise UserError(
            f"a Slurm step with {', '.join(f'{n}={e[n]}' for n in names if n in e)}",
            "it must say how many of its tasks run on each machine, and which machine this is",
            "start it by srun --ntasks-per-node=N, and set none of this by hand",
        )
    return counts[max(0, node)]


def _mpi_names(e: Mapping[str, str]) -> Names | None:
    return next((names for names in MPI if names[0] in e), None)


def _by_mpi(e: Mapping[str, str], names: Names) -> WorldInfo:
    alone = e.get(names[1]) == "1"
    missing = [name for name in names if name not in e]
    if missing and not alone:
        raise UserError(
            f"{names[0]}={e[names[0]]} is set, {', '.join(missing)} is not",
            "a process must know how many there are, in all and on its machine",
            "start the processes by torchrun or srun",
        )
    numbers = (_number(e, names[0]), _number(e, names[1]), _number(e, names[2], 0), _number(e, names[3], 1))
    if numbers[3] < numbers[1] and not (e.get("MASTER_ADDR", "").strip() and "MASTER_PORT" in e):
        raise UserError(
            f"{names[1]}={numbers[1]} with {names[3]}={numbers[3]}, without MASTER_ADDR and MASTER_PORT",
            "processes on several machines meet on that of rank 0",
            "export both: mpirun -x MASTER_ADDR=HOST -x MASTER_PORT=29500 … (MPICH, Intel MPI: -genv NAME VALUE)",
        )
    job = next((e[name] for name in MPI_JOBS if name in e), "")
    port = _port(e) if "MASTER_PORT" in e else PORTS[zlib.crc32(job.encode()) % len(PORTS)]
    return _info(e, "openmpi", names, numbers, e.get("MASTER_ADDR", "").strip() or LOOPBACK, port)


def _only_pod(e: Mapping[str, str]) -> bool:
    """Return whether Kubeflow says that a Job has one pod."""
    return "WORLD_SIZE" not in e and e["JOB_COMPLETION_INDEX"] == "0" and e.get("PET_NNODES") == "1"


def _by_kubernetes(e: Mapping[str, str], free_port: Callable[[], int]) -> WorldInfo:
    """A pod of an indexed Job, with one process: it knows which it is, but must be told of how many.

    The only pod of a Job looks like the first of many, so that it is told, too: by WORLD_SIZE=1, and nothing else.
    """
    alone = e.get("WORLD_SIZE") == "1"
    missing = [name for name in ("WORLD_SIZE", "MASTER_ADDR") if not e.get(name, "").strip()]
    if missing and not alone:
        raise UserError(
            f"JOB_COMPLETION_INDEX={e['JOB_COMPLETION_INDEX']} without {' and '.join(missing)}",
            "a pod of an indexed Job does not know how many there are: each would be a run of its own in one folder",
            "set WORLD_SIZE (the Job's completions; 1 is enough by itself) and MASTER_ADDR (JOB-0.SERVICE) in the "
            "pod's template, or start torchrun in it",
        )
    port = _port(e) if "MASTER_PORT" in e else free_port() if alone else POD_PORT
    numbers = (_number(e, "JOB_COMPLETION_INDEX"), _number(e, "WORLD_SIZE"), 0, 1)
    return _info(e, "kubernetes", KUBERNETES, numbers, e.get("MASTER_ADDR", "").strip() or LOOPBACK, port)


def _by_itself(e: Mapping[str, str], free_port: Callable[[], int]) -> WorldInfo:
    if e.get("PET_NNODES", "1") not in ("1", "1:1"):
        raise UserError(
            f"PET_NNODES={e['PET_NNODES']} without RANK",
            "it tells torchrun of several machines: without it each would be a run of its own in one folder",
            "start the command by torchrun, or unset PET_NNODES",
        )
    return _info(e, "single", TORCHRUN, (0, 1, 0, 1), LOOPBACK, free_port())


def _info(
    e: Mapping[str, str], launcher: str, names: Names, numbers: tuple[int, int, int, int], address: str, port: int
) -> WorldInfo:
    rank, world, local_rank, local_world = numbers
    said = [f"{name}={e.get(name, n)}" for name, n in zip(names, numbers, strict=True)]
    for fits, broken in (
        (0 <= rank < world, said[:2]),
        (0 <= local_rank < local_world, said[2:]),
        (local_world <= world, [said[1], said[3]]),
    ):
        if not fits:
            raise UserError(
                " with ".join(broken),
                "ranks count from 0 to the number of processes less 1, and a machine has a part of them",
                "start the processes by torchrun, srun or mpirun, and set none of this by hand",
            )
    place = _machine(e, launcher, rank, world, local_world)
    return WorldInfo(*numbers, *place, address, port, launcher, socket.gethostname(), e.get("CUDA_VISIBLE_DEVICES"))


def _machine(e: Mapping[str, str], launcher: str, rank: int, world: int, local_world: int) -> tuple[int, int]:
    """Return which machine this is, and of how many."""
    if local_world == world:
        return 0, 1
    pairs = [("GROUP_RANK", "GROUP_WORLD_SIZE"), ("CROSS_RANK", "CROSS_SIZE")] if launcher == "torchrun" else []
    if launcher == "slurm":
        pairs = [("SLURM_NODEID", name) for name in SLURM_NODES]
    for node, nodes in pairs:
        if node in e and nodes in e:
            return _number(e, node), _number(e, nodes)
    return rank // local_world, -(-world // local_world)


def _number(e: Mapping[str, str], name: str, default: int | None = None) -> int:
    if name not in e:
        if default is not None:
            return default
        raise UserError(
            f"{name} is not set", "the launcher sets it beside the process's rank", "start by torchrun, srun or mpirun"
        )
    if not re.fullmatch(r"-?[0-9]+", e[name].strip()):
        raise UserError(f"{name}={e[name]}", "it is a whole number", "set it to one, or leave it to the launcher")
    return int(e[name])


def _port(e: Mapping[str, str]) -> int:
    port = _number(e, "MASTER_PORT")
    if not 0 < port < 2**16:
        raise UserError(f"MASTER_PORT={port}", "ports count from 1 to 65535", "set another one, such as 29500")
    return port
