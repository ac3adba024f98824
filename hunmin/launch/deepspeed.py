"""DeepSpeed's launcher on every node, without ssh and without its clean-up of other nodes by process name."""

from __future__ import annotations

from pathlib import Path

from common.errors import UserError
from common.process import WITH_SAFE_PATH
from hunmin.launch.cluster import RANK_LOGS, Job, Launch, Step
from hunmin.launch.torchrun import require_address

HOSTFILE = Path("launch") / "hostfile"
"""In the run's folder: a line for each node, with its processes."""


def launch(job: Job) -> Launch:
    """Return the steps of each node, and the hostfile.

    Raises:
        UserError: there is not one host for each of several nodes, or no address.
    """
    cluster = job.cluster
    hosts = cluster.hosts or (("localhost",) if cluster.nodes == 1 else ())
    if len(hosts) != cluster.nodes:
        raise UserError(
            f"--launcher deepspeed on {cluster.nodes} nodes with {len(hosts)} hosts",
            "DeepSpeed reads the nodes and their processes from a hostfile",
            "give --hosts NAME,NAME …, one for each node, in the same order everywhere",
        )
    require_address(cluster, "deepspeed")
    host, port = cluster.host_and_port
    file = job.run / HOSTFILE
    steps = [Step("node 0", job.hunmin("run", "--until", "encode"))]
    for node in range(cluster.nodes):
        words = (
            "env", WITH_SAFE_PATH, cluster.python, "-m", "deepspeed.launcher.runner", f"--hostfile={file}", "--no_ssh",
            f"--node_rank={node}",
            f"--master_addr={host or '127.0.0.1'}", f"--master_port={port}", "--force_multi", "--no_local_rank",
            f"--enable_each_rank_log={job.run / RANK_LOGS}", "--module",
            *job.hunmin("pretrain", program=("hunmin.main",)),
        )  # fmt: skip
        steps.append(Step(f"node {node}", words))
    content = "".join(f"{name} slots={cluster.devices}\n" for name in hosts)
    return Launch((*steps, Step("node 0", job.scores())), {file: content})
