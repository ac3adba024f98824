"""Metrics: rows that a resumed run has seen, and trackers, of which none sends what it was not told or ends a run."""

import errno
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch
from pydantic import TypeAdapter, ValidationError

from common.errors import DiskFullError, UserError
from common.settings import Settings
from embed.settings import EmbedSettings
from pretrain.callbacks import trackers
from pretrain.callbacks.metrics import MetricsLog, read_metrics
from pretrain.callbacks.training_log import LogWindow
from pretrain.objectives.registry import OBJECTIVES
from pretrain.settings import PretrainSettings
from pretrain.tuning.settings import TuneSettings


class Asked(NamedTuple):
    """What settings say of trackers."""

    tracking: list[str]
    wandb: str
    wandb_project: str


def asked(*tracking: str, wandb: str = "off") -> Asked:
    return Asked([*tracking], wandb, "p")


def test_a_wandb_that_dies_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[Any] = []

    def fail(*arguments: Any, **options: Any) -> None:
        calls.append(arguments)
        raise ConnectionResetError

    monkeypatch.setattr(trackers, "_start_wandb", lambda *_: SimpleNamespace(log=fail, finish=fail))
    log = MetricsLog(tmp_path, 0, asked(wandb="offline"), {})
    for step in (1, 2):
        log.log({"step": step})
    log.close()
    assert [row["step"] for row in read_metrics(tmp_path / "metrics.jsonl")] == [1, 2]
    assert len(calls) == 1 and capsys.readouterr().err.count("wandb failed (ConnectionResetError)") == 1


@pytest.mark.parametrize("resumed", range(4))
def test_a_resumed_log_has_the_rows_up_to_its_step(resumed: int, tmp_path: Path) -> None:
    log = MetricsLog(tmp_path, 0, asked(), {})
    for step in (1, 2, 3):
        log.log({"step": step})
    log.close()
    MetricsLog(tmp_path, resumed, asked(), {}).close()
    assert [row["step"] for row in read_metrics(tmp_path / "metrics.jsonl")] == [*range(1, resumed + 1)]


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path, 0, asked(), {})

    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    log._stream = SimpleNamespace(write=lambda _: None, flush=full)  # type: ignore[assignment]
    with pytest.raises(DiskFullError, match=r"metrics\.jsonl"):
        log.log({"step": 1})


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The options of each run that wandb is asked to begin."""
    begun: list[dict[str, Any]] = []
    monkeypatch.setattr(pytest.importorskip("wandb"), "init", lambda **options: begun.append(options))
    return begun


@pytest.mark.parametrize("stage", [PretrainSettings, EmbedSettings, TuneSettings])
def test_wandb_is_off_unless_a_recipe_names_it(
    begun: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: type[Settings]
) -> None:
    """Also for whoever is logged in."""
    monkeypatch.setenv("WANDB_API_KEY", "an-invented-key")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    unnamed = {name: stage.model_fields[name].get_default(call_default_factory=True) for name in asked()._fields}
    MetricsLog(tmp_path / "unnamed", 0, Asked(**unnamed), {}).close()
    assert begun == []
    MetricsLog(tmp_path / "named", 0, asked(wandb="auto"), {}).close()
    MetricsLog(tmp_path / "tracked", 0, asked("wandb"), {}).close()
    MetricsLog(tmp_path / "both", 0, asked("wandb", wandb="offline"), {}).close()
    assert [options["mode"] for options in begun] == ["online", "online", "offline"]


def test_a_resumed_run_goes_on_with_its_wandb_run(begun: list[Any], tmp_path: Path) -> None:
    for name in ("one", "one", "two"):
        MetricsLog(tmp_path / name, 0, asked(wandb="offline"), {}).close()
    assert begun[0]["id"] == begun[1]["id"] != begun[2]["id"]
    assert {options["resume"] for options in begun} == {"allow"}


def test_wandb_is_sent_neither_the_command_line_nor_the_machine(begun: list[Any], tmp_path: Path) -> None:
    """Command lines hold keys and passwords."""
    MetricsLog(tmp_path, 0, asked(wandb="offline"), {"data": "http://lee:PwInvented@h/x"}).close()
    settings = begun[0]["settings"]
    assert settings.x_disable_meta and settings.x_disable_machine_info and settings.x_disable_stats
    assert settings.disable_git and settings.disable_code and not settings.save_code and not settings.host
    assert "PwInvented" not in str(begun)


SECRET = {"data": "http://lee:PwInvented@h/x", "step": 1}
ROWS = ({"step": 1, "loss": 4.0, "objective": "mlm"}, {"step": 2, "loss": 3.0}, {"step": 3, "loss": 2.0})


def test_tensorboard_shows_the_curves_of_a_resumed_run(tmp_path: Path) -> None:
    """Read back by TensorBoard's own reader: numbers alone, and nothing that came after the resumed step."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    killed = MetricsLog(tmp_path, 0, asked("tensorboard"), SECRET)
    for row in ROWS:
        killed.log(row)
    resumed = MetricsLog(tmp_path, 1, asked("tensorboard"), SECRET)
    resumed.log({"step": 2, "loss": 2.5})
    resumed.close()
    seen = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert seen.Tags()["scalars"] == ["loss"]
    assert [(event.step, event.value) for event in seen.Scalars("loss")] == [(1, 4.0), (2, 2.5)]
    written = b"".join(path.read_bytes() for path in (tmp_path / "tensorboard").iterdir())
    assert b"PwInvented" not in written and b'"data"' in written


def test_trackio_keeps_one_run_and_leaves_stdout_alone(tmp_path: Path) -> None:
    """In a program of its own, since trackio reads where it writes as it is imported."""
    pytest.importorskip("trackio")
    program = f"""
from pathlib import Path
from tests.pretrain.callbacks.test_metrics import ROWS, SECRET, MetricsLog, asked
for resumed, rows in ((0, ROWS[:2]), (2, ROWS[2:])):
    log = MetricsLog(Path({str(tmp_path / "logs")!r}), resumed, asked("trackio"), SECRET)
    for row in rows:
        log.log(row)
    log.close()
"""
    places = {"TRACKIO_DIR": str(tmp_path / "trackio"), "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **places, "HF_HUB_OFFLINE": "1"}, capture_output=True,
        text=True, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "") and "warning" not in done.stderr, done.stderr
    (database,) = (tmp_path / "trackio").glob("p*.db")
    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT run_name, step, metrics FROM metrics ORDER BY step").fetchall()
    assert len({name for name, _, _ in rows}) == 1
    assert [(step, json.loads(values)["loss"]) for _, step, values in rows] == [(1, 4.0), (2, 3.0), (3, 2.0)]
    assert all(b"PwInvented" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_trackers_get_the_same_rows_and_one_that_fails_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of stand-ins for all three."""
    calls: list[Any] = []

    class Recorder:
        def __init__(self, name: str) -> None:
            self.name = name

        def log(self, values: dict[str, Any], step: int) -> None:
            if self.name == "trackio" and step == 2:
                raise TimeoutError
            calls.append((self.name, step, values["loss"]))

        def finish(self) -> None:
            calls.append((self.name, "finish"))

    for start, name in (("_start_wandb", "wandb"), ("_Trackio", "trackio"), ("_TensorBoard", "tensorboard")):
        monkeypatch.setattr(trackers, start, lambda *_, name=name: Recorder(name))
    monkeypatch.setattr(trackers, "require", lambda *_: None)
    log = MetricsLog(tmp_path, 0, asked("trackio", "tensorboard", wandb="auto"), {})
    for row in ROWS:
        log.log(row)
    log.close()
    both = [(name, row["step"], row["loss"]) for row in ROWS for name in ("tensorboard", "wandb")]
    assert calls == [("trackio", 1, 4.0), *both, ("tensorboard", "finish"), ("wandb", "finish")]
    assert capsys.readouterr().err.count("trackio failed (TimeoutError)") == 1


def test_a_tracker_that_is_not_installed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.extras.find_spec", lambda name: None)
    with pytest.raises(UserError, match="tracking: trackio needs trackio, which is not installed") as refused:
        MetricsLog(tmp_path, 0, asked("trackio"), {})
    assert "[trackio]" in str(refused.value)
    MetricsLog(tmp_path, 0, asked(), {}).close()


@pytest.mark.parametrize("stage", [PretrainSettings, EmbedSettings, TuneSettings])
def test_one_tracker_needs_no_list(stage: type[Settings]) -> None:
    field = TypeAdapter(stage.model_fields["tracking"].rebuild_annotation())
    assert field.validate_python("trackio") == ["trackio"]
    with pytest.raises(ValidationError, match="'wandb', 'trackio' or 'tensorboard'"):
        field.validate_python(["mlflow"])


def test_a_window_counts_what_was_accepted_and_goes_on_after_a_checkpoint() -> None:
    device = torch.device("cpu")
    totals = torch.tensor([6.0, 1, 3, 60, 64], dtype=torch.float64)
    names, means = ("loss", "correct", "predicted", "tokens", "positions"), OBJECTIVES["mlm"].figures
    whole = LogWindow(device, names, {})
    for _ in range(3):
        whole.add(totals)
    half = LogWindow(device, names, {})
    half.add(totals)
    state = half.state()
    assert state["tokens"] == 60
    rest = LogWindow(device, names, state)
    for _ in range(2):
        rest.add(totals)
    lines = [window.line(means) for window in (whole, rest)]
    for line in lines:
        assert line["loss"] == 2 and line["tokens"] == 180 and line["padding"] == round(1 - 60 / 64, 5)
    whole.add(torch.zeros(5, dtype=torch.float64))  # a batch that was skipped
    assert whole.line(means)["tokens"] == 180
    assert whole.line(means)["padding"] == 0 and "loss" not in whole.line(means)  # every batch was skipped
