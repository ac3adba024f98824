"""Metrics: rows that a resumed run has seen, and a wandb that fails without the run."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from common.errors import DiskFullError
from common.settings import Settings
from embed.settings import EmbedSettings
from pretrain.callbacks import metrics
from pretrain.callbacks.log_window import LogWindow
from pretrain.callbacks.metrics import MetricsLog, read_metrics
from pretrain.objectives.registry import OBJECTIVES
from pretrain.settings import PretrainSettings
from pretrain.tuning.settings import TuneSettings


def test_a_wandb_that_dies_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []

    def fail(*arguments: Any, **options: Any) -> None:
        asked.append(arguments)
        raise ConnectionResetError

    monkeypatch.setattr(metrics, "_start_wandb", lambda *_: SimpleNamespace(log=fail, finish=fail))
    log = MetricsLog(tmp_path, 0, "offline", "p", {})
    for step in (1, 2):
        log.log({"step": step})
    log.close()
    assert [row["step"] for row in read_metrics(tmp_path / "metrics.jsonl")] == [1, 2]
    assert len(asked) == 1 and capsys.readouterr().err.count("wandb failed (ConnectionResetError)") == 1


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path, 0, "off", "p", {})

    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    log._stream = SimpleNamespace(write=lambda _: None, flush=full)  # type: ignore[assignment]
    with pytest.raises(DiskFullError, match=r"metrics\.jsonl"):
        log.log({"step": 1})


@pytest.mark.parametrize("stage", [PretrainSettings, EmbedSettings, TuneSettings])
def test_wandb_is_off_unless_a_recipe_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: type[Settings]
) -> None:
    """Also for whoever is logged in."""
    wandb = pytest.importorskip("wandb")
    begun: list[Any] = []
    monkeypatch.setattr(wandb, "init", lambda **options: begun.append(options["mode"]))
    monkeypatch.setenv("WANDB_API_KEY", "an-invented-key")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    chosen = stage.model_fields["wandb"].default
    MetricsLog(tmp_path / "unnamed", 0, chosen, "p", {}).close()
    assert begun == []
    MetricsLog(tmp_path / "named", 0, "auto", "p", {}).close()
    assert begun == ["online"]


def test_a_resumed_run_goes_on_with_its_wandb_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")
    begun: list[dict[str, Any]] = []
    monkeypatch.setattr(wandb, "init", lambda **options: begun.append(options))
    for name in ("one", "one", "two"):
        MetricsLog(tmp_path / name, 0, "offline", "p", {}).close()
    assert begun[0]["id"] == begun[1]["id"] != begun[2]["id"]
    assert {options["resume"] for options in begun} == {"allow"}


def test_wandb_is_sent_neither_the_command_line_nor_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Command lines hold keys and passwords."""
    wandb = pytest.importorskip("wandb")
    begun: list[dict[str, Any]] = []
    monkeypatch.setattr(wandb, "init", lambda **options: begun.append(options))
    MetricsLog(tmp_path, 0, "offline", "p", {"data": "http://lee:PwInvented@h/x"}).close()
    settings = begun[0]["settings"]
    assert settings.x_disable_meta and settings.x_disable_machine_info and settings.x_disable_stats
    assert settings.disable_git and settings.disable_code and not settings.save_code and not settings.host
    assert "PwInvented" not in str(begun)


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
