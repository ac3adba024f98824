"""Start: carry out what a launcher has emitted, or print it."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress

from common.errors import HunminError, UserError, nearest
from common.files import atomic_write
from common.process import run_child
from common.progress import say
from hunmin.launch import deepspeed, kubernetes, slurm, torchrun, xla
from hunmin.launch.cluster import RANK_LOGS, Job, Launch, Step
from hunmin.run import judge_all

BY_NODE = ("torchrun", "deepspeed", "xla")
"""Launchers whose command is given on every node."""


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


WAIT_SECONDS = 5
"""Between two looks at what node 0 has made."""
UNSEEN_SECONDS = 45
"""For which node 0 may be seen to train before its files are: a network file system shows them late."""
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
        UserError: there is no such launcher, or the job does not fit it or its processes.
    """
    if launcher not in LAUNCHERS:
        raise UserError(f"unknown launcher '{launcher}'{nearest(launcher, list(LAUNCHERS))}", ", ".join(LAUNCHERS))
    _require_nodes_fit(launcher, job)
    return LAUNCHERS[launcher](job)


def _require_nodes_fit(launcher: str, job: Job) -> None:
    """Refuse a number of nodes, of those with which training may go on, whose processes cannot share every batch."""
    fewest, most = job.cluster.fewest, job.cluster.nodes
    given = job.cluster.nodes_given
    if fewest and launcher != "torchrun":
        raise UserError(
            f"--launcher {launcher} with --nodes {given}",
            "torchrun alone goes on with fewer nodes by itself; the others start again with all of them",
            f"give --nodes {most}: Slurm and Kubernetes put the whole job back, which goes on from its last checkpoint "
            "when it has its nodes again; the same command with fewer --nodes goes on at once",
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
        UserError: the command must be given on each node, and this one does not say which it is.
        HunminError: a command has failed.
    """
    steps = launch.steps
    if launcher in BY_NODE:
        node = job.cluster.node if job.cluster.nodes > 1 else 0
        if node is None:
            raise UserError(
                f"--launcher {launcher} on {job.cluster.nodes} nodes without --node",
                "the same command is given on every node, and each says which one it is",
                "add --node 0 on the first, --node 1 on the second …; --dry-run prints what each one would do",
            )
        steps = tuple(step for step in steps if step.where == f"node {node}")
        (job.run / RANK_LOGS).mkdir(parents=True, exist_ok=True)
        if node:
            _wait_for_shards(job)
    for path, text in launch.files.items():
        with atomic_write(path) as stream:
            stream.write(text)
    if launcher == "slurm":
        (job.run / slurm.OUTPUT).mkdir(parents=True, exist_ok=True)  # a job whose output has no folder fails at once
    before = ""
    for step in steps:
        if launcher == "slurm":
            before = _submit(step, before)
            say(f"submitted {step.words[-1]}: job {before}")
            continue
        say(f"$ {step}")
        idle = torchrun.idle_seconds(job) if torchrun.AGENT in step.words else None
        if code := run_child(step.words, idle=idle):
            if launcher == "deepspeed":
                _say_log(job)
            raise HunminError(
                f"exit code {code}: {step}", remedy="see the lines above; the same command goes on from there"
            )


def _say_log(job: Job) -> None:
    """Say what this node's first process has said last: DeepSpeed's launcher shows nothing of it."""
    first = (job.cluster.node or 0) * job.cluster.devices
    logs = sorted((job.run / RANK_LOGS).glob(f"*_rank{first}.log"))  # they begin with the time
    if logs:
        say(f"the end of {logs[-1]}:")
        for line in logs[-1].read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]:
            say(line)


def _wait_for_shards(job: Job) -> None:
    """Wait until node 0 has made what training reads.

    Raises:
        UserError: node 0 has gone on to training, and nothing of it is seen here.
    """
    told, trains = False, 0.0
    while not all(verdict.done for verdict in judge_all(job.recipe, last="encode")):
        if not told:
            say("waiting for node 0 to make the corpus, the vocabulary and the token shards")
        told = True
        began = time.monotonic()
        time.sleep(WAIT_SECONDS)
        trains = trains + time.monotonic() - began if _node_0_trains(job) else 0.0
        if trains > UNSEEN_SECONDS:
            raise UserError(
                f"node {job.cluster.node} ({socket.gethostname()}) does not see what node 0 has made in {job.run}",
                "all nodes work in one run folder, on a file system that they share",
                f"mount it on this node where the others have {job.run}, and give the same command again",
            )


def _node_0_trains(job: Job) -> bool:
    """Return whether something answers where the processes meet: node 0 is there when its shards are done."""
    if not job.cluster.address:
        return False
    with suppress(OSError), socket.create_connection(job.cluster.host_and_port, 2):
        return True
    return False


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
