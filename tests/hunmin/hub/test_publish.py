"""A run goes to the hub: from the command line, as it trains, at its end; what stands there loads by its revision."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import yaml
from hub_server import TOKEN, Fault, Hub
from huggingface_hub import ModelCard
from safetensors.torch import load_file

from common.lock import locked
from hunmin.hub import follow
from hunmin.hub.private import refuse_private
from hunmin.hub.publish_run import publish_run
from hunmin.main import run_command
from hunmin.recipes.recipe import Recipe, load_recipe
from pretrain.callbacks.checkpoint_metadata import write_metadata
from tests.runs import copy_run, forget, set_at_work

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


def checkpoint(run: Path, step: int) -> Path:
    return run / "pretrain" / "checkpoints" / f"step-{step:08d}"


@pytest.mark.slow
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


def test_a_dry_run_lists_sends_and_leaves_nothing(
    hub: Hub, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export", str(checkpoint(run, 20)), "--out", str(tmp_path / "m"), "--push-to-hub", "me/mini"]
    assert run_command([*command, "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert not hub.calls and "me/mini (private), tag step-20" in printed and "model.safetensors" in printed
    assert "pipeline_tag: fill-mask" in printed and not list(tmp_path.iterdir())
    assert run_command(command) == 0  # the same --out
    assert set(hub.repositories["me/mini"].tags) == {"step-20"}
    (tmp_path / "m" / "README.md").write_text("mine")
    assert run_command(command) == 0 and (tmp_path / "m" / "README.md").read_text() == "mine"


@pytest.mark.parametrize("fault", [Fault("/commit/", 403), Fault("/api/repos/create", 403)], ids=str)
def test_a_push_that_failed_is_repeated_by_the_same_command(
    fault: Fault, hub: Hub, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export", str(checkpoint(run, 20)), "--out", str(tmp_path / "m"), "--push-to-hub", "me/mini"]
    hub.faults.append(fault)
    assert run_command(command) == 2 and "write access to the owner" in capsys.readouterr().err
    assert (tmp_path / "m").exists() == (fault.path == "/commit/")  # the hub's no is told before the work
    assert run_command(command) == 0
    assert set(hub.repositories["me/mini"].tags) == {"step-20"}
    assert ("already holds this export" in capsys.readouterr().err) == (fault.path == "/commit/")
    for other in ([str(checkpoint(run, 10)), *command[2:]], [*command, "--dtype", "bf16"]):
        assert run_command(["export", *other] if other[0] != "export" else other) == 2
        assert "it is not empty" in " ".join(capsys.readouterr().err.split())


def test_a_mean_is_exported_pushed_and_named(
    hub: Hub, scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a checkpoint by the command, with no scores, which are of another model; of a run as its recipe says."""
    weights = [load_file(checkpoint(scored, step) / "weights.safetensors") for step in (10, 20)]
    mean = {name: ((weight.double() + weights[1][name].double()) / 2).float() for name, weight in weights[0].items()}

    def exported(folder: Path) -> None:
        model = load_file(folder / "model.safetensors")
        assert model.keys() == mean.keys() and all(torch.equal(model[name], mean[name]) for name in mean)

    command = ["export", str(checkpoint(scored, 20)), "--out", str(tmp_path / "m"), "--push-to-hub", "me/mini"]
    assert run_command([*command, "--average", "2"]) == 0
    exported(tmp_path / "m")
    card = hub.repositories["me/mini"].files["README.md"].decode()
    assert "| weights | mean of the checkpoints of steps 10, 20 |" in card and "has not been scored" in card
    monkeypatch.setenv("HUNMIN_TEST_PII_KEY", "a-key-for-invented-data")
    recipe = tmp_path / "recipe.yaml"
    tree = yaml.safe_load((scored / "recipe.yaml").read_text("utf-8"))
    recipe.write_text(yaml.safe_dump({**tree, "out": str(scored), "export": {"average": 2}}), "utf-8")
    forget(scored, "export")
    assert run_command(["run", str(recipe), "--until", "export"]) == 0
    exported(scored / "export")
    counts = json.loads((scored / "export" / "manifest.json").read_bytes())
    assert counts["counts"]["averaged"] == [10, 20] and counts["settings"] == {"average": 2}
    assert run_command(["push", str(scored), "me/whole", "--language", "ko"]) == 0
    pushed = hub.repositories["me/whole"].files
    assert pushed["model.safetensors"] == (scored / "export" / "model.safetensors").read_bytes()
    assert "| 가중치 | 10, 20스텝 체크포인트의 평균 |" in pushed["README.md"].decode()
    assert run_command(["push", str(checkpoint(scored, 20)), "me/last"]) == 0
    assert "| weights |" not in hub.repositories["me/last"].files["README.md"].decode()


def test_an_export_can_be_uploaded_as_it_is(run: Path) -> None:
    """By `hf upload RUN/export`: its recipe is the public one; the run's own folder keeps the whole."""
    text = (run / "export" / "hunmin-recipe.yaml").read_text("utf-8")
    assert str(run) not in text and str(run.parent) not in text and "inputs:\n  - '*'\n" in text
    assert yaml.safe_load(text)["name"] == "mini" and str(run.parent) in (run / "recipe.yaml").read_text("utf-8")
    refuse_private({path.name: path for path in (run / "export").iterdir()}, "HUNMIN_TEST_PII_KEY")


def test_what_is_refused_before_anything_is_done(
    hub: Hub, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    alone = shutil.copytree(checkpoint(run, 20), tmp_path / "step-00000020")
    for words, told in (
        ([str(checkpoint(run, 20)), "--push-to-hub", "mini"], "OWNER/NAME"),
        ([str(alone), "--push-to-hub", "me/mini"], "made from the run's facts"),
        ([str(checkpoint(run, 20)), "--dry-run"], "need an upload"),
        ([str(checkpoint(run, 20)), "--push-to-hub", "me/mini", "--onnx", "--dtype", "bf16"], "16-bit weights"),
    ):
        assert run_command(["export", *words, "--out", str(tmp_path / "m")]) == 2
        assert told in capsys.readouterr().err and not (tmp_path / "m").exists()
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")  # without a way there nothing is exported
    command = ["export", str(checkpoint(run, 20)), "--push-to-hub", "me/mini", "--out", str(tmp_path / "m")]
    assert run_command(command) == 2
    assert "fix: " in capsys.readouterr().err and not (tmp_path / "m").exists()
    hub.calls.clear()
    monkeypatch.chdir(tmp_path / "here")
    assert run_command(["export", str(alone), "--out", "."]) == 2
    assert "it is the folder you are in" in " ".join(capsys.readouterr().err.split())
    assert run_command(["export", str(alone), "--out", str(tmp_path / "m")]) == 0  # to a folder it needs no run
    assert not hub.calls


def test_a_finished_run_goes_with_its_scores(hub: Hub, scored: Path) -> None:
    recipe = load_recipe(scored / "recipe.yaml", [f"out={scored}", "hub.repository=me/done", "hub.dtype=bf16"])
    publish_run(recipe, "me/done")
    files = hub.repositories["me/done"].files
    assert files["klue/results.jsonl"] == (scored / "klue" / "results.jsonl").read_bytes()
    assert b"value: 61.25" in files["README.md"] and not list((scored / "logs").glob("push-*"))
    assert set(hub.repositories["me/done"].tags) == {"step-20"}
    before = hub.repositories["me/done"].head
    publish_run(recipe, "me/done")
    assert hub.repositories["me/done"].head == before


class Live:
    """A run that trains: checkpoints appear in it."""

    def __init__(self, run: Path, folder: Path) -> None:
        self.source = checkpoint(run, 10)
        self.path = copy_run(run, folder)
        forget(self.path, "pretrain", "export")
        training = set_at_work(self.path, "pretrain", "pretrain-0123456789")
        shutil.copytree(run / "pretrain" / "logs", training / "logs")
        self.checkpoints = training / "checkpoints"
        self.checkpoints.mkdir()

    def appear(self, step: int) -> None:
        other = shutil.copytree(self.source, self.checkpoints / f".{step}")
        mark = json.loads((other / "complete.json").read_bytes())
        write_metadata(other, {**mark, "step": step})
        other.rename(self.checkpoints / f"step-{step:08d}")

    def recipe(self, *changes: str) -> Recipe:
        overrides = [f"out={json.dumps(str(self.path))}", "hub.repository=me/live", *changes]
        return load_recipe(self.path / "recipe.yaml", overrides)


@pytest.fixture
def live(run: Path, tmp_path: Path) -> Live:
    return Live(run, tmp_path / "live")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uploads in this process, by the command line that another one would be given."""

    def start(command: list[str], **_: object) -> SimpleNamespace:
        return SimpleNamespace(returncode=run_command(command[command.index("hunmin.main") + 1 :]))

    monkeypatch.setattr(follow.subprocess, "run", start)


def wait_for(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    until, told = time.monotonic() + 600, ""
    while text not in told:
        told += capsys.readouterr().err
        assert time.monotonic() < until, told
        threading.Event().wait(0.1)  # time.sleep does nothing here, so that the library's own attempts take no time


def pushed(hub: Hub) -> list[str]:
    return hub.repositories["me/live"].messages if "me/live" in hub.repositories else []


@pytest.mark.drill
def test_a_training_run_is_followed(hub: Hub, live: Live, capsys: pytest.CaptureFixture[str]) -> None:
    """One upload fails, training does not, and it is made again; the last goes at the end."""
    hub.faults.append(Fault("/api/repos/create", 403))
    live.appear(10)
    with follow.following(live.recipe("hub.every=10"), live.path, look_every=0.1):
        live.appear(15)
        live.appear(20)
        wait_for("step 10 was not pushed to me/live; see logs/hub.log", capsys)
        wait_for("step 20 pushed to me/live", capsys)
        live.appear(25)
    log = (live.path / "logs" / "hub.log").read_text()
    assert "write access to the owner" in log and TOKEN not in log and not list((live.path / "logs").glob("hub-*"))
    assert [message.split(",")[0] for message in pushed(hub)] == ["Step 10", "Step 20", "Step 25"]
    found = hub.repositories["me/live"]
    assert set(found.tags) == {"step-10", "step-20", "step-25"} and found.tags["step-25"] == found.head


def test_a_restart_pushes_what_the_repository_lacks(
    hub: Hub, live: Live, here: None, capsys: pytest.CaptureFixture[str]
) -> None:
    for step in (10, 20, 30):
        live.appear(step)
    command = ["export", str(live.checkpoints / "step-00000020"), "--out", str(live.path / "m"), "--push-to-hub"]
    assert run_command([*command, "me/live"]) == 0
    left = live.path / "logs" / "hub-of-a-killed-command"
    left.mkdir()
    with pytest.raises(KeyboardInterrupt), follow.following(live.recipe("hub.every=10"), live.path, look_every=0.1):
        wait_for("step 30 pushed", capsys)
        live.appear(40)
        raise KeyboardInterrupt
    assert [message.split(",")[0] for message in pushed(hub)] == ["Step 20", "Step 10", "Step 30"] and not left.exists()
    found = hub.repositories["me/live"]
    assert found.head == found.tags["step-30"]  # step 10 came later, and has its tag alone


def test_uploads_of_a_command_that_runs_stay(hub: Hub, live: Live) -> None:
    under_way = live.path / "logs" / "hub-of-another-command"
    under_way.mkdir()
    with locked(live.path), follow.following(live.recipe(), live.path, last=False):
        pass
    assert under_way.exists()
    with follow.following(live.recipe(), live.path, last=False):
        pass
    assert not under_way.exists()


def test_at_the_end_the_last_one_goes(hub: Hub, live: Live, here: None, capsys: pytest.CaptureFixture[str]) -> None:
    for step in (10, 12):
        live.appear(step)

    def train(last: bool = True) -> list[str]:
        with follow.following(live.recipe(), live.path, last=last):
            pass
        return [message.split(",")[0] for message in pushed(hub)]

    assert not train(last=False)  # it goes later, with its scores
    hub.faults.append(Fault("/refs", 403))
    assert not train() and "it is tried again" in capsys.readouterr().err
    assert train() == train() == ["Step 12"]


def test_an_upload_that_does_not_end_holds_no_finished_run(
    hub: Hub, live: Live, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun, end = threading.Event(), threading.Event()

    def push(*_: object) -> int:
        begun.set()
        end.wait()
        return 1

    monkeypatch.setattr(follow, "_push", push)
    monkeypatch.setattr(follow, "UPLOAD_SECONDS", 0.1)
    live.appear(10)
    with follow.following(live.recipe("hub.every=10"), live.path, look_every=0.01):
        assert begun.wait(60)
    said = capsys.readouterr().err
    end.set()
    assert "an upload to me/live does not end" in said and "the same command" in said


def test_an_upload_has_an_end(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "UPLOAD_SECONDS", 0.05)  # no Python has started by then
    assert follow._push(live.recipe(), live.path, live.source) == 1
    assert "no end within 0.05 s" in (live.path / "logs" / "hub.log").read_text()


def test_pretrain_pushes_its_last_checkpoint(hub: Hub, run: Path, here: None) -> None:
    recipe = run.parent / "recipe.yaml"
    assert run_command(["pretrain", str(recipe), "hub.repository=me/live"]) == 0
    assert set(hub.repositories["me/live"].tags) == {"step-20"}
    with follow.following(load_recipe(run / "recipe.yaml", [f"out={run}"]), run, look_every=0.01):  # none is named
        assert not [thread for thread in follow.threading.enumerate() if thread.name == "hub"]


def test_of_training_at_work_the_newest_checkpoint_is_shown_and_what_is_not_there_yet(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As training leaves a run that it is at work on: step 10 of 20 saved, no export, no scores."""
    going = copy_run(run, tmp_path / "going")
    forget(going, "pretrain", "export")
    training = set_at_work(going, "pretrain", "pretrain-0123456789")
    ignored = shutil.ignore_patterns("manifest.json", "step-00000020")
    shutil.copytree(run / "pretrain", training, dirs_exist_ok=True, ignore=ignored)
    command = ["push", str(going), "me/mini", "--dry-run"]
    assert run_command(command) == 0
    out, err = capsys.readouterr()
    assert "has not ended: its newest checkpoint is step 10 of 20; later steps and scores are not" in " ".join(
        err.split()
    )
    assert "me/mini (private), tag step-10" in out and "model.safetensors" in out and "step 10 of 20" in out
    shutil.rmtree(going / "pretrain.partial" / "checkpoints" / "step-00000010")
    assert run_command(command) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert (
        "has not saved a checkpoint yet" in err and "one is saved every 10 steps and at the end, after step 20" in err
    )


def test_a_tokenizer_goes_with_its_card(hub: Hub, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["push", str(run / "tokenizer"), "me/words", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "vocab.txt" in said and "tags:\n- hunmin\n- tokenizer\n- korean\n" in said and "fertility" in said
    assert not hub.calls
    assert run_command(["push", str(run / "tokenizer"), "me/words", "--public"]) == 0
    files = hub.repositories["me/words"].files
    assert files["vocab.txt"] == (run / "tokenizer" / "vocab.txt").read_bytes() and b"fertility" in files["README.md"]
    assert not hub.repositories["me/words"].private
    assert run_command(["push", str(run / "corpus"), "me/words"]) == 2


@pytest.mark.parametrize(
    ("folder", "option"),
    [("tokenizer", ["--language", "ko"]), ("tokenizer", ["--scores", "s"]), ("export", ["--scores", "s"])],
)
def test_options_that_a_push_cannot_use_are_refused(
    folder: str, option: list[str], run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["push", str(run / folder), "me/words", "--dry-run", *option]) == 2
    assert " ".join(option) in capsys.readouterr().err


def test_licence_title_and_language_are_set_after_a_run_is_finished(
    hub: Hub, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command that made it, which does no stage again, or for one upload."""
    copy = copy_run(run, tmp_path / "run")
    recipe, push = str(run.parent / "recipe.yaml"), ["push", str(copy), "me/mini", "--dry-run"]
    plain = [f"out={copy}", "hub.license=null"]
    assert run_command(["run", recipe, *plain, "--until", "export"]) == 0 and "begins" not in capsys.readouterr().err
    assert run_command(push) == 0
    said = capsys.readouterr()
    assert "warning: the card states no licence: give --license NAME" in " ".join(said.err.split())
    assert "license:" not in said.out and "\n# mini\n" in said.out

    given = [f"out={copy}", "hub.license=mit", "name=작은 모델", "hub.language=ko"]
    assert run_command(["run", recipe, *given, "--until", "export"]) == 0 and "begins" not in capsys.readouterr().err
    assert run_command(push) == 0
    said = capsys.readouterr()
    assert "license: mit\n" in said.out and "\n# 작은 모델\n" in said.out and "## 사용법" in said.out
    assert "warning" not in said.err

    assert run_command([*push, "--license", "apache-2.0", "--language", "en"]) == 0
    said = capsys.readouterr().out
    assert said.count("license:") == 1 and 'license: "apache-2.0"\n' in said and "## How to use it" in said
    monkeypatch.delenv("HF_TOKEN")
    assert run_command(push) == 0 and "there is no token to push to me/mini with" in capsys.readouterr().err


def test_a_licence_for_what_has_no_recipe(hub: Hub, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["push", str(run / "tokenizer"), "me/words", "--license", "cc0-1.0"]) == 0
    assert ModelCard(hub.repositories["me/words"].files["README.md"].decode()).data.license == "cc0-1.0"
    assert "warning" not in capsys.readouterr().err
