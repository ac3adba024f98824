"""A run goes to the hub: from the command line, as it trains, at its end; what stands there loads by its revision."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from huggingface_hub import ModelCard
from safetensors.torch import load_file

from common.manifest import Manifest, write_manifest
from hunmin.hub import follow
from hunmin.hub.card import write_card
from hunmin.hub.facts import Facts, read_facts
from hunmin.hub.publish import publish_run
from hunmin.main import run_command
from hunmin.recipe import load_recipe
from klue.results import metrics_of

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
from hub_server import TOKEN, Fault, Hub
from mini import write_mini

LOAD = """
import sys
from safetensors.torch import save_file
from transformers import AutoModelForMaskedLM, AutoTokenizer
for step in (10, 20):
    options = {"revision": f"step-{step}", "cache_dir": sys.argv[1]}
    model = AutoModelForMaskedLM.from_pretrained("me/mini", **options)
    save_file(dict(model.named_parameters()), f"{sys.argv[1]}/{step}.safetensors")
    assert AutoTokenizer.from_pretrained("me/mini", **options).vocab_size == 2500
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as far as its export, steps 10 and 20, in a folder with a blank and Hangul in its name."""
    folder = tmp_path_factory.mktemp("한글 폴더")
    recipe = write_mini(folder, steps=20, checkpoint_every=10, keep_last=9, wandb="off")
    tree = yaml.safe_load(recipe.read_text())
    tree["hub"] = {"license": "cc-by-sa-4.0", "source_licenses": {"books": "CC0"}, "note": "Made for a test."}
    recipe.write_text(yaml.safe_dump(tree), encoding="utf-8")
    assert run_command(["run", str(recipe), "--until", "export"]) == 0
    return folder / "run"


def checkpoint(run: Path, step: int) -> Path:
    return run / "pretrain" / "checkpoints" / f"step-{step:08d}"


@pytest.fixture
def scored(run: Path, tmp_path: Path) -> Path:
    """A copy of the run, with scores that nobody had to wait for."""
    copy = Path(shutil.copytree(run, tmp_path / "scored"))
    rows = [
        {
            "model": "mini", "task": "ynat", "init": init, "seed": 42, "best": dict.fromkeys(metrics_of("ynat"), value),
            "last": dict.fromkeys(metrics_of("ynat"), value), "data_note": "", "examples": {"train": 7, "dev": 9107},
            "settings": {"learning_rate": 1e-4, "batch_size": 8, "epochs": 1, "warmup_share": 0.1, "weight_decay": 0.0},
        }
        for init, value in (("pretrained", 61.25), ("random", 40.0))
    ]  # fmt: skip
    (copy / "klue").mkdir()
    (copy / "klue" / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_manifest(copy / "klue", Manifest(stage="klue", settings={}, inputs={}, outputs={}, counts={"jobs": 2}))
    return copy


def test_each_step_is_a_revision(hub: Hub, run: Path, tmp_path: Path) -> None:
    for step in (10, 20):
        command = ["export", str(checkpoint(run, step)), "--out", str(tmp_path / str(step)), "--push-to-hub", "me/mini"]
        assert run_command(command) == 0
    found = hub.repositories["me/mini"]
    assert set(found.tags) == {"step-10", "step-20"} and found.tags["step-20"] == found.head and found.private
    assert set(found.files) == {
        "README.md", "recipe.yaml", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
        "vocab.txt", *(["special_tokens_map.json"] if (run / "tokenizer" / "special_tokens_map.json").exists() else []),
    }  # fmt: skip
    # in a process of its own: transformers takes the hub's address when it is imported
    command = [sys.executable, "-c", LOAD, str(tmp_path / "cache")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for step in (10, 20):
        weights = load_file(tmp_path / "cache" / f"{step}.safetensors")
        for name, trained in load_file(checkpoint(run, step) / "weights.safetensors").items():
            assert torch.equal(weights[name], trained)


def test_a_dry_run_lists_and_sends_nothing(
    hub: Hub, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "export",
        str(checkpoint(run, 20)),
        "--out",
        str(tmp_path / "m"),
        "--push-to-hub",
        "me/mini",
        "--dry-run",
    ]
    assert run_command(command) == 0
    printed = capsys.readouterr().out
    assert not hub.calls and "me/mini (private), tag step-20" in printed and "model.safetensors" in printed
    assert "pipeline_tag: fill-mask" in printed


def test_what_is_refused_before_anything_is_done(
    hub: Hub, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = shutil.copytree(checkpoint(run, 20), tmp_path / "step-00000020")
    for words, told in (
        ([str(checkpoint(run, 20)), "--push-to-hub", "mini"], "OWNER/NAME"),
        ([str(alone), "--push-to-hub", "me/mini"], "made of the run's facts"),
        ([str(checkpoint(run, 20)), "--dry-run"], "are of an upload"),
    ):
        assert run_command(["export", *words, "--out", str(tmp_path / "m")]) == 2
        assert told in capsys.readouterr().err and not (tmp_path / "m").exists()
    assert run_command(["export", str(alone), "--out", str(tmp_path / "m")]) == 0  # to a folder it needs no run
    assert not hub.calls


def test_a_finished_run_goes_with_its_scores(hub: Hub, scored: Path) -> None:
    recipe = load_recipe(scored / "recipe.yaml", [f"out={scored}", "hub.repository=me/done", "hub.dtype=bf16"])
    publish_run(recipe)
    files = hub.repositories["me/done"].files
    assert files["klue/results.jsonl"] == (scored / "klue" / "results.jsonl").read_bytes()
    assert b"value: 61.25" in files["README.md"] and not (scored / "logs" / "hub").exists()
    assert set(hub.repositories["me/done"].tags) == {"step-20"}
    before = hub.repositories["me/done"].head
    publish_run(recipe)
    assert hub.repositories["me/done"].head == before
    publish_run(load_recipe(scored / "recipe.yaml", [f"out={scored}"]))  # no repository is named: nothing
    assert set(hub.repositories) == {"me/done"}


def test_a_training_run_is_followed(hub: Hub, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Checkpoints appear; one upload fails, training does not; what was there before is not sent."""
    live = Path(shutil.copytree(run, tmp_path / "live", ignore=shutil.ignore_patterns("pretrain", "export")))
    shutil.copytree(run / "pretrain" / "logs", live / "pretrain.partial" / "logs")
    folder = live / "pretrain.partial" / "checkpoints"
    folder.mkdir()
    overrides = [f"out={live}", "hub.repository=me/live", "hub.every=10"]
    recipe = load_recipe(live / "recipe.yaml", overrides)
    hub.faults.append(Fault("/api/repos/create", 403))

    def appear(step: int) -> None:
        other = shutil.copytree(checkpoint(run, 10), folder / f".{step}")
        mark = json.loads((other / "complete.json").read_bytes())
        (other / "complete.json").write_text(json.dumps({**mark, "step": step}))
        other.rename(folder / f"step-{step:08d}")

    def wait(text: str) -> None:
        until, told = time.monotonic() + 90, ""
        while text not in told:
            told += capsys.readouterr().err
            assert time.monotonic() < until, told
            time.sleep(0.1)

    appear(10)
    with follow.following(recipe, live, look_every=0.1):
        appear(15)
        appear(20)
        wait("step 20 was not pushed to me/live; see logs/hub.log")
        appear(30)
        wait("step 30 pushed to me/live")
    assert "write access to me" in (live / "logs" / "hub.log").read_text()
    assert set(hub.repositories["me/live"].tags) == {"step-30"}
    assert TOKEN not in (live / "logs" / "hub.log").read_text()
    assert not list((live / "logs").glob("hub-*"))


def test_without_a_repository_nothing_follows(run: Path) -> None:
    with follow.following(load_recipe(run / "recipe.yaml", [f"out={run}"]), run, look_every=0.01):
        assert not [thread for thread in follow.threading.enumerate() if thread.name == "hub"]


def test_a_tokenizer_goes_with_its_card(hub: Hub, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["tokenizer", "push", str(run / "tokenizer"), "me/words", "--dry-run"]) == 0
    assert "vocab.txt" in capsys.readouterr().out and not hub.calls
    assert run_command(["tokenizer", "push", str(run / "tokenizer"), "me/words", "--public"]) == 0
    files = hub.repositories["me/words"].files
    assert files["vocab.txt"] == (run / "tokenizer" / "vocab.txt").read_bytes() and b"fertility" in files["README.md"]
    assert not hub.repositories["me/words"].private
    assert run_command(["tokenizer", "push", str(run), "me/words"]) == 2


def facts_of(run: Path) -> Facts:
    return read_facts(run)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_card_says_what_the_run_says(language: Any, scored: Path) -> None:
    facts = facts_of(scored)
    text = write_card(facts, "me/mini", language)
    card = ModelCard(text, ignore_metadata_errors=False)
    assert card.data.language == "ko" and card.data.license == "cc-by-sa-4.0" and "hunmin" in card.data.tags
    (result,) = card.data.eval_results
    assert (result.metric_type, result.metric_value, result.dataset_split) == ("macro_f1", 61.25, "validation")
    statistics = json.loads((scored / "corpus" / "statistics.json").read_bytes())
    for name, of in statistics["sources"].items():
        row = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
        assert f"{of['kept']['documents']:,} | {of['kept']['sentences']:,}" in row
        assert row.endswith("| CC0 |") == (name == "books")
    for kind, count in statistics["pii"].items():
        assert not count or f"{kind} {count:,}" in text
    metadata = json.loads((checkpoint(scored, 20) / "complete.json").read_bytes())
    assert f"| {metadata['tokens']:,} |" in text and f"1 × {metadata['device']}, fp32" in text
    assert text.index("Made for a test.") < text.index("```python") and "vocab_size: 2500" in text
    assert "{" not in text.replace("{'", "").split("```yaml")[0]  # nothing was left unfilled


@pytest.mark.parametrize("language", ["en", "ko"])
def test_scores_of_other_examples_do_not_carry_the_benchmarks_name(language: Any, scored: Path) -> None:
    file = scored / "klue" / "results.jsonl"
    file.write_text(file.read_text().replace('"dev": 9107', '"dev": 280'))
    text = write_card(facts_of(scored), "me/mini", language)
    assert "klue/klue" not in text and "YNAT 280 / 9,107" in text
    (result,) = ModelCard(text, ignore_metadata_errors=False).data.eval_results
    assert (result.dataset_type, result.dataset_name) == ("other", "280 examples in the form of YNAT")


def test_a_card_of_an_earlier_checkpoint_has_not_the_scores_of_the_end(scored: Path) -> None:
    early = json.loads((checkpoint(scored, 10) / "complete.json").read_bytes())
    text = write_card(read_facts(scored, early), "me/mini")
    assert "model-index" not in text and "None are known of this checkpoint" in text and "step 10 of 20" in text


def test_hours_and_energy_by_hand(scored: Path) -> None:
    log = scored / "pretrain" / "logs" / "metrics.jsonl"
    rows = [
        {"step": 10, "tokens": 3600, "tokens_per_second": 1.0, "tflops": 2.0},
        {"step": 10, "validation_loss": 1.0},
        {"step": 20, "tokens": 7200, "tokens_per_second": 0.5, "tflops": 1.0},
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    mark = json.loads((checkpoint(scored, 20) / "complete.json").read_bytes())
    facts = read_facts(scored, {**mark, "device": "NVIDIA H100 80GB HBM3", "world": 8})
    assert facts.hours == pytest.approx(3.0) and facts.flops == pytest.approx(3600 * 2e12 + 7200 * 1e12)
    assert facts.kilowatt_hours == pytest.approx(0.7 * 8 * 3)  # 700 W
    assert "16.8 kWh" in write_card(facts, None)
    assert read_facts(scored, {**mark, "device": "Some CPU"}).kilowatt_hours is None


def test_the_card_is_printed(run: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run_command(["card", str(run), "--language", "ko"]) == 0
    assert "한국어 RoBERTa" in capsys.readouterr().out
    assert run_command(["card", str(tmp_path)]) == 2
    assert "is no run folder" in capsys.readouterr().err
