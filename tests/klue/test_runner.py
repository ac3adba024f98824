import json
import shutil

import pytest

from common.errors import HunminError, UserError
from klue import runner
from klue.runner import run_klue
from klue.score import score
from klue.settings import KlueSettings
from tests.klue.names import SENTENCE_TASKS


def settings(benchmark, **changes):
    training = {"max_length": 64, "epochs": 1, "learning_rate": 1e-3, "evaluations_per_epoch": 2}
    return KlueSettings(data=str(benchmark), device="cpu", **{"tasks": SENTENCE_TASKS, "training": training, **changes})


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file() and "logs" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def finished(benchmark, tiny_roberta, tmp_path_factory):
    """A finished stage: three tasks, two initialisations, one seed."""
    out = tmp_path_factory.mktemp("stage") / "klue"
    counts = run_klue(settings(benchmark, baseline_random=True), tiny_roberta, out)
    return out, counts


def test_what_a_stage_leaves(finished, benchmark):
    out, counts = finished
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert [(row["task"], row["init"]) for row in rows] == [
        (task, init) for task in SENTENCE_TASKS for init in ("pretrained", "random")
    ]
    assert counts["jobs"] == 6 and counts["examples"]["ynat"]["train"] == 70
    assert counts["scores"] == json.loads((out / "summary.json").read_text())
    assert rows[0]["settings"]["precision"] == "float32" and rows[0]["last"]["epoch"] == 1
    assert not (out / "features").exists()
    kept = {"results.jsonl", "summary.json"}
    for row in rows:
        name = f"jobs/{row['task']}-{row['init']}-{row['seed']}"
        kept |= {f"{name}/result.json", f"{name}/predictions.jsonl"}
        gold = benchmark / f"{row['task']}-v1.1" / f"{row['task']}-v1.1_dev.json"
        again = score(row["task"], gold, out / name / "predictions.jsonl")
        assert again[row["metric"]] == pytest.approx(row["best"][row["metric"]])
    assert set(contents(out)) == kept
    assert str(out).encode() not in b"".join(contents(out).values())


def test_same_bytes_with_any_number_of_workers(finished, benchmark, tiny_roberta, tmp_path):
    run_klue(settings(benchmark, baseline_random=True, workers=3), tiny_roberta, tmp_path / "klue")
    assert contents(tmp_path / "klue") == contents(finished[0])


def test_restart_redoes_only_what_is_missing(finished, benchmark, tiny_roberta, tmp_path, monkeypatch, capfd):
    out = shutil.copytree(finished[0], tmp_path / "klue")
    before = contents(out)
    started = []
    real = runner.run_jobs
    monkeypatch.setattr(
        runner, "run_jobs", lambda jobs, *rest: started.extend(j.name for j in jobs) or real(jobs, *rest)
    )
    run_klue(settings(benchmark, baseline_random=True), tiny_roberta, out)
    assert started == []
    (out / "jobs" / "klue-sts-random-42" / "result.json").unlink()
    (out / "results.jsonl").unlink()
    (out / "features" / "ynat").mkdir(parents=True)
    assert run_klue(settings(benchmark, baseline_random=True), tiny_roberta, out) == finished[1]
    assert started == ["klue-sts-random-42"]
    assert contents(out) == before
    assert "5 of 6 jobs are finished already" in capfd.readouterr().err


def test_a_failing_job_does_not_stop_the_others(benchmark_without_sts_train, tiny_roberta, tmp_path, capfd):
    out = tmp_path / "klue"
    ynat = {"learning_rate": 1e30, "warmup_share": 0}
    broken = settings(benchmark_without_sts_train, tasks=["ynat", "klue-sts"], ynat=ynat)
    with pytest.raises(HunminError, match=r"(?s)1 of 2 fine-tuning jobs failed\n  - ynat-pretrained-42.*finite"):
        run_klue(broken, tiny_roberta, out)
    assert not (out / "results.jsonl").exists()
    shown = capfd.readouterr().err
    assert "ynat-pretrained-42 failed: exit code 1" in shown and "Traceback" not in shown
    # the other one finished; it says what its number stands for
    row = json.loads((out / "jobs" / "klue-sts-pretrained-42" / "result.json").read_text())
    assert row["data_note"].startswith("split of dev")


def test_wrong_input_before_anything_runs(benchmark, tiny_roberta, tmp_path):
    with pytest.raises(UserError, match=r"no readable config.json"):
        run_klue(settings(benchmark), tmp_path / "nowhere", tmp_path / "klue")
    with pytest.raises(UserError, match="no dev file of ynat"):
        run_klue(settings(tmp_path), tiny_roberta, tmp_path / "klue")
    with pytest.raises(UserError, match="max_length 128, the model has 64 positions"):
        run_klue(settings(benchmark, training={}), tiny_roberta, tmp_path / "klue")
