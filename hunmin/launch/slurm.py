"""Slurm: three batch jobs, one after the other: the corpus, training on all nodes, and the scores."""

from __future__ import annotations

import shlex
from pathlib import Path

from hunmin.launch.cluster import RANK_LOGS, Job, Launch, Step

SCRIPTS = Path("launch")
"""Folder, in that of a run, of what is submitted."""
OUTPUT = Path("logs") / "slurm"
"""Folder, in that of a run, of what the batch jobs print."""
WARNING_SECONDS = 300
"""Before its time limit a job is told to save its state and to go back to the queue."""

TRAIN = """
mkdir -p {logs}
rm -f {stopped}
# five minutes before the limit: save, then back to the queue; the same run folder goes on where it stopped
trap 'again=1; scancel --signal=TERM "$SLURM_JOB_ID"' USR1
# cancelled, or preempted: every task has had the same signal and saves; whoever preempts puts the job back
trap ':' TERM
again=0
srun --kill-on-bad-exit=1 --output={logs}/rank-%t.log{container} {command} &
step=$!
code=0
wait "$step" || code=$?
while kill -0 "$step" 2>/dev/null; do  # a signal has ended the wait, not the step
    code=0
    wait "$step" || code=$?
done
if [ "$again" = 1 ] && [ -e {stopped} ]; then
    echo "stopped before the time limit, and saved: back to the queue"
    scontrol requeue "$SLURM_JOB_ID"
    exit 0
fi
if [ -e {stopped} ]; then
    echo "stopped as asked, and saved: the same job goes on from there"
    exit 143  # not done: what comes after it must not begin
fi
if [ "$code" != 0 ]; then
    echo "training ended with exit code $code; the first process says:"
    tail -n 20 {logs}/rank-0.log
fi
exit "$code"
"""


def launch(job: Job) -> Launch:
    """Return the three batch scripts, and the commands that submit them."""
    cluster, run = job.cluster, job.run
    gpus = [] if cluster.cpu else [f"--gpus-per-node={cluster.devices}"]
    container = ""
    if cluster.image:  # by pyxis
        here = shlex.quote(str(Path.cwd()))
        container = (
            f" --container-image={shlex.quote(cluster.image)} --container-mounts={here} --container-workdir={here}"
        )
    one = ["--nodes=1", "--ntasks=1", "--exclusive"]
    train = ["--nodes=" + str(cluster.nodes), f"--ntasks-per-node={cluster.devices}", *gpus, "--requeue",
             f"--signal=B:USR1@{WARNING_SECONDS}"]  # fmt: skip
    stopped = run / "pretrain.partial" / "logs" / "stopped"
    body = TRAIN.format(
        logs=shlex.quote(str(run / RANK_LOGS)), stopped=shlex.quote(str(stopped)), container=container,
        command=shlex.join(job.hunmin("pretrain")),
    )  # fmt: skip
    alone = f"\nexec srun --ntasks=1{container} {{}}\n"
    scripts = {
        "corpus": _script(job, "corpus", one, alone.format(shlex.join(job.hunmin("run", "--until", "encode")))),
        "train": _script(job, "train", train, body),
        "scores": _script(job, "scores", [*one, *gpus], alone.format(shlex.join(job.scores()))),
    }
    files = {run / SCRIPTS / f"{name}.sh": text for name, text in scripts.items()}
    steps = [
        Step("Slurm", ("sbatch", "--parsable", "--kill-on-invalid-dep=yes", str(path)), after=number > 0)
        for number, path in enumerate(files)
    ]
    return Launch(tuple(steps), files)


def _script(job: Job, name: str, options: list[str], body: str) -> str:
    cluster = job.cluster
    options = [
        f"--job-name={job.recipe.name}-{name}", *options, f"--chdir={Path.cwd()}",
        f"--output={job.run / OUTPUT / '%x-%j.log'}", "--open-mode=append",
    ]  # fmt: skip
    options += [f"--partition={cluster.partition}"] if cluster.partition else []
    options += [f"--account={cluster.account}"] if cluster.account else []
    options += [f"--time={cluster.time}"] if cluster.time else []
    lines = ["#!/bin/bash", *(f"#SBATCH {option}" for option in (*options, *cluster.lines)), "set -u"]
    if cluster.environment:
        lines.append(f"set -a; . {shlex.quote(cluster.environment)}; set +a")
    return "\n".join(lines) + body
