"""Jobs of several commands in one folder: each is done once, and nothing takes the place of another; kills between."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from common import rules
from common.slurm_array import ArrayElement, ShareDone
from klue import job as finished
from klue import runner
from klue.job import run_job
from klue.result_rows import read_rows, with_test_scores
from klue.runner import plan_stage, run_klue
from klue.settings import KlueSettings
from tests.kills import killed_at
from tests.klue.names import job_folder
from tests.klue.stand_in import pretend

TASKS, INITS = ("ynat", "klue-sts"), ("pretrained", "random")
Run = Callable[..., dict[str, Any]]


def settings(benchmark: Path, **changes: Any) -> KlueSettings:
    given = {"tasks": TASKS, "training": {"max_seq_len": 64, "epochs": 1}, "workers": 0, **changes}
    return KlueSettings(data=str(benchmark), device="cpu", **given)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders of the jobs that are fine-tuned, in a list that grows; they only pretend."""
    names: list[str] = []

    def go(one: Any) -> Any:
        names.append(one.folder.name)
        return pretend(one)

    monkeypatch.setattr("klue.finetune.finetune", go)
    return names


@pytest.fixture
def run(trained: list[str], benchmark: Path, tiny_roberta: Path, tmp_path: Path) -> Run:
    """Fine-tune as stages of a run do: (name of the stage's folder, changes of the settings) → counts."""

    def go(name: str, model: Path = tiny_roberta, data: Path = benchmark, **changes: Any) -> dict[str, Any]:
        trained.clear()
        return run_klue(settings(data, **changes), model, tmp_path / name, tmp_path / "made" / "jobs")

    return go


def files(folder: Path) -> dict[str, bytes]:
    """Return all that a manifest would describe of a folder."""
    there = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    shown = (path for path in there if "logs" not in path.parts and not path.name.startswith("."))
    return {path.as_posix(): (folder / path).read_bytes() for path in shown}


def lines(folder: Path) -> list[str]:
    return (folder / "results.jsonl").read_text("utf-8").splitlines()


def test_from_one_seed_to_five_four_more_are_trained_and_going_back_trains_none(
    run: Run, trained: list[str], tmp_path: Path
) -> None:
    first = run("first", baseline_random=True)
    assert len(trained) == 4 and first["jobs"] == 4
    assert run("five", seeds=5, baseline_random=True)["jobs"] == 20
    assert sorted(name.rpartition("-")[0] for name in trained) == sorted(
        f"{task}-{init}-{seed}" for task in TASKS for init in INITS for seed in (43, 44, 45, 46)
    )
    of_first = [line for line in lines(tmp_path / "five") if json.loads(line)["seed"] == 42]
    assert of_first == lines(tmp_path / "first") and len(lines(tmp_path / "five")) == 20
    before = files(tmp_path / "first")
    assert run("first", baseline_random=True) == first and trained == []
    assert run("again", baseline_random=True) == first and trained == []
    assert files(tmp_path / "first") == files(tmp_path / "again") == before


def test_a_folder_of_results_is_whole_by_itself(
    run: Run, trained: list[str], benchmark: Path, tiny_roberta: Path, tmp_path: Path
) -> None:
    run("stage")
    shutil.rmtree(tmp_path / "made")
    alone = tmp_path / "alone"
    run_klue(settings(benchmark), tiny_roberta, alone)
    assert files(tmp_path / "stage") == files(alone)
    for row in read_rows(tmp_path / "stage"):
        assert {"result.json", "predictions.jsonl"} <= {path.name for path in (alone / "jobs" / row["job"]).iterdir()}
    assert with_test_scores(read_rows(tmp_path / "stage"), tmp_path / "stage") == read_rows(alone)


def test_what_is_edited_in_results_leaves_the_jobs_as_they_are(run: Run, trained: list[str], tmp_path: Path) -> None:
    run("first", tasks=["ynat"])
    path = job_folder(tmp_path / "first", "ynat") / "predictions.jsonl"
    kept = path.read_bytes()
    with path.open("r+b") as stream:
        stream.write(b"?" * 20)
    run("second", tasks=["ynat"])
    assert trained == [] and (job_folder(tmp_path / "second", "ynat") / "predictions.jsonl").read_bytes() == kept


def test_weights_are_linked_or_else_copied(
    run: Run, trained: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finished, "LINKED_BYTES", 10)
    run("first", tasks=["ynat"])
    made = job_folder(tmp_path / "made", "ynat") / "predictions.jsonl"
    assert (job_folder(tmp_path / "first", "ynat") / made.name).samefile(made)
    run("first", tasks=["ynat"])  # where it is linked already
    assert not list(tmp_path.rglob("*.tmp"))

    def refuse(*_: object) -> None:
        raise OSError("no such links here")

    monkeypatch.setattr("os.link", refuse)
    run("second", tasks=["ynat"])
    copied = job_folder(tmp_path / "second", "ynat") / made.name
    assert not copied.samefile(made) and files(tmp_path / "second") == files(tmp_path / "first")


def test_two_models_other_settings_and_other_data_stand_beside_each_other(
    run: Run, trained: list[str], benchmark: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    data = Path(shutil.copytree(benchmark, tmp_path / "files"))
    [file] = data.glob("ynat-v1.1/*_dev.json")
    file.write_text(json.dumps(json.loads(file.read_text())[:20]))
    ways = {
        "one": {}, "bert": {"model": tiny_bert}, "threads": {"threads": 2}, "data": {"data": data},
        "rate": {"training": {"max_seq_len": 64, "epochs": 1, "learning_rate": 1e-3}},
    }  # fmt: skip
    for name, changes in ways.items():
        run(name, tasks=["ynat"], **changes)
        assert len(trained) == 1, name
    assert len(list((tmp_path / "made" / "jobs").iterdir())) == len(ways)
    found = {name: files(tmp_path / name) for name in ways}
    for name, changes in ways.items():
        assert len(lines(tmp_path / name)) == 1
        run(name, tasks=["ynat"], **changes)
        assert trained == []
    assert {name: files(tmp_path / name) for name in ways} == found


def test_rules_that_changed_give_other_jobs(
    run: Run, trained: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run("first", tasks=["ynat"])
    monkeypatch.setitem(rules.RULES, "klue", {**rules.RULES["klue"], 99: "labels in another order"})
    run("second", tasks=["ynat"])
    assert len(trained) == 1 and len(list((tmp_path / "made" / "jobs").iterdir())) == 2


@pytest.mark.parametrize("text", ["", '{"fingerprint": "', "[]", '{"fingerprint": "0123456789abcdef"}'])
def test_a_result_that_is_cut_short_or_of_another_job_is_none(
    text: str, run: Run, trained: list[str], tmp_path: Path
) -> None:
    run("first", tasks=["ynat"])
    path = job_folder(tmp_path / "made", "ynat") / "result.json"
    whole = path.read_bytes()
    path.write_text(text)
    run("second", tasks=["ynat"])
    assert len(trained) == 1 and path.read_bytes() == whole
    assert files(tmp_path / "second") == files(tmp_path / "first")


def test_a_model_that_is_asked_for_later_is_trained_with_its_result(
    run: Run, trained: list[str], benchmark: Path, tiny_roberta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("first", tasks=["ynat"])
    root = tmp_path / "made" / "jobs"
    kept = settings(benchmark, tasks=["ynat"], save_model="best")
    [job_of] = plan_stage(kept, tiny_roberta, root).waiting

    def leaves_model(one: Any) -> Any:
        assert not (one.folder / "result.json").exists()  # a kill from here on must not leave old scores of a new model
        (one.folder / "model").mkdir()
        (one.folder / "model" / "klue.json").write_text("{}")
        return pretend(one)

    monkeypatch.setattr("klue.finetune.finetune", leaves_model)
    run("second", tasks=["ynat"], save_model="best")
    assert plan_stage(kept, tiny_roberta, root).waiting == []
    assert (job_folder(tmp_path / "second", "ynat") / "model" / "klue.json").is_file()
    # a model that was not asked for is no part of the results, whoever saved it
    run("third", tasks=["ynat"])
    assert files(tmp_path / "third") == files(tmp_path / "first") and job_of.folder == job_folder(root.parent, "ynat")


def test_a_job_that_another_command_is_at_is_waited_for(
    benchmark: Path, tiny_roberta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run's stage and `klue watch` may come to the same job: of a last checkpoint and of its export."""
    plan = plan_stage(settings(benchmark, tasks=["ynat"]), tiny_roberta, tmp_path / "jobs")
    [one] = runner.write_features(plan.jobs, plan.splits, plan.model, tmp_path / "features")
    rows: list[dict[str, Any]] = []
    other = threading.Thread(target=lambda: rows.append(run_job(one)))

    def meanwhile(same: Any) -> Any:
        other.start()
        other.join(0.3)
        assert other.is_alive()
        return pretend(same)

    monkeypatch.setattr("klue.finetune.finetune", meanwhile)  # a second call would start the thread again
    row = run_job(one)
    other.join(20)
    assert rows == [row] and row["fingerprint"] == one.fingerprint


def test_elements_of_an_array_touch_the_jobs_folder_alone(
    run: Run, benchmark: Path, tiny_roberta: Path, tmp_path: Path
) -> None:
    out, root, two = tmp_path / "out", tmp_path / "made" / "jobs", settings(benchmark)
    with pytest.raises(ShareDone):
        run_klue(two, tiny_roberta, out, root, ArrayElement(1, 2, "7"))
    assert [path.name for path in out.rglob("*")] == [".lock"] and len(list(root.iterdir())) == 1
    counts = run_klue(two, tiny_roberta, out, root, ArrayElement(0, 2, "7"))
    assert counts == run("alone") and files(out) == files(tmp_path / "alone")


def kills(work: Callable[[], object], below: Path, again: Callable[[], None]) -> int:
    """Kill work before each of its calls below a folder, let it be done again, look, and return how many there were."""
    number = 0
    while killed_at(work, below, number):
        again()
        number += 1
    return number


@pytest.mark.parametrize("where", ["made/jobs", "out"])
def test_a_kill_before_any_call_costs_no_finished_job_and_changes_no_byte(
    where: str, trained: list[str], benchmark: Path, tiny_roberta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a result, after predictions, while results are gathered."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    out, root, one = tmp_path / "out", tmp_path / "made" / "jobs", settings(benchmark, tasks=["ynat"], seeds=2)
    plan = plan_stage(one, tiny_roberta, root)
    monkeypatch.setattr(runner, "plan_stage", lambda *_: runner.Plan(
        plan.model, plan.splits, plan.jobs, [job for job in plan.jobs if finished.finished_row(job) is None]
    ))  # fmt: skip
    monkeypatch.setattr(finished, "LINKED_BYTES", 10_000)  # of both ways
    work = partial(run_klue, one, tiny_roberta, out, root)
    work()
    whole = files(out)

    def clear() -> None:
        shutil.rmtree(out)
        if where == "made/jobs":
            shutil.rmtree(root)

    def again() -> None:
        done = {path: path.stat().st_ino for path in root.glob("*/result.json")}
        assert len(done) == 2 or where == "made/jobs"
        trained.clear()
        work()
        assert len(trained) == 2 - len(done) and all(path.stat().st_ino == ino for path, ino in done.items())
        assert files(out) == whole and not list(root.rglob("*.tmp"))
        clear()

    clear()
    assert kills(work, tmp_path / where, again) > 20
