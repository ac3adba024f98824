"""Watching a run with fine-tuning that only pretends: what fails, what a kill leaves, scores of other settings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from common.errors import HunminError, UserError
from common.lock import locked
from hunmin.main import run_command
from hunmin.pipeline import watch as module
from hunmin.recipes.recipe import Recipe, save_recipe
from klue.results import metrics_of
from pretrain.callbacks.checkpoint_metadata import write_metadata
from pretrain.callbacks.metrics import read_metrics


class Run:
    """A run folder with checkpoints 10, 20 and 30; fine-tuning fails at the steps in `broken`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.broken, self.did = folder / "run", {20}, list[int]()
        self.problem: HunminError = HunminError("1 of 8 fine-tuning jobs failed\n  - ynat-pretrained-42: killed")
        self.meanwhile = lambda: None
        """What happens while a checkpoint is fine-tuned."""
        self.train("pretrain.partial")
        tree = {"name": "t", "out": str(self.folder), "corpus": {"inputs": ["x"]}, "pretrain": {"wandb": "off"}}
        recipe = Recipe.model_validate({**tree, "klue": {"data": "y", "tasks": ["ynat"]}})
        save_recipe(recipe, self.folder / "recipe.yaml")
        monkeypatch.setattr("pretrain.export.export_checkpoint", self._export)
        monkeypatch.setattr("hunmin.pipeline.watch.run_klue", self._score)

    @property
    def out(self) -> Path:
        return self.folder / "watch"

    def train(self, folder: str, fingerprint: str = "first", steps: tuple[int, ...] = (10, 20, 30)) -> Path:
        """Leave checkpoints of a training, whose identity is `fingerprint`, and return their folder."""
        for step in steps:
            checkpoint = self.folder / folder / "checkpoints" / f"step-{step:08d}"
            checkpoint.mkdir(parents=True)
            mark = {"step": step, "tokens": 100 * step, "fingerprint": fingerprint, "files": {}}
            write_metadata(checkpoint, mark)
        return self.folder / folder

    def _export(self, checkpoint: Path, *rest: Any) -> None:
        fingerprint = json.loads((checkpoint / "complete.json").read_bytes())["fingerprint"]
        rest[-1].mkdir(parents=True)  # nothing may be there
        (rest[-1] / "config.json").write_text(fingerprint)

    def _score(self, settings: Any, model: Path, out: Path, jobs: Path, test: bool) -> dict[str, Any]:
        assert not test  # a test set is not looked at for each checkpoint
        step = int(model.parent.name.removeprefix("step-"))
        self.meanwhile()
        if step in self.broken:
            raise self.problem
        self.did.append(step)
        score = 50.0 + step + settings.training.epochs + len((model / "config.json").read_text()) - len("first")
        best = {name: {"mean": score, "sd": None, "n": 1} for name in metrics_of("ynat")}
        return {"scores": [{"task": "ynat", "init": "pretrained", "n": 1, "best": best, "last": best}]}

    def go(self, epochs: int = 1) -> list[int]:
        """Return the steps scored by a command that looks once."""
        self.did.clear()
        module.watch(self.folder, [f"klue.training.epochs={epochs}"], True, 1)
        return list(self.did)

    def rows(self) -> list[tuple[int, float]]:
        lines = (self.out / "scores.jsonl").read_text("utf-8").splitlines()
        return [(row["step"], row["best"]["macro_f1"]["mean"]) for row in map(json.loads, lines)]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(tmp_path, monkeypatch)


def test_a_failing_checkpoint_is_reported_and_the_others_are_scored(
    run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["klue", "watch", str(run.folder), "--once", "klue.training.epochs=1"]) == 1
    said = capfd.readouterr().err
    assert "step 20 failed: 1 of 8 fine-tuning jobs failed" in said
    assert "checkpoints without scores: 1\n  - step 20: 1 of 8" in said and "Traceback" not in said
    assert run.did == [10, 30] and run.rows() == [(10, 61.0), (30, 81.0)]
    assert (run.out / "scores.png").stat().st_size > 5000
    run.broken.clear()
    assert run.go() == [20] and run.rows() == [(10, 61.0), (20, 71.0), (30, 81.0)]
    rows = read_metrics(run.out / "metrics.jsonl")
    assert [(row["step"], row["tokens"]) for row in rows] == [(10, 1000), (20, 2000), (30, 3000)]
    assert run.go() == [] and not list(run.out.glob("step-*/model*"))


def test_wrong_data_end_it_at_once(run: Run) -> None:
    run.problem = UserError("no dev file of ynat")
    with pytest.raises(UserError, match="no dev file"):
        run.go()
    assert run.did == [10] and run.rows() == [(10, 61.0)]


def test_scores_are_written_after_each_and_made_up_for_after_a_kill(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.broken.clear()
    real, calls = module.write_scores, []

    def killed(folder: Path, rows: list[dict[str, Any]]) -> None:
        calls.append([row["step"] for row in rows])
        if len(rows) == 3:
            raise KeyboardInterrupt
        real(folder, rows)

    monkeypatch.setattr(module, "write_scores", killed)
    with pytest.raises(KeyboardInterrupt):
        run.go()
    assert calls == [[], [10], [10, 20], [10, 20, 30]] and len(run.rows()) == 2
    monkeypatch.setattr(module, "write_scores", real)
    assert run.go() == [] and len(run.rows()) == 3
    (run.out / "scores.png").unlink()
    assert run.go() == [] and (run.out / "scores.png").is_file()
    before = (run.out / "scores.png").stat().st_mtime_ns
    assert run.go() == [] and (run.out / "scores.png").stat().st_mtime_ns == before


def test_scores_by_other_settings_are_left_out(run: Run) -> None:
    with pytest.raises(HunminError):
        run.go()
    run.broken = {30}
    with pytest.raises(HunminError, match="step 30"):
        run.go(epochs=4)
    assert run.rows() == [(10, 64.0), (20, 74.0)]  # 30 has only the first settings' scores


def test_going_back_to_earlier_settings_scores_nothing(run: Run) -> None:
    run.broken.clear()
    assert run.go() == [10, 20, 30] and run.go(epochs=4) == [10, 20, 30]
    assert run.rows() == [(10, 64.0), (20, 74.0), (30, 84.0)]
    assert run.go() == [] and run.rows() == [(10, 61.0), (20, 71.0), (30, 81.0)]


@pytest.mark.parametrize("text", ["", '{"step": 20, "tok', "not JSON at all", "[]", '{"scores": 3}', "null"])
def test_scores_that_are_damaged_are_made_again(text: str, run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    run.broken.clear()
    run.go()
    before = (run.out / "scores.jsonl").read_bytes()
    [file] = (run.out / "step-00000020").glob("*.json")
    whole = file.read_bytes()
    file.write_text(text)
    assert run_command(["klue", "watch", str(run.folder), "--once", "klue.training.epochs=1"]) == 0
    assert run.did == [10, 20, 30, 20] and "Traceback" not in capfd.readouterr().err
    assert file.read_bytes() == whole and (run.out / "scores.jsonl").read_bytes() == before


def test_a_folder_whose_name_is_a_number(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run.folder.parent)
    (run.folder.parent / "2026").symlink_to(run.folder)
    run.broken.clear()
    module.watch(Path("2026"), ["klue.training.epochs=1"], True, 1)
    assert run.did == [10, 20, 30]


def test_two_commands_do_not_watch_one_run(run: Run) -> None:
    with locked(run.out), pytest.raises(UserError, match="another command is at work"):
        run.go()


def test_a_run_that_is_trained_anew_is_scored_anew(run: Run) -> None:
    run.broken.clear()
    finished = run.folder / "pretrain"
    (run.folder / "pretrain.partial").rename(finished)
    assert run.go() == [10, 20, 30]
    # the new training stands beside the old one until it has ended, and another command's export was killed
    partial = run.train("pretrain.partial", "the second", (10, 20))
    (run.out / "step-00000010" / "model").mkdir()
    assert run.go() == [10, 20] and run.rows() == [(10, 66.0), (20, 76.0)]
    finished.rename(run.folder / "elsewhere")
    partial.rename(finished)
    assert run.go() == []


def test_a_training_that_ends_meanwhile_is_scored_to_its_end(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    run.broken.clear()
    partial = run.folder / "pretrain.partial"
    run.meanwhile = lambda: partial.rename(run.folder / "pretrain") if partial.exists() else None
    assert run.go() == [10, 20, 30]
    assert "is gone" not in capfd.readouterr().err


def test_a_checkpoint_that_training_removes_is_passed_over(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    run.broken.clear()
    removed = run.folder / "pretrain.partial" / "checkpoints" / "step-00000020"
    run.meanwhile = lambda: shutil.rmtree(removed, ignore_errors=True)
    assert run.go() == [10, 30]
    assert "checkpoint 20 is gone before its turn" in capfd.readouterr().err
