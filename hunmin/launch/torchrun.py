"""torchrun on every node, without ssh: its agents meet at node 0, restart what has failed, and log each process."""

from __future__ import annotations

import shlex

from common.errors import UserError
from common.process import WITH_SAFE_PATH
from hunmin.launch.addresses import with_port
from hunmin.launch.cluster import RANK_LOGS, Cluster, Job, Launch, Step

AGENT = "torch.distributed.run"
JOIN_SECONDS = 600
"""For which the agents wait for each other, at the beginning and after a failure."""
IDLE_SECONDS = 360
"""For which torchrun may go on after its processes have ended, when none of them is to start again: longer than those
that have done their work wait for others (5 minutes). A node that is cut off would else ask node 0 for a quarter of an
hour, until its system gives up the connection."""
FRESH_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"
"""Processes that start again meet in a store of their own: in the agents' one they would find, and call, those that
have failed."""


def agent(job: Job, node: int) -> tuple[str, ...]:
    """Return the command that trains on one node.

    Args:
        job: what is launched.
        node: its number.
    """
    cluster = job.cluster
    host, port = cluster.host_and_port
    meeting: tuple[str, ...] = ("--standalone",)
    if cluster.nodes > 1:
        meeting = (
            f"--nnodes={cluster.nodes_given}", "--rdzv-backend=c10d", f"--rdzv-endpoint={with_port(host, port)}",
            f"--rdzv-id={job.recipe.name}", f"--rdzv-conf=is_host={int(node == 0)},join_timeout={JOIN_SECONDS}",
            f"--local-addr={cluster.address_of(node)}",  # else the name that the node has for itself
        )  # fmt: skip
    return (
        "env", WITH_SAFE_PATH, FRESH_STORE, cluster.python, "-m", AGENT, *meeting,
        f"--nproc-per-node={cluster.devices}", f"--max-restarts={cluster.most_restarts}",
        f"--shutdown-timeout={cluster.saving}", *rank_logs(job, str(node)),
        "--module", *job.hunmin("pretrain", program=("hunmin.main",)),
    )  # fmt: skip


def idle_seconds(job: Job) -> float:
    """Return how long a node's torchrun may have no process that runs."""
    return IDLE_SECONDS + (JOIN_SECONDS if job.cluster.most_restarts else 0)


def rank_logs(job: Job, node: str) -> tuple[str, ...]:
    """Return torchrun's options by which each process has files of its own; a node's first one is seen, too.

    Torchrun counts the folders within by its own attempts and by the processes of the node.

    Args:
        job: what is launched.
        node: its number, or what stands for it.
    """
    return f"--log-dir={job.run / RANK_LOGS}/node-{node}", "--redirects=3", "--tee=0:3"


def rank_logs_in_shell(job: Job, variable: str) -> str:
    """Return the same for a shell, the node's number by one of its variables; 0 where it is not set."""
    folder, *rest = rank_logs(job, "")
    return " ".join([f'{shlex.quote(folder)}"${{{variable}:-0}}"', *rest])


def where_logs_are(job: Job) -> str:
    """Return where to find what a process has said."""
    local = f"R % {job.cluster.devices}" if job.cluster.devices > 1 else "0"
    return f"rank R's output: {job.run / RANK_LOGS}/node-N/*/attempt_*/{local}/stderr.log, N the --node of its host"


def launch(job: Job) -> Launch:
    """Return the steps of each node; those before and after training are done on node 0 alone.

    Raises:
        UserError: several nodes without an address.
    """
    require_address(job.cluster, "torchrun")
    steps = [Step("node 0", job.hunmin("run", "--until", "encode"))]
    steps += [Step(f"node {node}", agent(job, node)) for node in range(job.cluster.nodes)]
    return Launch((*steps, Step("node 0", job.scores())))


def require_address(cluster: Cluster, launcher: str) -> None:
    """Refuse several nodes that do not know where to meet."""
    if cluster.nodes > 1 and not cluster.address:
        raise UserError(
            f"--launcher {launcher} on {cluster.nodes} nodes without --address",
            "the processes meet at node 0",
            "give the same --address HOST:PORT on every node: node 0's name and a free port of it",
        )
