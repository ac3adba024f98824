"""torchrun on every node, without ssh: its agents meet at node 0, restart what has failed, and log each process."""

from __future__ import annotations

from common.errors import UserError
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
STOP_SECONDS = 300
"""After a stop was asked for, until processes that have not saved their state are killed."""


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
            f"--nnodes={cluster.nodes_given}", "--rdzv-backend=c10d", f"--rdzv-endpoint={host}:{port}",
            f"--rdzv-id={job.recipe.name}", f"--rdzv-conf=is_host={int(node == 0)},join_timeout={JOIN_SECONDS}",
            f"--local-addr={cluster.address_of(node)}",  # else the name that the node has for itself
        )  # fmt: skip
    return (
        "env", FRESH_STORE, cluster.python, "-m", AGENT, *meeting,
        f"--nproc-per-node={cluster.devices}", f"--max-restarts={cluster.restarts}",
        f"--shutdown-timeout={STOP_SECONDS}", *rank_logs(job),
        "--module", *job.hunmin("pretrain", program=("hunmin.main",)),
    )  # fmt: skip


def idle_seconds(job: Job) -> float:
    """Return how long a node's torchrun may have no process that runs."""
    return IDLE_SECONDS + (JOIN_SECONDS if job.cluster.restarts else 0)


def rank_logs(job: Job) -> tuple[str, ...]:
    """Return torchrun's options by which each process has files of its own; a node's first one is seen, too."""
    return f"--log-dir={job.run / RANK_LOGS}", "--redirects=3", "--tee=0:3"


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
