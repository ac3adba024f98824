from dataclasses import replace
from pathlib import Path

import pytest

from klue.examples import load_splits
from klue.model_folder import read_model_folder
from klue.plan import Job, plan_jobs, steps_of
from klue.settings import FineTuneSettings, KlueSettings
from klue.tasks import TASKS
from tests.klue.names import SENTENCE_TASKS


@pytest.fixture
def plan(benchmark, tiny_roberta):
    splits = {name: load_splits(task, benchmark) for name, task in TASKS.items() if name in SENTENCE_TASKS}

    def jobs(model=None, other_data=None, where="cpu", **changes):
        settings = KlueSettings(
            data=str(benchmark), **{"tasks": SENTENCE_TASKS, "training": {"max_seq_len": 64}, **changes}
        )
        mine = {
            **splits,
            **{name: replace(splits[name], data_hash=other) for name, other in (other_data or {}).items()},
        }
        return plan_jobs(settings, model or read_model_folder(tiny_roberta), mine, where, Path("out"))

    return jobs


def test_tasks_by_initialisations_by_seeds(plan):
    names = {job.name for job in plan(seeds=2, baseline_random=True)}
    assert names == {f"{t}-{i}-{s}" for t in SENTENCE_TASKS for i in ("pretrained", "random") for s in (42, 43)}
    assert {job.init for job in plan()} == {"pretrained"}


def test_most_work_first_and_steps(plan):
    jobs = plan()
    assert jobs[0].task == "klue-nli" and steps_of(jobs[0]) == 5 * 3
    assert Job.model_validate_json(jobs[0].model_dump_json()) == jobs[0]


def test_fingerprint_covers_what_the_result_depends_on(plan, tiny_roberta):
    facts = read_model_folder(tiny_roberta)

    def fingerprints(**changes):
        return {job.name: job.fingerprint for job in plan(baseline_random=True, **changes)}

    before = fingerprints()
    assert len(set(before.values())) == len(before)
    for changes in (
        {"other_data": dict.fromkeys(SENTENCE_TASKS, "other")},
        {"threads": 2},
        {"where": "cuda"},  # another precision
        {"training": {"max_seq_len": 32}},
        {"model": replace(facts, architecture_hash="x")},
    ):
        after = fingerprints(**changes)
        assert all(after[name] != before[name] for name in before)
    # neither other tasks in the same command nor changes to their files redo a finished job
    after = fingerprints(other_data={"ynat": "other"})
    assert {name for name in before if after[name] != before[name]} == {n for n in before if n.startswith("ynat")}
    assert fingerprints(tasks=["ynat"]).items() <= before.items()
    # weights do not touch what is initialised at random; how many jobs run at once touches nothing
    after = fingerprints(model=replace(facts, weights_hash="x"))
    assert {name for name in before if after[name] == before[name]} == {name for name in before if "random" in name}
    assert fingerprints(workers=3) == before


def test_inputs_are_no_longer_than_positions(plan, capsys):
    jobs = plan(training=FineTuneSettings(), tasks=["klue-nli"])
    assert {job.training.max_seq_len for job in jobs} == {64}
    assert capsys.readouterr().err.count("KLUE-NLI: inputs of 64 tokens at most") == 1


def test_a_search_multiplies_the_jobs_and_each_has_its_name(plan):
    jobs = plan(search="small", seeds=2, tasks=["ynat", "klue-nli"], per_task={"nli": {"learning_rate": 1e-5}})
    assert len(jobs) == (4 + 1) * 2 == len({job.name for job in jobs}) == len({job.fingerprint for job in jobs})
    assert "ynat-pretrained-lr2e-05-warmup0.1-decay0-batch32-epochs4-43" in {job.name for job in jobs}
    larger = {job.name: job.fingerprint for job in plan(search="grid", seeds=2, tasks=["ynat"])}
    assert len(larger) == 384 * 2
    # what a small search has done, the grid has not to do again
    assert {job.name: job.fingerprint for job in jobs if job.task == "ynat"}.items() <= larger.items()
