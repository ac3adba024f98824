"""Raw text to report in one command, then again in no time, and what stands in the folders afterwards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from markupsafe import escape
from safetensors.torch import load_file

from common.manifest import read_manifest
from common.message import from_tree
from data.shards import read_shards
from hunmin.main import run_command
from hunmin.pipeline.stages import STAGES
from pretrain.callbacks.metrics import read_metrics
from tests.hunmin.mini import TASKS
from tests.klue.names import KLUE_TASKS
from tests.runs import copy_run, copy_stages


def test_its_page_has_its_numbers_and_none_of_its_text(mini_run: Path, tmp_path: Path) -> None:
    run = mini_run / "run"
    page = (run / "report.html").read_text("utf-8")
    assert len(page) < 5_000_000 and "finished: all stages are done" in page
    counts = read_manifest(run / "corpus")
    assert counts and f"{counts.counts['sentences']:,} sentences" in page
    assert str(mini_run) not in page and "a-key-for-invented-data" not in page
    sentences = [
        sentence
        for rows in read_shards(run / "corpus", ["sentences"])
        for row in rows.to_pylist()
        for sentence in row["sentences"]
    ]
    assert len(sentences) > 1000 and not [line for line in sentences if len(line) > 8 and escape(line) in page]
    assert run_command(["report", str(run), "--out", str(tmp_path / "text.html"), "--with-text"]) == 0
    text = (tmp_path / "text.html").read_text("utf-8")
    assert len([line for line in sentences if len(line) > 8 and escape(line) in text]) > 5
    assert run_command(["report", str(run)]) == 0  # it writes the same bytes again
    assert (run / "report.html").read_text("utf-8") == page


def test_again_it_finds_all_done(mini_run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", str(mini_run / "recipe.yaml")]) == 0
    out, err = capfd.readouterr()
    assert err.count(" done") >= len(STAGES) and "begins" not in err
    assert "YNAT" in out and "report.html" in out


def test_scores_stand_beside_random_initialisation(mini_run: Path) -> None:
    report = json.loads((mini_run / "run" / "report" / "report.json").read_bytes())
    rows = {(row["task"], row["init"]) for row in report["klue"]}
    assert rows == {(t, i) for t in TASKS for i in ("pretrained", "random")}
    assert all(from_tree(row["data_message"]) == row["data_note"] for row in report["klue"])
    assert any("inputs cut at" in row["data_note"] for row in report["klue"])
    assert [path.name for path in (mini_run / "run" / "report").iterdir() if path.suffix in (".md", ".png")] == []
    assert report["contamination"] and set(report["contamination"]) <= set(KLUE_TASKS)
    (row,) = read_metrics(mini_run / "run" / "klue" / "logs" / "metrics.jsonl")
    assert row["step"] == 40 and "klue/wos/joint_goal_accuracy" in row and "klue-random/ynat/macro_f1" in row


def test_the_export_loads_and_its_logits_are_the_training_models(mini_run: Path) -> None:
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    run = mini_run / "run"
    exported = AutoModelForMaskedLM.from_pretrained(run / "export", local_files_only=True).eval()
    trained = AutoModelForMaskedLM.from_pretrained(run / "pretrain" / "model", local_files_only=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(run / "export", local_files_only=True)
    long = tokenizer("학교 " * 1000, truncation=True, return_tensors="pt")  # what it states is what the model holds
    assert long["input_ids"].shape[1] == tokenizer.model_max_length == exported.config.max_position_embeddings - 2
    assert AutoTokenizer.from_pretrained(run / "tokenizer").model_max_length == tokenizer.model_max_length
    exported(**long)
    batch = tokenizer("나라의 말이 중국과 달라 [MASK]와 서로 통하지 아니하므로", return_tensors="pt")
    with torch.no_grad():
        assert torch.equal(exported(**batch).logits, trained(**batch).logits)


def test_verify_reads_everything_and_names_what_changed(
    mini_run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    copy_run(mini_run / "run", run)
    assert not list(run.glob("*.partial"))
    assert run_command(["verify", str(run), "--json"]) == 0
    whole = json.loads(capfd.readouterr().out)
    assert not [row for row in whole if row["damaged"]]
    checkpoints = [row["what"] for row in whole if "step-" in row["what"]]
    assert {row["what"] for row in whole} - {*checkpoints} == {stage.folder for stage in STAGES} and checkpoints
    changed = {
        "tokens": "tokens-00000.bin",
        "export": "model.safetensors",
        "klue": "results.jsonl",
        checkpoints[-1]: "optimizer.safetensors",
    }
    for folder, name in changed.items():
        content = bytearray((run / folder / name).read_bytes())
        content[len(content) // 2] ^= 1
        (run / folder / name).write_bytes(bytes(content))
    (run / "tokenizer" / "vocab.txt").unlink()
    (run / "corpus" / "manifest.json").write_text("{}")
    assert run_command(["verify", str(run), "--json"]) == 1
    damages = {row["what"]: row["damaged"] for row in json.loads(capfd.readouterr().out) if row["damaged"]}
    assert damages == {**{k: [v] for k, v in changed.items()}, "tokenizer": ["vocab.txt"], "corpus": ["manifest.json"]}
    assert run_command(["verify", str(tmp_path)]) == 2


def test_verify_prints_json_alone_for_users_of_wandb(mini_run: Path) -> None:
    """transformers' Trainer prints that wandb is offline as it is imported."""
    command = [sys.executable, "-m", "hunmin.main", "verify", str(mini_run / "run"), "--json"]
    environment = {**os.environ, "WANDB_MODE": "offline"}
    out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    assert json.loads(out)[0]["what"] == "corpus"


def test_verify_sees_a_manifest_that_is_gone_or_edited(
    mini_run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = copy_run(mini_run / "run", tmp_path / "run")
    (run / "tokens" / "manifest.json").unlink()
    (run / "tokens" / "tokens-00000.bin").unlink()
    manifest = run / "corpus" / "manifest.json"
    tree = json.loads(manifest.read_bytes())
    del tree["outputs"]["shards/shard-00000.parquet"]  # nobody would look at it
    manifest.write_text(json.dumps(tree))
    assert run_command(["verify", str(run), "--json"]) == 1
    damages = {row["what"]: row["damaged"] for row in json.loads(capfd.readouterr().out) if row["damaged"]}
    assert damages == {"tokens": ["manifest.json"], "corpus": ["manifest.json: not as the run wrote it"]}


@pytest.mark.slow
def test_watch_scores_each_checkpoint_once(mini_run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = mini_run / "run"
    command = ["klue", "watch", str(run), "klue.tasks=[ynat]", "klue.baseline_random=false"]
    assert run_command(command) == 0  # training has ended, so it ends
    rows = [json.loads(line) for line in (run / "watch" / "scores.jsonl").read_text("utf-8").splitlines()]
    checkpoints = sorted((run / "pretrain" / "checkpoints").glob("step-*"))
    assert [row["step"] for row in rows] == [int(path.name.removeprefix("step-")) for path in checkpoints]
    # of an epoch's samples only the last is short
    assert len(rows) > 1 and all(0 <= row["step"] * 16 * 32 - row["tokens"] < 32 for row in rows)
    assert (run / "watch" / "scores.png").stat().st_size > 5000
    assert not list((run / "watch").glob("step-*/model"))
    # the last one's export is the run's: its job was done already
    assert len(list(run.glob("made/jobs/ynat-pretrained-42-*"))) == len(rows)
    capfd.readouterr()
    assert run_command(command) == 0
    assert "scoring" not in (err := capfd.readouterr().err) and "0 newly scored" in err
    other = [*command[:-2], "klue.tasks=[klue-sts]", command[-1], "klue.workers=0", "--once"]
    assert run_command(other) == 0 and f"{len(rows)} newly scored" in capfd.readouterr().err
    tasks = [json.loads(line)["task"] for line in (run / "watch" / "scores.jsonl").read_text("utf-8").splitlines()]
    assert tasks == ["klue-sts"] * len(rows)
    assert run_command(["klue", "watch", str(mini_run / "sample")]) == 2 and "no run folder" in capfd.readouterr().err


def test_a_further_task_keeps_the_finished_jobs_and_going_back_trains_none(
    mini_run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hunmin.pipeline.redo.LONG_SECONDS", 1e9)
    run = copy_run(mini_run / "run", tmp_path / "run")
    rows = (run / "klue" / "results.jsonl").read_bytes()
    for folder in {*run.glob("made/jobs/*")} - {
        run / "made/jobs" / json.loads(row)["job"] for row in rows.splitlines()
    }:
        shutil.rmtree(folder)  # of `klue watch`
    before = {path: path.stat().st_mtime_ns for path in run.glob("made/jobs/*/result.json")}
    assert len(before) == 2 * len(TASKS)
    command = ["run", str(mini_run / "recipe.yaml"), f"out={run}", "klue.workers=0"]
    assert run_command([*command, f"klue.tasks={json.dumps([*TASKS, 'klue-sts'])}"]) == 0
    assert f"{len(before)} of 8 jobs are finished already" in capfd.readouterr().err
    after = {path: path.stat().st_mtime_ns for path in run.glob("made/jobs/*/result.json")}
    assert len(after) == 8 and before.items() <= after.items()
    shown = json.loads((run / "report" / "report.json").read_bytes())["klue"]
    assert {row["task"] for row in shown} == {*TASKS, "klue-sts"}
    assert rows.splitlines() == [line for line in (run / "klue" / "results.jsonl").read_bytes().splitlines()
                                 if json.loads(line)["task"] in TASKS]  # fmt: skip
    assert run_command(command) == 0
    assert "klue       done" in capfd.readouterr().err, "the earlier results are there"
    assert (run / "klue" / "results.jsonl").read_bytes() == rows
    shutil.rmtree((run / "klue").resolve())
    assert run_command(command) == 0
    assert f"{len(before)} of {len(before)} jobs are finished already" in capfd.readouterr().err
    assert (run / "klue" / "results.jsonl").read_bytes() == rows
    assert after == {path: path.stat().st_mtime_ns for path in run.glob("made/jobs/*/result.json")}


def test_other_runtime_settings_redo_nothing(mini_run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def stages_to_run(*changes: str) -> list[str]:
        assert run_command(["run", str(mini_run / "recipe.yaml"), *changes, "--dry-run", "--json"]) == 0
        return [row["stage"] for row in json.loads(capfd.readouterr().out)["stages"] if row["runs"]]

    assert stages_to_run("corpus.workers=2", "pretrain.log_every=7", "klue.workers=1") == []
    assert stages_to_run("pretrain.optimizer.learning_rate=2e-3") == ["pretrain", "export", "klue", "report"]


def test_stats_show_and_report_print(mini_run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = mini_run / "run"
    for command in (
        ["corpus", "stats", str(run)],
        ["tokenizer", "show", str(run / "tokenizer"), "조경현은 인공지능 분야의 저명한 연구자이다."],
        ["klue", "report", str(run)],
        ["report", str(run)],
    ):
        assert run_command(command) == 0, command
        out, err = capfd.readouterr()
        assert out.strip() and "Traceback" not in err
        assert run_command([*command, "--json"]) == 0
        json.loads(capfd.readouterr().out)


@pytest.mark.parametrize("task", TASKS)
def test_saved_predictions_score_what_the_report_says(
    mini_run: Path, task: str, capfd: pytest.CaptureFixture[str]
) -> None:
    row = next(r for r in json.loads((mini_run / "run/report/report.json").read_bytes())["klue"] if r["task"] == task)
    gold = mini_run / "sample" / "klue" / f"{task}-v1.1" / f"{task}-v1.1_dev.json"
    predictions = mini_run / "run" / "klue" / "jobs" / row["job"] / "predictions.jsonl"
    command = ["klue", "score", task, "--gold", str(gold), "--predictions", str(predictions), "--json"]
    assert run_command(command) == 0
    scores = json.loads(capfd.readouterr().out)
    assert {name: scores[name] for name in row["best"] if name in scores} == {
        name: value for name, value in row["best"].items() if name in scores
    }
    assert row["metric"] in scores


@pytest.mark.slow
def test_a_published_model_is_trained_further_with_more_words(mini_run: Path) -> None:
    """Its export and tokenizer are all that is needed; the first validation loss is near its last, and ids stay."""
    first, second = mini_run / "run", mini_run / "further"
    copy_stages(first, second, "corpus")  # no setting of it changes
    changes = [
        f"out={second}",
        f"tokenizer.base={first / 'export'}",
        "tokenizer.vocab_size=2600",
        f"pretrain.init_from={first / 'export'}",
        "pretrain.optimizer.learning_rate=1e-5",
        "klue.tasks=[ynat]",
        "klue.baseline_random=false",
        "klue.workers=0",
    ]
    assert run_command(["run", str(mini_run / "recipe.yaml"), *changes]) == 0
    before, after = ((run / "tokenizer" / "vocab.txt").read_text("utf-8").split("\n") for run in (first, second))
    assert after[:2500] == before[:2500] and len(after) == 2601
    starts, ends = (
        [
            row["validation_loss"]
            for row in read_metrics(run / "pretrain/logs/metrics.jsonl")
            if "validation_loss" in row
        ]
        for run in (second, first)
    )
    assert abs(starts[0] - ends[-1]) < abs(starts[0] - ends[0])
    weights = [load_file(run / "export" / "model.safetensors") for run in (first, second)]
    name = "roberta.embeddings.word_embeddings.weight"
    assert weights[0][name].shape[0] == 2500 and weights[1][name].shape[0] == 2600


@pytest.mark.slow
def test_klue_bert_shrunk_runs_from_tokens_to_scores(mini_run: Path) -> None:
    """The recipe as it stands, static masks and next-sentence prediction, with smaller sizes."""
    mini = yaml.safe_load((mini_run / "recipe.yaml").read_text(encoding="utf-8"))
    shrunk = {
        "corpus": mini["corpus"],
        "tokenizer": {"vocab_size": 2500, "min_character_count": 2},
        "pretrain.model": {"type": "bert", "layers": 1, "hidden": 32, "heads": 2, "feed_forward": 64},
        **{
            f"pretrain.{name}": mini["pretrain"][name]
            for name in ("max_seq_len", "steps", "global_batch", "micro_batch")
        },
        **{f"pretrain.{name}": 20 for name in ("checkpoint_every", "validate_every", "log_every")},
        "pretrain.masking.dupe_factor": 2,
        "pretrain.optimizer.warmup_steps": 5,
        "klue": {**mini["klue"], "tasks": ["ynat"], "baseline_random": False, "workers": 0},
        "out": str(mini_run / "bert"),
    }
    copy_stages(mini_run / "run", mini_run / "bert", "corpus", "tokenizer")  # their settings are the small run's
    recipe = Path(__file__).parents[2] / "configs" / "klue-bert-base.yaml"
    assert run_command(["run", str(recipe), *[f"{key}={json.dumps(value)}" for key, value in shrunk.items()]]) == 0
    config = json.loads((mini_run / "bert" / "export" / "config.json").read_bytes())
    assert config["architectures"] == ["BertForPreTraining"] and config["type_vocab_size"] == 2
    rows = read_metrics(mini_run / "bert" / "pretrain" / "logs" / "metrics.jsonl")
    assert all(0 <= row["pair_accuracy"] <= 1 for row in rows if "loss" in row)
    scores = json.loads((mini_run / "bert" / "report" / "report.json").read_bytes())["klue"]
    assert scores


@pytest.mark.parametrize("change", ["tokenizer.base=/no/folder", "pretrain.init_from=/no/folder"])
def test_a_base_that_is_not_there_is_named_before_anything_runs(
    mini_run: Path, change: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["run", str(mini_run / "recipe.yaml"), f"out={mini_run / 'never'}", change]) == 2
    assert "nothing found at /no/folder" in capfd.readouterr().err and not (mini_run / "never" / "corpus").exists()


def test_a_base_whose_content_changed_is_noticed(
    mini_run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    base = shutil.copytree(
        mini_run / "run" / "export", tmp_path / "base", ignore=shutil.ignore_patterns("manifest.json")
    )
    changes = [f"out={mini_run / 'further'}", f"tokenizer.base={base}", "tokenizer.vocab_size=2600", "--dry-run"]
    config = base / "tokenizer_config.json"
    before = config.read_text(encoding="utf-8")
    assert run_command(["run", str(mini_run / "recipe.yaml"), *changes]) == 0
    unchanged = capfd.readouterr().out
    config.write_text(before.replace("{", '{"changed": true,', 1), encoding="utf-8")
    assert run_command(["run", str(mini_run / "recipe.yaml"), *changes]) == 0
    changed = capfd.readouterr().out
    rows = [next(line for line in out.splitlines() if "tokenizer" in line) for out in (unchanged, changed)]
    assert "done" in rows[0] and "runs" in rows[1]
