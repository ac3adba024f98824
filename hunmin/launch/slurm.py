"""Slurm: three batch jobs, one after the other: the corpus, training on all nodes, and the scores."""

from __future__ import annotations

import shlex
from pathlib import Path

from common.errors import EXIT_INTERRUPTED, EXIT_MISUSED, EXIT_TERMINATED, UserError
from hunmin.launch.cluster import JOBS, RANK_LOGS, Job, Launch, Step
from hunmin.launch.slurm_options import directive, key_of, seconds_of, value_of, with_own

SCRIPTS = Path("launch")
"""Folder, in that of a run, of what is submitted."""
OUTPUT = Path("logs") / "slurm"
"""Folder, in that of a run, of what the batch jobs print."""

BODY = """
[ -z "${{SLURM_CPUS_PER_TASK:-}}" ] || export SRUN_CPUS_PER_TASK="$SLURM_CPUS_PER_TASK"  # newer srun reads this alone
mkdir -p {folders}
{prepare}stopped() {{ {stopped}; }}
# a job that ends within the grace of a preemption is not put back by Slurm
preempted() {{ scontrol show job "$SLURM_JOB_ID" 2>/dev/null | grep -q 'PreemptTime=[0-9]'; }}
again=0 signalled=1
# {saving} s before the limit: save, then back to the queue; the same run folder goes on where it stopped
trap 'signalled=1; again=1; scancel --signal=TERM "$SLURM_JOB_ID"' USR1
# stopped, or preempted: every task has had the same signal and saves
trap 'signalled=1' TERM
srun {srun} {command} &
step=$!
# a signal ends the wait, not the step; of a step that has ended bash keeps the code
while [ "$signalled" = 1 ]; do
    signalled=0 code=0
    wait "$step" || code=$?
done
if stopped; then
    if [ "$again" = 1 ] || preempted; then  # no failure: it takes none of the restarts
        echo "stopped before its time limit, or for another job, and saved: back to the queue"
        scontrol requeue "$SLURM_JOB_ID" && exit 0
        echo "Slurm does not put this job back (see above); hunmin launch goes on from there when it is given again"
    else
        echo "stopped as asked, and saved: hunmin launch goes on from there when it is given again"
    fi
    exit {terminated}  # not done: what comes after it must not begin
fi
if [ "$code" != 0 ]; then
    echo "{name} ended with exit code $code"
{tail}{restart}fi
exit "$code"
"""
TAIL = """    echo "the first process says:"
    tail -n 20 {logs}/rank-0.log
"""
RESTART = """    failures={failures}-"$SLURM_JOB_ID".failures
    failed=$(cat "$failures" 2>/dev/null | wc -l)
    if [ "$code" != {misused} ] && [ "$failed" -lt {restarts} ]; then
        echo "back to the queue: restart $((failed + 1)) of {restarts}"
        echo "$code" >> "$failures"
        scontrol requeue "$SLURM_JOB_ID" && exit 0
        echo "Slurm does not put this job back (see above)"
    fi
"""


def launch(job: Job) -> Launch:
    """Return the three batch scripts, and the commands that submit them.

    Raises:
        UserError: a line is no option, or a time limit leaves no time before the one for saving.
    """
    cluster = job.cluster
    gpus = [] if cluster.cpu else [f"--gpus-per-node={cluster.devices}"]
    one = ["--nodes=1", "--ntasks=1"]
    all_of_them = [f"--nodes={cluster.nodes}", f"--ntasks-per-node={cluster.devices}", *gpus]
    scripts = {
        "corpus": _script(job, "corpus", one, job.hunmin("run", "--until", "encode")),
        "train": _script(job, "train", all_of_them, job.hunmin("pretrain")),
        "scores": _script(job, "scores", [*one, *gpus], job.scores()),
    }
    files = {job.run / SCRIPTS / f"{name}.sh": scripts[name] for name in JOBS}
    steps = [
        Step("Slurm", ("sbatch", "--parsable", "--kill-on-invalid-dep=yes", str(path)), after=number > 0)
        for number, path in enumerate(files)
    ]
    return Launch(tuple(steps), files)


def _script(job: Job, name: str, options: list[str], command: tuple[str, ...]) -> str:
    cluster, here = job.cluster, Path.cwd()
    options = [
        f"--job-name={job.recipe.name}-{name}", *options, "--exclusive", "--mem=0", "--requeue",
        f"--signal=B:USR1@{cluster.saving}", f"--chdir={here}", f"--output={_pattern(job.run / OUTPUT)}/{name}-%j.log",
        "--open-mode=append",
    ]  # fmt: skip
    options += [f"--partition={cluster.partition}"] if cluster.partition else []
    options += [f"--account={cluster.account}"] if cluster.account else []
    options += [f"--time={cluster.time}"] if cluster.time else []
    options = with_own(options, cluster.lines_of(name))
    _require_time(options, cluster.saving)
    lines = ["#!/bin/bash", *map(directive, options), "set -u"]
    if cluster.environment:
        lines.append(f"set -a; . {shlex.quote(str(here / cluster.environment))}; set +a")
    return "\n".join(lines) + _body(job, name, command)


def _body(job: Job, name: str, command: tuple[str, ...]) -> str:
    cluster, here = job.cluster, shlex.quote(str(Path.cwd()))
    logs, output = job.run / RANK_LOGS, job.run / OUTPUT
    stopped = shlex.quote(str(job.run / "pretrain.partial" / "logs" / "stopped"))
    srun = ["--kill-on-bad-exit=1", "--cpu-bind=none"]  # processes share the cores, and are not tied to one each
    if train := name == "train":
        srun += [f"--output={shlex.quote(_pattern(logs))}/rank-%t.log", "--open-mode=append"]
    else:
        srun += ["--ntasks=1"]
    if cluster.image:  # by pyxis
        srun += [f"--container-image={shlex.quote(cluster.image)}", f"--container-mounts={here}",
                 f"--container-workdir={here}"]  # fmt: skip
    saved = f'[ "$code" = {EXIT_TERMINATED} ] || [ "$code" = {EXIT_INTERRUPTED} ]'
    restart = RESTART.format(
        failures=shlex.quote(str(output / name)), misused=EXIT_MISUSED, restarts=cluster.most_restarts
    )
    return BODY.format(
        folders=shlex.join([str(logs), str(output)]),
        prepare=f"rm -f {stopped}\n" if train else "",
        stopped=f"[ -e {stopped} ]" if train else saved,
        saving=cluster.saving,
        srun=" ".join(srun),
        command=shlex.join(command),
        terminated=EXIT_TERMINATED,
        name={"train": "training"}.get(name, name),
        tail=TAIL.format(logs=shlex.quote(str(logs))) if train else "",
        restart=restart if train and cluster.most_restarts else "",
    )


def _pattern(path: Path) -> str:
    """Return a path as a pattern of Slurm's that stands for it."""
    return str(path).replace("%", "%%")


def _require_time(options: list[str], saving: int) -> None:
    """Refuse a time limit that is over before training has begun: the job would be put back for ever."""
    for option in options:
        if key_of(option) == "--time":
            limit = seconds_of(value_of(option))
            if limit is not None and limit <= saving:
                raise UserError(
                    f"a time limit of {limit} s ({option}) with --saving {saving}",
                    "a job is told to save so many seconds before its limit, and needs time before that",
                    "give more --time, or less --saving",
                )
