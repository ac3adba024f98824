"""Launchers whose command is given on every node, without ssh: torchrun, DeepSpeed's, and on TPUs torchrun within the
variables by which TorchTPU's chips find each other.
"""

from __future__ import annotations

import socket

from hunmin.launch.cluster import FILES, RANK_LOGS, Job, Launch, Step
from hunmin.launch.fill import command, fill


def own_address(meeting: str) -> str:
    """Return this machine's address by which those that reach `meeting` reach it: of the interface that leads there."""
    family = socket.AF_INET6 if ":" in meeting else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((meeting, 9))  # sends nothing
            own: str = probe.getsockname()[0]
        except OSError:  # no route, or a name of IPv6 alone
            return meeting
    return meeting if own == "::1" or own.startswith("127.") else own


WRITTEN = {"torchrun": (), "deepspeed": ("hostfile",), "xla": ("tpu.sh",)}
"""Launcher → the templates of the files that its command (LAUNCHER.sh) reads."""


def on_every_node(launcher: str, job: Job) -> Launch:
    """Return the steps of each node; those before and after training are done on node 0 alone.

    Args:
        launcher: one of `WRITTEN`.
    """
    host, port = job.cluster.host_and_port
    values = {**job.values, "host": host, "port": port}
    steps = [Step("node 0", job.hunmin("run", "--until", "encode"))]
    for node in range(job.cluster.nodes):
        own = {"node": node, "own_address": _address_of(job, node, host)}
        steps.append(Step(f"node {node}", command(f"{launcher}.sh", {**values, **own})))
    steps.append(Step("node 0", job.hunmin("run", "--from", "export")))  # where training is not done, it refuses
    return Launch(tuple(steps), {job.run / FILES / name: fill(name, values) for name in WRITTEN[launcher]})


def where_logs_are(job: Job) -> str:
    """Return where to find what a process that torchrun has started said."""
    local = f"R % {job.cluster.devices}" if job.cluster.devices > 1 else "0"
    return f"rank R's output: {job.run / RANK_LOGS}/node-N/*/attempt_*/{local}/stderr.log, N the --node of its host"


def _address_of(job: Job, node: int, host: str) -> str:
    """Return a node's address as the others reach it; torchrun would take the name that the node has for itself."""
    if node < len(job.cluster.hosts):
        return job.cluster.hosts[node]
    if node == 0:
        return host
    return own_address(host) if node == job.cluster.node else f"ADDRESS_OF_NODE_{node}"
