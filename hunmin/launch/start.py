"""Start: carry out what a launcher has emitted, or print it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import nullcontext

from common.errors import HunminError, UserError, nearest
from common.files import atomic_write
from common.process import run_child
from common.progress import say
from hunmin.launch import deepspeed, kubernetes, slurm, torchrun, xla
from hunmin.launch.checks import check_run
from hunmin.launch.cluster import RANK_LOGS, Job, Launch, Step
from hunmin.launch.options import BY_NODE, refuse_control_characters, refuse_node, refuse_secrets, refuse_unused
from hunmin.launch.waiting import FirstNode, wait_for_shards


def local(job: Job) -> Launch:
    """Return the one step of a run on this machine.

    Raises:
        UserError: several nodes.
    """
    if job.cluster.nodes > 1:
        raise UserError(
            f"--launcher local with --nodes {job.cluster.nodes}", "it is for one machine",
            "use torchrun, deepspeed, slurm or kubernetes",
        )  # fmt: skip
    return Launch((Step("here", (*job.hunmin("run"), f"pretrain.processes={job.cluster.devices}")),))


LOG_LINES = 20
"""Of a log, that are shown after a failure."""

LAUNCHERS: dict[str, Callable[[Job], Launch]] = {
    "local": local,
    "torchrun": torchrun.launch,
    "deepspeed": deepspeed.launch,
    "slurm": slurm.launch,
    "kubernetes": kubernetes.jobset,
    "kubeflow": kubernetes.trainjob,
    "xla": xla.launch,
}


def emit(launcher: str, job: Job) -> Launch:
    """Return what a launcher makes of a job.

    Args:
        launcher: its name.
        job: what is launched.

    Raises:
        UserError: there is no such launcher, it does not read an option that was given, or the job does not fit it or
            its processes.
    """
    if launcher not in LAUNCHERS:
        raise UserError(f"unknown launcher '{launcher}'{nearest(launcher, list(LAUNCHERS))}", ", ".join(LAUNCHERS))
    _require_nodes_fit(launcher, job)
    refuse_unused(launcher, job.cluster)
    refuse_node(launcher, job.cluster)
    refuse_control_characters(job)
    refuse_secrets(launcher, job)
    return LAUNCHERS[launcher](job)


def _require_nodes_fit(launcher: str, job: Job) -> None:
    """Refuse a number of nodes, of those with which training may go on, whose processes cannot share every batch."""
    fewest, most = job.cluster.fewest, job.cluster.nodes
    given = job.cluster.nodes_given
    if fewest and launcher != "torchrun":
        raise UserError(
            f"--launcher {launcher} with --nodes {given}",
            "torchrun alone goes on with fewer nodes by itself; the others start again with all of them",
            f"give --nodes {most}: Slurm and Kubernetes put the whole job back, --restarts times, and it goes on "
            "from its last checkpoint when it has its nodes; the same command with fewer --nodes goes on at once",
        )
    for nodes in range(fewest or most, most + 1):
        if fault := job.recipe.pretrain.batch_fault(nodes * job.cluster.devices):
            raise UserError(
                f"--nodes {given}, with {nodes} nodes: {fault}" if fewest else fault,
                "every process computes as many micro-batches of a global batch as the others",
            )


def show(launch: Launch) -> str:
    """Return files and commands as they would be written and run."""
    parts = [f"# {path}\n{text.rstrip()}\n" for path, text in launch.files.items()]
    where = ""
    for step in launch.steps:
        if step.where != where:
            parts.append(f"# {step.where}")
        where = step.where
        parts.append(str(step) if not step.after else f"{step}    # --dependency=afterok:JOB of the one before")
    return "\n".join(parts) + "\n"


def start(launcher: str, job: Job, launch: Launch) -> None:
    """Write the files of a launch, and run or submit its commands.

    Args:
        launcher: its name.
        job: what is launched.
        launch: what `emit` returned.

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
    for path, text in launch.files.items():
        with atomic_write(path) as stream:
            stream.write(text)
    if launcher == "slurm":
        _submit_all(job, steps)
        return
    for number, step in enumerate(steps):
        awaited = launcher in BY_NODE and cluster.nodes > 1 and not node and not number
        with FirstNode(job.run) if awaited else nullcontext():
            _run(launcher, job, step)


def _run(launcher: str, job: Job, step: Step) -> None:
    """Run a command here.

    Raises:
        UserError: its program is not here.
        HunminError: it has failed.
    """
    say(f"$ {step}")
    idle = torchrun.idle_seconds(job) if torchrun.AGENT in step.words else None
    try:
        code = run_child(step.words, idle=idle)
    except FileNotFoundError:
        raise UserError(f"{step.words[0]} is not here", f"--launcher {launcher} calls it", "install it") from None
    if not code:
        return
    if launcher == "deepspeed":
        _say_log(job)
    logs = f"; {torchrun.where_logs_are(job)}" if "pretrain" in step.words or launcher == "xla" else ""
    raise HunminError(
        f"exit code {code}: {step}",
        remedy="see the lines above; the same command goes on from there" + (logs if launcher != "deepspeed" else ""),
    )


def _submit_all(job: Job, steps: tuple[Step, ...]) -> None:
    (job.run / slurm.OUTPUT).mkdir(parents=True, exist_ok=True)  # a job whose output has no folder fails at once
    before = ""
    for step in steps:
        before = _submit(step, before)
        say(f"submitted {step.words[-1]}: job {before}")


def _say_log(job: Job) -> None:
    """Say what this node's first process has said last: DeepSpeed's launcher shows nothing of it."""
    first = (job.cluster.node or 0) * job.cluster.devices
    logs = sorted((job.run / RANK_LOGS).glob(f"*_rank{first}.log"))  # they begin with the time
    if logs:
        say(f"the end of {logs[-1]}:")
        for line in logs[-1].read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]:
            say(line)


def _submit(step: Step, before: str) -> str:
    """Submit a batch script and return the job's number."""
    program, *options = step.words
    words = [program, *([f"--dependency=afterok:{before}"] if step.after else []), *options]
    try:
        done = subprocess.run(words, capture_output=True, text=True)
    except FileNotFoundError:
        raise UserError("sbatch is not here", "jobs are submitted where Slurm's commands are", "log in there") from None
    if done.returncode:
        raise HunminError(
            f"{' '.join(words)}: {done.stderr.strip()}", remedy="see sbatch --help; nothing after it runs"
        )
    return done.stdout.strip().partition(";")[0]
