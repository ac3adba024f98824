"""TPU hosts: on each of them TorchTPU's variables, by which the chips of a slice find each other, and torchrun."""

from __future__ import annotations

import shlex
from pathlib import Path

from common.errors import UserError
from common.process import WITH_SAFE_PATH
from hunmin.launch.cluster import Job, Launch, Step
from hunmin.launch.torchrun import FRESH_STORE, rank_logs_in_shell

SCRIPT = Path("launch") / "tpu.sh"
"""In the run's folder: what every host runs."""

TEXT = """#!/bin/bash
# A TPU host of a run. TorchTPU says by which variables the chips find each other; torchrun starts a process a chip.
set -euo pipefail
{topology}variables=$(env {safe} {python} -m torch.tpu.distributed)
set -a
eval "$variables"
set +a
exec {agent}
"""

TOPOLOGY = ': "${TORCH_TPU_TOPOLOGY:?set it to the mesh of chips of the whole slice, e.g. 4x4}"\n'


def launch(job: Job) -> Launch:
    """Return the steps of each host, and the script that trains on it; what comes before and after is done on host 0.

    Raises:
        UserError: there is not one host name for each of several hosts.
    """
    cluster = job.cluster
    if cluster.nodes > 1 and len(cluster.hosts) != cluster.nodes:
        raise UserError(
            f"--launcher xla on {cluster.nodes} hosts with {len(cluster.hosts)} host names",
            "the chips of a slice find each other by the names of its hosts",
            "give --hosts NAME,NAME …, one for each host, in the order of the slice's workers",
        )
    python = cluster.python
    meeting = "--standalone"
    if cluster.nodes > 1:
        meeting = (
            f'--nnodes={cluster.nodes} --node-rank="$NODE_RANK" --master-addr="$MASTER_ADDR" '
            '--master-port="$MASTER_PORT"'
        )
    options = (
        f"--nproc-per-node={cluster.devices}", f"--max-restarts={cluster.most_restarts}",
        f"--shutdown-timeout={cluster.saving}",
    )  # fmt: skip
    program = shlex.join(("--module", *job.hunmin("pretrain", program=("hunmin.main",))))
    logs = rank_logs_in_shell(job, "NODE_RANK")
    torchrun = f"env {WITH_SAFE_PATH} {FRESH_STORE} {shlex.quote(python)} -m torch.distributed.run"
    agent = f"{torchrun} {meeting} {shlex.join(options)} {logs} {program}"
    text = TEXT.format(
        safe=WITH_SAFE_PATH, topology=TOPOLOGY if cluster.nodes > 1 else "", python=shlex.quote(python), agent=agent
    )
    script = job.run / SCRIPT
    steps = [Step("node 0", job.hunmin("run", "--until", "encode"))]
    for node in range(cluster.nodes):
        variables: tuple[str, ...] = (f"TORCH_TPU_DEVICES_PER_HOST={cluster.devices}",)
        if cluster.nodes > 1:
            hosts = f"TPU_WORKER_HOSTNAMES={','.join(cluster.hosts)}"
            variables = (*variables, hosts, f"JOB_COMPLETION_INDEX={node}", f"NODE_RANK={node}")
        steps.append(Step(f"node {node}", ("env", *variables, "bash", str(script))))
    return Launch((*steps, Step("node 0", job.scores())), {script: text})
