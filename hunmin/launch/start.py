"""Start: carry out what a launcher has emitted, or print it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

from common.errors import HunminError, UserError
from common.files import atomic_write
from common.process import run_child
from common.progress import say
from hunmin.launch import kubernetes, slurm, torchrun
from hunmin.launch.checks import BY_NODE, check_options, check_run
from hunmin.launch.cluster import RANK_LOGS, Job, Launch, Step
from hunmin.launch.waiting import first_node, wait_for_shards

LAUNCHERS: dict[str, Callable[[Job], Launch]] = {
    "local": lambda job: Launch((Step("here", (*job.hunmin("run"), *_processes(job))),)),
    "torchrun": partial(torchrun.on_every_node, "torchrun"),
    "deepspeed": partial(torchrun.on_every_node, "deepspeed"),
    "slurm": slurm.launch,
    "kubernetes": kubernetes.jobset,
    "kubeflow": kubernetes.trainjob,
    "xla": partial(torchrun.on_every_node, "xla"),
}


def _processes(job: Job) -> list[str]:
    """Return the override for as many processes as devices are asked for; the recipe says else."""
    return [f"pretrain.processes={job.cluster.devices}"] if job.cluster.devices > 1 else []


def emit(launcher: str, job: Job) -> Launch:
    """Return the files and commands of a launcher for a job.

    Raises:
        UserError: see `check_options`, and the launcher's own file.
    """
    check_options(launcher, job)
    return LAUNCHERS[launcher](job)


def show(launch: Launch) -> str:
    """Return files and commands as they would be written and run."""
    parts = [f"# {path}\n{text.rstrip()}\n" for path, text in launch.files.items()]
    where = ""
    for step in launch.steps:
        parts += [f"# {step.where}"] if step.where != where else []
        parts.append(str(step))
        where = step.where
    return "\n".join(parts) + "\n"


def start(launcher: str, job: Job, launch: Launch) -> None:
    """Write the files of a launch, and run its commands.

    Raises:
        UserError: the command must be given on each node, and this one does not say which it is; or the run would be
            refused.
        HunminError: a command has failed.
    """
    cluster, steps = job.cluster, launch.steps
    check_run(launcher, job)
    node = cluster.node if cluster.nodes > 1 else 0
    if launcher in BY_NODE:
        if node is None:
            raise UserError(
                f"--launcher {launcher} on {cluster.nodes} nodes without --node",
                "the same command is given on every node, and each says which one it is",
                "add --node 0 on the first, --node 1 on the second …; --dry-run prints what each one would do",
            )
        steps = tuple(step for step in steps if step.where == f"node {node}")
        (job.run / RANK_LOGS).mkdir(parents=True, exist_ok=True)
        if node:
            wait_for_shards(job)
    if launcher == "slurm":  # a job whose output has no folder fails at once
        (job.run / slurm.OUTPUT).mkdir(parents=True, exist_ok=True)
    for path, text in launch.files.items():
        with atomic_write(path) as stream:
            stream.write(text)
    for number, step in enumerate(steps):
        awaited = launcher in BY_NODE and cluster.nodes > 1 and not node and not number
        with first_node(job.run) if awaited else nullcontext():
            _run(launcher, job, step)


def _run(launcher: str, job: Job, step: Step) -> None:
    """Run a command here; raise a UserError where its program is not here, a HunminError where it has failed."""
    say(f"$ {step}")
    try:
        code = run_child(step.words, until=f"{step.words[0]} to end")
    except FileNotFoundError:
        raise UserError(f"{step.words[0]} is not here", f"--launcher {launcher} calls it", "install it") from None
    if not code:
        return
    if launcher == "deepspeed":
        _say_log(job)
    trains = launcher in ("torchrun", "xla") and not {"--until", "--from"} & set(step.words)
    logs = f"; {torchrun.where_logs_are(job)}" if trains else ""
    raise HunminError(
        f"exit code {code}: {step}", fix=f"see the lines above; the same command continues from there{logs}"
    )


def _say_log(job: Job) -> None:
    """Print the last lines of this node's first process, which DeepSpeed's launcher does not show."""
    first = (job.cluster.node or 0) * job.cluster.devices
    for log in sorted((job.run / RANK_LOGS).glob(f"*_rank{first}.log"))[-1:]:  # they begin with the time
        say("\n".join([f"the end of {log}:", *log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:]]))
