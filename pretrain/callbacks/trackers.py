"""Trackers: services and files that show a run's metrics beside `metrics.jsonl`, all through wandb's two methods."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from numbers import Real
from pathlib import Path
from typing import Any, Protocol

from common.extras import require
from common.files import atomic_write
from common.progress import say
from common.secrets import masked_tree


class Tracker(Protocol):
    """A run of a tracker."""

    def log(self, values: dict[str, Any], step: int) -> object:
        """Take the metrics of a step."""

    def finish(self) -> object:
        """Hand on what is left, and end."""


def trackers_of(s: Any) -> list[str]:
    """Return the names of the trackers that settings ask for, by `tracking` and `wandb`."""
    return list(dict.fromkeys([*s.tracking, *(["wandb"] if s.wandb != "off" else [])]))


def require_trackers(s: Any) -> None:
    """Raise a UserError where the package of a tracker in `tracking` is not installed."""
    for name in s.tracking:
        if name != "wandb":  # it comes with hunmin
            require(name, f"tracking: {name}", name)


def start_trackers(settings: Any, folder: Path, resumed_step: int, config: dict[str, Any]) -> dict[str, Tracker]:
    """Return the trackers that settings ask for, by name; one that cannot start is left out with a warning."""
    os.environ.setdefault("WANDB_SILENT", "true")
    shown = masked_tree(config)
    starts: dict[str, Callable[[], Tracker]] = {
        "wandb": lambda: _start_wandb(folder, settings.wandb, settings.wandb_project, shown),
        "trackio": lambda: _Trackio(folder, settings.wandb_project, shown),
        "tensorboard": lambda: _TensorBoard(folder, resumed_step, shown),
    }
    started: dict[str, Tracker] = {}
    for name in trackers_of(settings):
        try:
            started[name] = starts[name]()
        except Exception as error:
            fault = f"{name} did not start ({type(error).__name__})"
            say(f"warning: {fault}; metrics go to metrics.jsonl alone", style="yellow")
    return started


def _start_wandb(folder: Path, mode: str, project: str, config: Any) -> Any:
    import wandb

    chosen = os.environ.get("WANDB_MODE")
    if chosen is None:
        logged_in = bool(os.environ.get("WANDB_API_KEY")) or _has_netrc_login()
        chosen = "online" if mode != "offline" and logged_in else "offline"
    settings = wandb.Settings(silent=True, console="off", init_timeout=30, **_privacy_options(wandb.Settings))
    return wandb.init(
        project=project, dir=str(folder), config=config, mode=chosen, settings=settings,  # type: ignore[arg-type]
        id=_run_id(folder), resume="allow",
    )  # fmt: skip


def _privacy_options(settings: Any) -> dict[str, Any]:
    """Return the settings by which wandb sends what it is told and nothing else: no command line, machine or code."""
    switches = ("x_disable_stats", "x_disable_meta", "x_disable_machine_info", "disable_git", "disable_code")
    options: dict[str, Any] = dict.fromkeys((*switches, "disable_job_creation"), True)
    options |= {"save_code": False, "x_save_requirements": False, "host": "", "program": ""}
    return {name: value for name, value in options.items() if name in settings.model_fields}


def _run_id(folder: Path) -> str:
    """Return the id of the run whose logs are in `folder`: a run that resumes continues with its curves."""
    path = folder / "wandb-id"
    if not path.exists():
        with atomic_write(path) as stream:
            stream.write(secrets.token_hex(4))
    return path.read_text(encoding="utf-8")


def _has_netrc_login() -> bool:
    import netrc

    try:
        return netrc.netrc().authenticators("api.wandb.ai") is not None
    except (OSError, netrc.NetrcParseError):
        return False


class _Trackio:
    """A run of trackio, which prints to stdout what belongs to stderr."""

    def __init__(self, folder: Path, project: str, config: Any) -> None:
        with redirect_stdout(sys.stderr):
            import trackio

            self._run = trackio.init(
                project=project, name=_run_id(folder), config=config, resume="allow", embed=False, auto_log_gpu=False,
                auto_log_cpu=False,
            )  # fmt: skip

    def log(self, values: dict[str, Any], step: int) -> None:
        self._run.log(values, step=step)

    def finish(self) -> None:
        import trackio

        with redirect_stdout(sys.stderr):
            trackio.finish()  # the run's own method leaves it to be finished anew as Python ends


class _TensorBoard:
    """Event files in logs/tensorboard; curves of a resumed run lose what came after its checkpoint."""

    def __init__(self, folder: Path, resumed_step: int, config: Any) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder / "tensorboard"), purge_step=resumed_step + 1)
        text = json.dumps(config, ensure_ascii=False, indent=1)
        self._writer.add_text("config", f"```\n{text}\n```", resumed_step + 1)

    def log(self, values: dict[str, Any], step: int) -> None:
        for name, value in values.items():
            if isinstance(value, Real):  # names of objectives and hosts are none
                self._writer.add_scalar(name, float(value), step)
        self._writer.flush()

    def finish(self) -> None:
        self._writer.close()
