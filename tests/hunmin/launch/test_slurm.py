"""Slurm: the batch scripts as they are, run with stand-ins for Slurm's commands, and the options at their head."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from embed.settings import EmbedSettings
from hunmin.launch.cluster import Cluster
from hunmin.launch.start import emit
from tests.hunmin.launch.jobs import job_of, refused

SHIMS = {
    "srun": 'echo "srun $*" >> calls\n'
    'case " $* " in *" pretrain "*) mark=1;; *) mark=;; esac\n'
    '[ -n "${FAIL:-}" ] && { echo "rank 0 broke" > runs/x/logs/ranks/rank-0.log; exit "$FAIL"; }\n'
    "trap '[ -z \"$mark\" ] || touch runs/x/made/pretrain-0/logs/stopped; exit 143' TERM\n"
    "i=0\n"
    "echo $$ > task\nwhile [ $i -lt 100 ]; do i=$((i + 1)); sleep 0.1; [ -e finish ] && exit 0; done\n",
    "scancel": 'echo "scancel $*" >> calls\nkill -TERM "$(cat task)"\n'
    'while [ -n "${WAITS:-}" ] && kill -0 "$(cat task)" 2>/dev/null; do sleep 0.01; done\n',
    "scontrol": '[ "$1" = show ] && { echo "PreemptEligibleTime=2026-11-24 PreemptTime=${PREEMPTED:-None}"\n'
    'echo "   StartTime=2026-11-24T10:00:00 EndTime=${ENDS:-Unknown} Deadline=N/A"; exit; }\n'
    'echo "scontrol $*" >> calls\nexit "${REFUSES:-0}"\n',
}


class Batch:
    """A folder in which a batch script runs again and again, as Slurm would start it."""

    def __init__(self, folder: Path, name: str, **asked: int) -> None:
        self.folder = folder
        files = emit("slurm", job_of(Cluster(2, 1, cpu=True, image="registry/hunmin:1", **asked))).files  # type: ignore[arg-type]
        self._script = files[Path(f"runs/x/launch/{name}.sh")]
        for program, body in SHIMS.items():
            (folder / program).write_text(f"#!/bin/bash\n{body}")
            (folder / program).chmod(0o755)
        (folder / "runs/x/made/pretrain-0/logs").mkdir(parents=True)
        (folder / "runs/x/made/pretrain-0/logs/stopped").touch()  # of the time before

    def run(self, number: str = "", **variables: str) -> tuple[int, str, list[str]]:
        """Return exit code, what was printed, and Slurm's commands that were called."""
        for left in ("task", "calls", "finish"):
            (self.folder / left).unlink(missing_ok=True)
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "SLURM_JOB_ID": "7", **variables}
        running = subprocess.Popen(
            ["bash", "-c", self._script], cwd=self.folder, env=environment, stdout=subprocess.PIPE, text=True
        )
        task, until = self.folder / "task", time.monotonic() + 20
        while not {"FAIL", "ENDS"} & set(variables) and not (task.exists() and task.read_text().strip()):
            assert running.poll() is None and time.monotonic() < until
        if number:
            os.kill(running.pid, getattr(signal, f"SIG{number}"))
        if number == "TERM":  # scancel sends it to every task, too
            os.kill(int(task.read_text()), signal.SIGTERM)
        elif not number and not {"FAIL", "ENDS"} & set(variables):
            (self.folder / "finish").touch()
        said, _ = running.communicate(timeout=30)
        calls = (self.folder / "calls").read_text().splitlines() if (self.folder / "calls").exists() else []
        self.srun = next((call for call in calls if call.startswith("srun")), "")
        return running.returncode, said, [call for call in calls if not call.startswith("srun")]


SIGNALLED = ["scancel --signal=TERM 7", "scontrol requeue 7"]


@pytest.mark.parametrize("name", ["corpus", "train"])
def test_a_job_that_meets_its_time_limit_saves_and_goes_back(name: str, tmp_path: Path) -> None:
    batch = Batch(tmp_path, name, restarts=0)
    for _ in range(2):  # it counts for no restart
        code, said, calls = batch.run("USR1")
        assert (code, calls) == (0, SIGNALLED) and "back to the queue" in said
    assert batch.run("USR1", WAITS="1")[::2] == (0, SIGNALLED)  # the step has ended before the signal is dealt with
    code, said, calls = batch.run("USR1", REFUSES="1")
    assert (code, calls) == (143, SIGNALLED) and "does not put this job back" in said  # not done: nothing may follow
    code, said, calls = batch.run("TERM")
    assert (code, calls) == (143, []) and "stopped as asked" in said
    code, said, calls = batch.run("TERM", PREEMPTED="2026-11-24T11:00:00")
    assert (code, calls) == (0, ["scontrol requeue 7"]) and "for another job" in said
    assert batch.run() == (0, "", [])
    assert "--kill-on-bad-exit=1 --cpu-bind=none" in batch.srun and "--container-image=registry/hunmin:1" in batch.srun
    log = "--output=runs/x/logs/ranks/rank-%t.log --open-mode=append"  # a job that is put back goes on writing it
    assert (log in batch.srun) == (name == "train") and ("--ntasks=1" in batch.srun) == (name == "corpus")


def test_a_limit_that_leaves_no_time_before_that_for_saving_ends_the_job(tmp_path: Path) -> None:
    batch = Batch(tmp_path, "train", grace_period=300)
    # the job starts at 10:00 by the controller's clock, whatever this machine's says
    code, said, calls = batch.run(ENDS="2026-11-24T10:03:20")
    assert (code, calls) == (2, []) and "give more --time, or less --grace-period" in said
    assert batch.run(ENDS="2026-11-24T11:00:00", FAIL="2")[0] == 2 and (tmp_path / "calls").exists()


def test_failures_of_training_put_the_job_back_so_many_times(tmp_path: Path) -> None:
    batch = Batch(tmp_path, "train", restarts=2)
    for restart in (1, 2):
        code, said, calls = batch.run(FAIL="7")
        assert (code, calls) == (0, ["scontrol requeue 7"]) and f"restart {restart} of 2" in said
        assert "exit code 7" in said and "rank 0 broke" in said
        assert batch.run("USR1")[0] == 0  # between them the time limit is met, which takes none
    assert batch.run(FAIL="7")[::2] == (7, [])
    code, said, calls = batch.run(FAIL="7", SLURM_JOB_ID="8", REFUSES="1")  # another job begins anew
    assert (code, calls) == (7, ["scontrol requeue 8"]) and "does not put this job back" in said
    assert batch.run(FAIL="2", SLURM_JOB_ID="9")[::2] == (2, [])  # what was used wrongly is not tried again
    (tmp_path / "scores").mkdir()
    assert Batch(tmp_path / "scores", "scores").run(FAIL="7")[::2] == (7, [])  # other jobs fail at once


def test_each_job_is_submitted_to_follow_the_one_before(tmp_path: Path) -> None:
    (tmp_path / "sbatch").write_text('#!/bin/bash\necho "$*" >> calls\necho "$(wc -l < calls);cluster"\n')
    (tmp_path / "sbatch").chmod(0o755)
    launch = emit("slurm", job_of(Cluster()))
    assert [step.words for step in launch.steps] == [("bash", "runs/x/launch/submit.sh")]
    script = launch.files[Path("runs/x/launch/submit.sh")]
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    options = "--parsable --kill-on-invalid-dep=yes"
    assert (tmp_path / "calls").read_text().splitlines() == [
        f"{options} runs/x/launch/corpus.sh",
        f"{options} --dependency=afterok:1 runs/x/launch/train.sh",
        f"{options} --dependency=afterok:2 runs/x/launch/scores.sh",
    ]
    assert done.stderr.splitlines()[2] == "submitted runs/x/launch/scores.sh: job 3"
    (tmp_path / "sbatch").write_text("#!/bin/bash\nexit 1\n")
    assert subprocess.run(["bash", "-c", script], env=env, capture_output=True).returncode == 1


def options_of(name: str, **asked: object) -> list[str]:
    """Return the options of a job as sbatch reads them: quotes and backslashes as `get_argument` of its source says."""
    text = emit("slurm", job_of(Cluster(2, 8, **asked), name="a 'b' \\ #1", out="r/100%")).files  # type: ignore[arg-type]
    script = text[Path(f"r/100%/launch/{name}.sh")]
    options = []
    for line in (line.removeprefix("#SBATCH ") for line in script.splitlines() if line.startswith("#SBATCH ")):
        quote, word, signs = "", "", iter(line)
        for sign in signs:
            if sign == "\\":
                word += next(signs)
            elif sign == quote or (not quote and sign in "'\""):
                quote = "" if quote else sign
            elif sign == "#" and not quote:
                break
            elif sign == " " and not quote:
                options.append(word)
                word = ""
            else:
                word += sign
        assert not quote
        options.append(word)
    return options


def test_options_of_the_three_jobs() -> None:
    corpus, train, scores = (
        options_of(name, time="24:00:00", grace_period=900) for name in ("corpus", "train", "scores")
    )
    for options in (corpus, train, scores):
        assert {"--exclusive", "--mem=0", "--requeue", "--signal=B:USR1@900", "--open-mode=append"} < set(options)
        assert {"--time=24:00:00", f"--chdir={Path.cwd()}"} < set(options)
    assert {"--job-name=a 'b' \\ #1-train", "--output=r/100%%/logs/slurm/train-%j.log"} < set(train)
    assert {"--nodes=2", "--ntasks-per-node=8", "--gpus-per-node=8"} < set(train)
    assert {"--nodes=1", "--ntasks=1", "--gpus-per-node=8"} < set(scores)
    assert {"--nodes=1", "--ntasks=1"} < set(corpus) and not any("gpu" in option for option in corpus)
    assert not any("gpu" in option for option in options_of("train", cpu=True))


@pytest.mark.parametrize(
    ("lines", "gone"),
    [
        (("--cpus-per-task=8", "--gres=gpu:a100:8"), {"--exclusive", "--mem=0", "--gpus-per-node=8"}),
        (("-s", "-n 4"), {"--exclusive", "--mem=0", "--ntasks-per-node=8"}),
        (("-c8", "-G 8"), {"--exclusive", "--mem=0", "--gpus-per-node=8"}),
        (("--mem-per-gpu=40G",), {"--mem=0"}),
        (("--mem=100G", "--signal=USR2", "--nodelist=n1", "--gpu-bind=none", "--comment=a b # c"), set()),
    ],
)
def test_what_the_users_lines_exclude_is_left_out(lines: tuple[str, ...], gone: set[str]) -> None:
    before, after = options_of("train"), options_of("train", scheduler_options=lines)
    assert set(before) - set(after) == gone
    assert " ".join(after).endswith(" ".join(lines))  # of an option given twice, sbatch takes the last


def test_a_container_is_given_the_folders_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("here", "recipes", "texts/news", "klue", "run", "disk", "home/more", "pairs"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "texts" / "a.txt").touch()
    (tmp_path / "here" / "linked").symlink_to(tmp_path / "disk")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "c.txt").touch()
    (tmp_path / "here" / "c.txt").symlink_to(tmp_path / "elsewhere" / "c.txt")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "here")
    job = job_of(Cluster(1, 8, image="hunmin:1"), path="../recipes/r.yaml", out=str(tmp_path / "run"))
    inputs = [f"{tmp_path}/texts/news/*.jsonl", f"{tmp_path}/texts/a.txt", "mine.txt", "s3://b/k", "hf:a/b"]
    inputs += ["linked/b.txt", "~/more/*.txt", "c.txt"]
    corpus = job.recipe.corpus.model_copy(update={"inputs": inputs})
    klue = job.recipe.klue and job.recipe.klue.model_copy(update={"data": f"{tmp_path}/klue"})
    embed = EmbedSettings.model_validate({"data": [{"path": f"{tmp_path}/pairs/a.jsonl"}], "score": []})
    job = replace(job, recipe=job.recipe.model_copy(update={"corpus": corpus, "klue": klue, "embed": embed}))
    (mounts,) = {value for text in emit("slurm", job).files.values() for value in re.findall(r"-mounts=(\S+)", text)}
    names = ("here", "disk", "elsewhere", "home/more", "klue", "pairs", "recipes", "run", "texts", "texts/news")
    assert mounts.split(",") == [f"{tmp_path}/{name}" for name in names]


def test_a_line_may_be_for_one_job() -> None:
    lines = ("--qos=high", "corpus:--partition=cpu", "train:--constraint=a:b")
    corpus, train = (options_of(name, partition="gpu", scheduler_options=lines) for name in ("corpus", "train"))
    assert [directive for directive in corpus if "partition" in directive] == ["--partition=gpu", "--partition=cpu"]
    assert corpus[-2:] == ["--qos=high", "--partition=cpu"] and train[-2:] == ["--qos=high", "--constraint=a:b"]
    for line in ("qos=high", "trian:--qos=high", "--"):
        assert "it is an option of sbatch" in refused("slurm", Cluster(scheduler_options=(line,)))
