"""Which finished jobs the results of a command are made of."""

import json
import os
from types import SimpleNamespace

import pytest

from klue.finetune import Outcome
from klue.job import gather, run_job
from klue.model_folder import read_model_folder
from klue.plan import jobs_of, plan_jobs
from klue.settings import KlueSettings

DATA = SimpleNamespace(
    train=[], data_hash="d", note="", counts={"train": 10, "dev": 10, "train_in_dev": 0, "train_cut": 0}
)


@pytest.fixture
def command(tiny_roberta, tmp_path, monkeypatch):
    """A command that pretends to fine-tune: {seed: score} and settings → the summary's entry of its task."""
    model = read_model_folder(tiny_roberta)

    def go(scores, task="ynat", device="cpu", data="d", **settings):
        training = {"max_seq_len": 64, **settings.pop("training", {})}
        asked = KlueSettings(data="x", tasks=[task], seeds=list(scores), training=training, **settings)
        files = SimpleNamespace(**{**vars(DATA), "data_hash": data})
        jobs = plan_jobs(asked, model, {task: files}, device, jobs_of(tmp_path))
        for job in jobs:
            found = {"macro_f1": scores[job.seed], "accuracy": scores[job.seed]}
            monkeypatch.setattr("klue.finetune.finetune", lambda job, found=found: Outcome(found, found, {"dev": {}}))
            run_job(job)
        gather(jobs, model, tmp_path, test=True)
        summary = {entry["task"]: entry for entry in json.loads((tmp_path / "summary.json").read_bytes())}
        best = next(iter(summary[task]["best"].values()))
        return best["mean"], best["n"], summary[task]["tried"], sorted(summary)

    return go


@pytest.mark.parametrize(
    "changed",
    [
        {"threads": 2},
        {"device": "cuda"},
        {"training": {"evaluations_per_epoch": 1}},
        {"training": {"max_train_examples": 5}},
        {"training": {"learning_rate": 1e-5}},
        {"keep_head": True},
    ],
)
def test_a_lucky_seed_of_other_settings_is_no_choice(command, changed):
    assert command({42: 85.0, 43: 85.5, 44: 87.0}) == (pytest.approx(85.8333, abs=1e-3), 3, 1, ["ynat"])
    assert command({42: 85.0, 43: 85.5}, **changed) == (85.25, 2, 1, ["ynat"])


def test_seeds_that_come_later_and_other_tasks_count(command):
    command({42: 80.0})
    assert command({43: 82.0}) == (81.0, 2, 1, ["ynat"])
    assert command({42: 50.0}, task="klue-nli") == (50.0, 1, 1, ["klue-nli", "ynat"])


def test_the_newest_data_of_another_task_are_not_told_by_the_clock(command, tmp_path):
    command({42: 80.0}, data="of before")
    early = list(tmp_path.glob("jobs/*/result.json"))
    assert command({43: 60.0}, data="of now")[:2] == (60.0, 1)
    for path in early:  # the clock was set back between the two commands
        os.utime(path, (path.stat().st_mtime + 3600,) * 2)
    command({42: 50.0}, task="klue-nli")
    rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert {row["data_hash"] for row in rows if row["task"] == "ynat"} == {"of now"}


def test_after_a_search_one_set_by_itself_is_what_was_asked_for(command):
    command({42: 80.0}, search="small")
    assert command({42: 70.0})[:3] == (80.0, 1, 1)  # one of the search was the same job
