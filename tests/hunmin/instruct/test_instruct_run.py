"""A whole decoder's run in little: sample to scores, a stop and a kill within it, damage, commands beside it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from common.manifest import MANIFEST
from hunmin.instruct.stages import INSTRUCT_STAGES
from hunmin.main import run_command
from hunmin.sample.folder import make_sample

HUNMIN = "import sys; sys.argv = ['hunmin', *sys.argv[1:]]; from hunmin.main import main; main()"
ROOT = Path(__file__).parents[3]


def recipe_at(folder: Path, name: str, **tune: Any) -> Path:
    tree = {
        "name": "mini",
        "out": str(folder / name),
        "instruct": {
            "data": str(folder / "sample" / "instruct"), "uses": ["nsmc", "copa", "apeach"], "per_use": 40,
            "held_out": 6, "workers": 1,
        },
        "tune": {
            "base": str(folder / "sample" / "base"), "max_seq_len": 200, "epochs": 2, "global_batch": 8,
            "micro_batch": 8, "checkpoint_every": 5, "threads": 1, "wandb": "off", "log_every": 5, **tune,
        },
        "leaderboard": {
            "suites": ["kit19", "instruct"], "data": str(folder / "sample" / "kit19"), "limit": 4,
            "tasks": ["kobest_copa", "klue_ynat", "instruct_nsmc"], "device": "cpu",
        },
    }  # fmt: skip
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(tree), encoding="utf-8")
    return path


def manifests(run: Path) -> dict[str, dict[str, Any]]:
    return {stage.name: json.loads((run / stage.folder / MANIFEST).read_bytes()) for stage in INSTRUCT_STAGES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sample, and a finished run of it in `run`."""
    root = tmp_path_factory.mktemp("decoder")
    make_sample(root / "sample", instruct=True)
    assert run_command(["run", str(recipe_at(root, "run"))]) == 0
    return root


@pytest.mark.slow
def test_from_sample_to_scores(folder: Path) -> None:
    stages = manifests(folder / "run")
    built = stages["instruct"]["counts"]
    by_use = {line["use"]: line for line in built["uses"]}
    assert (built["rows"], built["held_out"]) == (120, 18) and by_use["nsmc"]["state"] == "built"
    # the three test rows of COPA that its train file repeats, and rows that come near others
    assert by_use["copa"]["contaminated"] >= 3 and set(by_use["copa"]["contaminated_by"]) == {"kit19"}
    assert not by_use["apeach"]["contaminated"]
    texts = (folder / "run" / "instruct" / "train.jsonl").read_text(encoding="utf-8")
    assert not any(planted in texts for planted in ("온새미 마을", "가람이는 새 책", "뱃사공이 노를"))
    for line in (folder / "run" / "instruct" / "held_out.jsonl").read_text(encoding="utf-8").splitlines():
        assert json.loads(line)["input"] not in texts or not json.loads(line)["input"]
    assert (stages["tune"]["counts"]["examples"], stages["tune"]["counts"]["steps"]) == (120, 30)
    assert (folder / "run" / "tune" / "model" / "model.safetensors").is_file()
    scores = stages["leaderboard"]["counts"]
    assert set(scores) == {"tuned", "base"}
    assert set(scores["tuned"]) == set(scores["base"]) == {"kobest_copa", "klue_ynat", "instruct_nsmc"}
    assert set(stages["leaderboard"]["inputs"]) >= {"instruct", "tune"}
    assert "kit19/kobest_copa.jsonl" in stages["instruct"]["inputs"]


@pytest.mark.slow
def test_the_same_command_finds_all_done(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = manifests(folder / "run")
    assert run_command(["run", str(folder / "run.yaml")]) == 0
    said = capsys.readouterr()
    assert said.err.count(" done") == 3 and "begins" not in said.err
    assert "| mini | instruct_nsmc |" in said.out and "| base of mini |" in said.out
    assert manifests(folder / "run") == before
    assert run_command(["verify", str(folder / "run"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["what"] for row in rows[:3]] == ["instruct", "tune", "leaderboard"]
    assert len(rows) > 3 and all(row["what"].startswith("tune/checkpoints/checkpoint-") for row in rows[3:])
    assert not any(row["damaged"] for row in rows)


@pytest.mark.slow
def test_a_changed_setting_redoes_its_stage_and_those_after_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["run", str(folder / "run.yaml"), "leaderboard.limit=3", "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [row["runs"] for row in plan["stages"]] == [False, False, True]
    assert "leaderboard.limit: 4 → 3" in plan["stages"][2]["why"] and plan["tuning"]["steps"] == 30
    assert run_command(["run", str(folder / "run.yaml"), "instruct.per_use=39", "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [row["runs"] for row in plan["stages"]] == [True, True, True]
    assert plan["tuning"]["bytes"]["weights"] and "steps" not in plan["tuning"], (
        "rows are not known before they are made"
    )
    assert (
        run_command(["run", str(folder / "run.yaml"), "tune.threads=2", "--from", "tune", "--until", "instruct"]) == 2
    )
    assert "--from tune comes after --until instruct" in capsys.readouterr().err


@pytest.mark.slow
def test_tuning_and_its_dry_run_refuse_to_replace_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hunmin.pipeline.redo.LONG_SECONDS", -1.0)
    for dry in (["--dry-run"], []):
        assert run_command(["instruct", "tune", str(folder / "run.yaml"), "tune.seed=7", *dry]) == 2
        assert "tune.seed: 42 → 7" in capsys.readouterr().err


@pytest.mark.slow
def test_stopped_between_and_within_stages_it_ends_with_the_same_bytes(folder: Path) -> None:
    """Stage by stage by the commands of their own, and SIGTERM once a checkpoint is there."""
    path = recipe_at(folder, "stopped")
    assert run_command(["instruct", "tune", str(path)]) == 2, "its instructions are not built"
    assert run_command(["instruct", "build", str(path)]) == 0
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", HUNMIN, "instruct", "tune", str(path)]
    checkpoints = folder / "stopped" / "tune.partial" / "checkpoints"
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list(checkpoints.glob("*/trainer_state.json")):
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate()
    stopped = process.returncode in (130, 143)
    assert stopped or (folder / "stopped" / "tune").is_dir(), err
    assert run_command(["run", str(path)]) == 0
    ours, theirs = manifests(folder / "stopped"), manifests(folder / "run")
    assert ours["tune"]["outputs"] == theirs["tune"]["outputs"]
    assert ours["instruct"] == theirs["instruct"]


@pytest.mark.slow
def test_commands_beside_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(folder / "run")
    assert run_command(["instruct", "show", run, "--task", "nsmc", "-n", "1"]) == 0
    out = capsys.readouterr().out
    assert "NSMC" in out and '"task": "nsmc"' in out and '"task": "copa"' not in out
    assert run_command(["instruct", "show", run, "--task", "nsmk"]) == 2
    assert "nsmc" in capsys.readouterr().err
    questions, answers = folder / "q.jsonl", folder / "a.jsonl"
    questions.write_text('{"instruction": "답하세요.", "input": "글", "n": 1}\n{"instruction": "또 답하세요."}\n')
    command = ["instruct", "answer", run, "--in", str(questions), "--out", str(answers), "--max-new-tokens", "4"]
    assert run_command([*command, "--device", "cpu"]) == 0
    rows = [json.loads(line) for line in answers.read_text(encoding="utf-8").splitlines()]
    assert rows[0]["n"] == 1 and all(isinstance(row["answer"], str) for row in rows) and len(rows) == 2
    assert run_command(["instruct", "answer", run]) == 2
    questions.write_text('{"instruction": 3}\n')
    assert run_command([*command, "--overwrite"]) == 2
    assert "row 1" in capsys.readouterr().err
    scored = ["leaderboard", "score", run, "--suite", "instruct", "--data", run, "--out", str(folder / "scores")]
    assert run_command([*scored, "--limit", "2", "--task", "instruct_apeach", "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert [score["task"] for score in tree["scores"]] == ["instruct_apeach"]
    assert run_command(["leaderboard", "correlate", run + "/leaderboard", "--json"]) == 0
    assert run_command(["leaderboard", "tasks"]) == 0
    assert Path(capsys.readouterr().out.splitlines()[-1]).is_dir()
