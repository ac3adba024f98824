import json
import os
import re
import shutil

import pytest
import torch

from common.errors import HunminError, UserError
from common.slurm_array import ArrayElement, ShareDone
from data.executors.local import LocalPool
from hunmin.main import run_command
from klue import runner
from klue.runner import plan_stage, run_klue
from klue.score_file import score
from klue.settings import KlueSettings
from tests.klue.names import SENTENCE_TASKS, job_folder
from tests.klue.stand_in import one_dies, pretend


def settings(benchmark, **changes):
    training = {"max_seq_len": 64, "epochs": 1, "learning_rate": 1e-3, "evaluations_per_epoch": 2}
    given = {"tasks": SENTENCE_TASKS, "training": training, "workers": 0, **changes}
    return KlueSettings(data=str(benchmark), device="cpu", **given)


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file() and "logs" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def finetuned(benchmark, tiny_roberta, tmp_path_factory):
    """A finished stage, fine-tuned in processes: two tasks, two initialisations, one seed."""
    out = tmp_path_factory.mktemp("stage") / "klue"
    both = settings(benchmark, tasks=["ynat", "klue-sts"], baseline_random=True, workers=2)
    return out, run_klue(both, tiny_roberta, out)


@pytest.fixture
def pretended(monkeypatch):
    """Nothing is trained."""
    monkeypatch.setattr("klue.finetune.finetune", pretend)


@pytest.fixture
def finished(pretended, benchmark, tiny_roberta, tmp_path):
    """A finished stage: three tasks, two initialisations, one seed, only pretended."""
    out = tmp_path / "finished" / "klue"
    return out, run_klue(settings(benchmark, baseline_random=True), tiny_roberta, out)


def test_what_a_stage_leaves(finetuned, benchmark, tiny_roberta):
    out, counts = finetuned
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert [(row["task"], row["init"]) for row in rows] == [
        (task, init) for task in ("ynat", "klue-sts") for init in ("pretrained", "random")
    ]
    assert counts["jobs"] == 4 and counts["examples"]["ynat"]["train"] == 70
    assert counts["scores"] == json.loads((out / "summary.json").read_text())
    assert {row["model"] for row in rows} == {tiny_roberta.name}
    assert rows[0]["settings"]["precision"] == "float32" and rows[0]["last"]["epoch"] == 1
    kept = {"results.jsonl", "summary.json", ".lock"}
    for row in rows:
        assert re.fullmatch(f"{row['task']}-{row['init']}-{row['seed']}-[0-9a-f]{{10}}", row["job"])
        name = f"jobs/{row['job']}"
        kept |= {f"{name}/result.json", f"{name}/predictions.jsonl", f"{name}/.lock"}
        assert sorted(path.name for path in (out / name / "logs").iterdir()) == ["history.jsonl", "output.log"]
        kept.add(f"gold/{row['task']}-{row['data_hash'][:12]}/dev.jsonl")
        gold = benchmark / f"{row['task']}-v1.1" / f"{row['task']}-v1.1_dev.json"
        again = score(row["task"], gold, out / name / "predictions.jsonl")
        assert again[row["metric"]] == pytest.approx(row["best"][row["metric"]])
    assert set(contents(out)) == kept
    assert str(out).encode() not in b"".join(contents(out).values())


def test_without_workers_jobs_run_in_this_process_with_the_same_bytes(
    finetuned, benchmark, tiny_roberta, tmp_path, monkeypatch, capfd
):
    monkeypatch.delattr("klue.runner.LocalPool")
    out = shutil.copytree(finetuned[0], tmp_path / "klue")
    for task, init in (("ynat", "random"), ("klue-sts", "pretrained")):
        shutil.rmtree(job_folder(out, task, init))
    threads, processes, real = torch.get_num_threads(), [], runner.run_job
    monkeypatch.setattr(runner, "run_job", lambda job: processes.append(os.getpid()) or real(job))
    run_klue(settings(benchmark, tasks=["ynat", "klue-sts"], baseline_random=True), tiny_roberta, out)
    assert torch.get_num_threads() == threads
    assert re.search(r"klue: 2 of 2 jobs done in \d+s", capfd.readouterr().err)
    assert processes == [os.getpid()] * 2
    assert contents(out) == contents(finetuned[0])


def test_in_this_process_a_mistake_is_said_job_by_job_and_a_fault_of_the_code_reaches_the_debugger(
    benchmark, tiny_roberta, tmp_path, monkeypatch
):
    monkeypatch.setattr(runner, "run_job", lambda job: (_ for _ in ()).throw(HunminError("too hot", "cool", "wait")))
    with pytest.raises(HunminError, match=r"3 of 3 fine-tuning jobs failed\n.*too hot"):
        run_klue(settings(benchmark), tiny_roberta, tmp_path / "klue")
    monkeypatch.setattr(runner, "run_job", lambda job: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run_klue(settings(benchmark), tiny_roberta, tmp_path / "klue")


def test_a_job_that_a_signal_kills_is_named_and_the_others_go_on(benchmark, tiny_roberta, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(runner, "run_job", one_dies)
    monkeypatch.setattr(runner, "LocalPool", lambda modules, environment: LocalPool(environment=environment))
    out, four = tmp_path / "klue", settings(benchmark, tasks=["ynat"], seeds=4, workers=2)
    with pytest.raises(HunminError, match=r"(?s)2 of 4 fine-tuning jobs failed\n  - ynat-pretrained-43: killed by s"):
        run_klue(four, tiny_roberta, out)
    said = capfd.readouterr().err
    assert "ynat-pretrained-43 failed: killed by signal 9; the end of" in said and "      | so far so good" in said
    assert "ynat-pretrained-45 failed: exit code 1; the end of" in said and "      | it cannot be" in said
    # of one that had written its result before it died, the work is done; and what is there can be looked at
    assert results(out) == [("ynat", "pretrained", 42), ("ynat", "pretrained", 44)]
    assert "2 of 4 jobs are finished already" in str(plan_stage(four, tiny_roberta, out / "jobs"))


@pytest.fixture
def did(pretended, monkeypatch):
    """Names of the jobs that run, in a list that grows."""
    names, real = [], runner.run_jobs
    monkeypatch.setattr(runner, "run_jobs", lambda jobs, *rest: names.extend(j.name for j in jobs) or real(jobs, *rest))
    return names


def test_restart_redoes_only_what_is_missing(finished, benchmark, tiny_roberta, did, capfd):
    out, counts = finished
    before = contents(out)
    run_klue(settings(benchmark, baseline_random=True), tiny_roberta, out)
    assert did == []
    (job_folder(out, "klue-sts", "random") / "result.json").unlink()
    (out / "results.jsonl").unlink()
    (out / ".features-x.tmp" / "ynat").mkdir(parents=True)
    (job_folder(out, "ynat", "random") / ".result.json.x.tmp").touch()  # a kill left it
    assert run_klue(settings(benchmark, baseline_random=True), tiny_roberta, out) == counts
    assert did == ["klue-sts-random-42"]
    assert contents(out) == before
    assert "5 of 6 jobs are finished already" in capfd.readouterr().err


def results(out):
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    summary = json.loads((out / "summary.json").read_text())
    assert [(e["task"], e["init"]) for e in summary] == list(dict.fromkeys((r["task"], r["init"]) for r in rows))
    return [(row["task"], row["init"], row["seed"]) for row in rows]


def test_another_task_redoes_nothing_and_results_are_of_all_commands(benchmark, tiny_roberta, tmp_path, did, capfd):
    out = tmp_path / "klue"
    first = run_klue(settings(benchmark, tasks=["ynat"]), tiny_roberta, out)
    both = settings(benchmark, tasks=["ynat", "klue-sts"])
    assert "1 of 2 jobs are finished already" in str(plan_stage(both, tiny_roberta, out / "jobs"))
    run_klue(both, tiny_roberta, out)
    counts = run_klue(settings(benchmark, tasks=["klue-sts"], seeds=[43]), tiny_roberta, out)
    assert did == ["ynat-pretrained-42", "klue-sts-pretrained-42", "klue-sts-pretrained-43"]
    assert results(out) == [("ynat", "pretrained", 42), ("klue-sts", "pretrained", 42), ("klue-sts", "pretrained", 43)]
    # what comes back is of the command alone
    assert counts["jobs"] == 1 and [(entry["task"], entry["n"]) for entry in counts["scores"]] == [("klue-sts", 1)]
    assert first["scores"] == json.loads((out / "summary.json").read_text())[:1]
    assert "not in the results" not in capfd.readouterr().err


def test_results_of_another_model_or_of_other_data_are_counted_and_left_out(
    pretended, benchmark, tiny_roberta, tiny_bert, tmp_path, capfd
):
    out, data = tmp_path / "klue", shutil.copytree(benchmark, tmp_path / "data")
    run_klue(settings(data, tasks=["ynat", "klue-sts"]), tiny_roberta, out)
    run_klue(settings(data, tasks=["ynat"]), tiny_bert, out)
    assert results(out) == [("ynat", "pretrained", 42)]
    assert (
        "2 earlier results in" in (said := capfd.readouterr().err)
        and "of another model, other data or settings" in said
    )
    (file,) = data.glob("ynat-v1.1/*_dev.json")
    file.write_text(json.dumps(json.loads(file.read_text())[:20]))
    run_klue(settings(data, tasks=["ynat"], seeds=[43]), tiny_bert, out)
    assert results(out) == [("ynat", "pretrained", 43)]
    assert "1 earlier results in" in capfd.readouterr().err
    # of a task that the command has not, the data of the results so far count
    run_klue(settings(data, tasks=["klue-nli"]), tiny_bert, out)
    assert results(out) == [("ynat", "pretrained", 43), ("klue-nli", "pretrained", 42)]
    assert len(list(out.glob("jobs/*/result.json"))) == 5  # none has taken the place of another


def test_the_same_job_by_itself_and_in_a_search_is_done_once(benchmark, tiny_roberta, tmp_path, did):
    out = tmp_path / "klue"
    once = settings(benchmark, tasks=["ynat"], training={"max_seq_len": 64, "epochs": 1})
    run_klue(once, tiny_roberta, out)
    run_klue(once.model_copy(update={"search": "small"}), tiny_roberta, out)
    (entry,) = json.loads((out / "summary.json").read_text())
    assert (entry["n"], entry["tried"], len(results(out))) == (1, 4, 4)
    assert len(did) == 4


def test_two_commands_do_not_work_in_one_folder(pretended, benchmark, tiny_roberta, tmp_path, monkeypatch, capfd):
    out, one = tmp_path / "klue", settings(benchmark, tasks=["ynat"])
    real = runner.run_jobs

    def meanwhile(*arguments):
        [folder] = out.glob(".features-*")
        features = contents(folder)
        for element in (None, ArrayElement(0, 2, "7")):
            with pytest.raises(UserError, match=r"another command is at work in .*klue"):
                run_klue(one, tiny_roberta, out, share=element)
        line = (
            f"klue finetune {tiny_roberta} --data {benchmark} --out {out} --task ynat training.max_seq_len=64 workers=0"
        )
        assert run_command(line.split()) == 2
        assert contents(folder) == features
        return real(*arguments)

    monkeypatch.setattr(runner, "run_jobs", meanwhile)
    assert run_klue(one, tiny_roberta, out)["jobs"] == 1
    assert "Traceback" not in capfd.readouterr().err


def test_an_element_survives_that_another_one_clears_up_before_it(
    pretended, benchmark, tiny_roberta, tmp_path, monkeypatch
):
    out, both = tmp_path / "klue", settings(benchmark, tasks=["ynat", "klue-nli"])
    with pytest.raises(ShareDone):
        run_klue(both, tiny_roberta, out, share=ArrayElement(1, 2, "7"))
    real = runner.run_jobs

    def slow(*arguments):
        failures = real(*arguments)
        monkeypatch.setattr(runner, "run_jobs", real)
        monkeypatch.setattr(runner, "is_locked", lambda folder: False)  # the file system knows no locks
        # all jobs are done: the other one, started again, is the last to end
        assert run_klue(both, tiny_roberta, out, share=ArrayElement(1, 2, "7"))["jobs"] == 2
        assert not list(out.glob(".features*"))
        return failures

    monkeypatch.setattr(runner, "run_jobs", slow)
    assert run_klue(both, tiny_roberta, out, share=ArrayElement(0, 2, "7"))["jobs"] == 2


def test_an_array_that_ends_leaves_the_features_of_another_one(
    pretended, benchmark, tiny_roberta, tmp_path, monkeypatch
):
    out, one, other = tmp_path / "klue", settings(benchmark, tasks=["ynat"]), settings(benchmark, tasks=["klue-nli"])
    real = runner.run_jobs

    def slow(*arguments):
        monkeypatch.setattr(runner, "run_jobs", real)
        assert run_klue(other, tiny_roberta, out, share=ArrayElement(0, 1, "8"))["jobs"] == 1
        return real(*arguments)

    monkeypatch.setattr(runner, "run_jobs", slow)
    assert run_klue(one, tiny_roberta, out, share=ArrayElement(0, 1, "7"))["jobs"] == 1
    assert results(out) == [("ynat", "pretrained", 42), ("klue-nli", "pretrained", 42)]


def test_arrays_that_overlap_keep_their_features_apart(pretended, benchmark, tiny_roberta, tmp_path, monkeypatch):
    out, one = tmp_path / "klue", settings(benchmark, tasks=["ynat"])
    real = runner.run_jobs

    def slow(jobs, *rest):
        monkeypatch.setattr(runner, "write_features", lambda jobs, *_: jobs)
        monkeypatch.setattr(runner, "run_jobs", lambda *_: {"ynat-pretrained-42": "stopped"})
        with pytest.raises(HunminError):
            run_klue(one, tiny_roberta, out, share=ArrayElement(0, 1, "8"))
        return real(jobs, *rest)

    monkeypatch.setattr(runner, "run_jobs", slow)
    assert run_klue(one, tiny_roberta, out, share=ArrayElement(0, 1, "7"))["jobs"] == 1


def test_elements_of_an_array_do_their_shares(finished, benchmark, tiny_roberta, tmp_path, capfd):
    out, both = tmp_path / "klue", settings(benchmark, baseline_random=True)
    with pytest.raises(ShareDone, match=r"element 1 is done; 3 of 6 jobs, of other elements, are not"):
        run_klue(both, tiny_roberta, out, share=ArrayElement(1, 2, "7"))
    assert not (out / "results.jsonl").exists() and not list(out.glob(".features*"))
    done = {path: path.stat().st_mtime_ns for path in out.glob("jobs/*/result.json")}
    (out / ".features-5.tmp" / "ynat").mkdir(parents=True)  # a killed element left it
    # the same element again, and one of another array: what is finished is not done again
    with pytest.raises(ShareDone, match="element 1 is done"):
        run_klue(both, tiny_roberta, out, share=ArrayElement(1, 2, "7"))
    assert "element 1 of 2 has 3 jobs, 0 to do" in capfd.readouterr().err
    assert run_klue(both, tiny_roberta, out, share=ArrayElement(0, 2, "8")) == finished[1]
    assert {path: path.stat().st_mtime_ns for path in done} == done and len(done) == 3
    assert contents(out) == contents(finished[0])


def test_array_from_the_command_line(pretended, benchmark, tiny_roberta, tmp_path, monkeypatch, capfd):
    line = f"klue finetune {tiny_roberta} --data {benchmark} --out {tmp_path / 'klue'} --executor slurm-array"
    values = ["--task", "ynat", "--seeds", "2", "device=cpu", "workers=0", "training.max_seq_len=64"]
    assert run_command([*line.split(), *values]) == 2
    assert "SLURM_ARRAY_TASK_ID is not set" in capfd.readouterr().err
    for name, value in {"COUNT": "2", "MIN": "1", "ID": "2"}.items():
        monkeypatch.setenv(f"SLURM_ARRAY_TASK_{name}", value)
    assert run_command([*line.split(), *values]) == 0
    assert "element 1 is done; 1 of 2 jobs" in capfd.readouterr().err
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "1")
    assert run_command([*line.split(), *values]) == 0
    assert "YNAT macro F1" in capfd.readouterr().out
    assert len((tmp_path / "klue" / "results.jsonl").read_text().splitlines()) == 2


def test_dry_run_says_how_many_jobs(benchmark, tiny_roberta, tmp_path, capfd):
    line = f"klue finetune {tiny_roberta} --data {benchmark} --out {tmp_path / 'klue'} --search grid --dry-run"
    assert (
        run_command(
            [*line.split(), "--task", "ynat", "--seeds", "2", "training.max_seq_len=64", "per_task.ynat.epochs=3"]
        )
        == 0
    )
    assert capfd.readouterr().out == "klue: 192 jobs (ynat 192)\n"
    assert not (tmp_path / "klue").exists()


def test_search_reports_the_best_and_keeps_every_row(pretended, benchmark, tiny_roberta, tmp_path, capfd):
    tried = settings(benchmark, tasks=["ynat"], search="small", training={"max_seq_len": 64, "epochs": 1})
    out = tmp_path / "klue"
    assert str(plan_stage(tried, tiny_roberta, out / "jobs")) == "klue: 4 jobs (ynat 4)" and not out.exists()
    (entry,) = run_klue(tried, tiny_roberta, out)["scores"]
    assert "klue: 4 jobs (ynat 4)" in capfd.readouterr().err
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert [row["settings"]["learning_rate"] for row in rows] == [1e-5, 2e-5, 3e-5, 5e-5]
    best = max(rows, key=lambda row: row["best"]["macro_f1"])
    assert entry["tried"] == 4 and entry["settings"]["learning_rate"] == best["settings"]["learning_rate"]


def test_wrong_input_before_anything_runs(benchmark, tiny_roberta, tmp_path):
    with pytest.raises(UserError, match=r"has no config.json"):
        run_klue(settings(benchmark), tmp_path / "nowhere", tmp_path / "klue")
    model = shutil.copytree(tiny_roberta, tmp_path / "model")
    (model / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes()[:-9])
    with pytest.raises(UserError, match=r"model.safetensors is damaged or cut short"):
        run_klue(settings(benchmark), model, tmp_path / "klue")
    assert not (tmp_path / "klue").exists()
    with pytest.raises(UserError, match="no dev file of ynat"):
        run_klue(settings(tmp_path), tiny_roberta, tmp_path / "klue")
