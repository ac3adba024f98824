"""Metrics of a run: JSON Lines always, wandb beside it where a recipe names it, never a reason to fail."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any

from common.files import append_line, atomic_write, disk_errors
from common.progress import say
from common.secrets import masked_tree

STARTS = "starts.jsonl"
"""File in the logs of a run that has a line for each start of its training."""


class MetricsLog:
    """Appends rows to `metrics.jsonl`; on resume, rows after the resumed step are cut off.

    Args:
        folder: folder for logs; wandb writes below it too.
        resumed_step: optimizer steps the run already has.
        wandb_mode: "auto", "offline" or "off".
        project: wandb project.
        config: what wandb shows as the run's configuration.
    """

    def __init__(self, folder: Path, resumed_step: int, wandb_mode: str, project: str, config: dict[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "metrics.jsonl"
        kept = [row for row in read_metrics(self.path) if row["step"] <= resumed_step] if resumed_step else []
        with atomic_write(self.path) as stream:  # a kill must not cost the rows so far
            stream.writelines(json.dumps(row) + "\n" for row in kept)
        self._stream: IO[str] = self.path.open("a", encoding="utf-8")
        self._wandb = None if wandb_mode == "off" else _start_wandb(folder, wandb_mode, project, config)

    def log(self, row: dict[str, Any]) -> None:
        """Write one row; it must hold "step".

        Raises:
            DiskFullError: no space.
        """
        with disk_errors(self.path):
            self._stream.write(json.dumps(row) + "\n")
            self._stream.flush()
        self._tell(lambda run: run.log({k: v for k, v in row.items() if k != "step"}, step=row["step"]))

    def close(self) -> None:
        """Flush and end the wandb run."""
        self._stream.close()
        self._tell(lambda run: run.finish())

    def _tell(self, what: Callable[[Any], object]) -> None:
        """Have the wandb run do something; one that fails is given up."""
        if self._wandb is None:
            return
        try:
            what(self._wandb)
        except Exception as error:
            self._wandb = None
            say(f"warning: wandb failed ({type(error).__name__}); metrics continue in {self.path.name}", style="yellow")


def note_start(folder: Path, step: int, processes: int, changed: Sequence[str] = ()) -> None:
    """Append a line to starts.jsonl, and warn of other code.

    Args:
        folder: for logs.
        step: after which training begins or resumes.
        processes: that train.
        changed: how the code differs from that which wrote the checkpoint; see `common.code.code_changes`.
    """
    row: dict[str, Any] = {"time": datetime.now(timezone.utc).isoformat(timespec="seconds"), "step": step}
    row |= {"processes": processes, **({"changed": list(changed)} if changed else {})}
    if changed:
        say(f"warning: the checkpoint of step {step} was made by other code: {', '.join(changed)}", style="yellow")
    append_line(folder / STARTS, json.dumps(row))


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a metrics file; a last line that a kill cut short is left out."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        with suppress(ValueError):
            rows.append(json.loads(line))
    return rows


def _start_wandb(folder: Path, mode: str, project: str, config: dict[str, Any]) -> Any:
    """Return a wandb run, online only when the user is logged in, or None (with a word) when wandb cannot start."""
    os.environ.setdefault("WANDB_SILENT", "true")
    try:
        import wandb

        chosen = os.environ.get("WANDB_MODE")
        if chosen is None:
            logged_in = bool(os.environ.get("WANDB_API_KEY")) or _has_netrc_login()
            chosen = "online" if mode == "auto" and logged_in else "offline"
        settings = wandb.Settings(silent=True, console="off", init_timeout=30, **_private(wandb.Settings))
        return wandb.init(
            project=project, dir=str(folder), config=masked_tree(config), mode=chosen, settings=settings,  # type: ignore[arg-type]
            id=_run_id(folder), resume="allow",
        )  # fmt: skip
    except Exception as error:
        say(f"warning: wandb did not start ({type(error).__name__}); metrics go to metrics.jsonl alone", style="yellow")
        return None


def _private(settings: Any) -> dict[str, Any]:
    """Return the settings by which wandb sends what it is told and nothing else: no command line, machine or code."""
    switches = ("x_disable_stats", "x_disable_meta", "x_disable_machine_info", "disable_git", "disable_code")
    wanted: dict[str, Any] = dict.fromkeys((*switches, "disable_job_creation"), True)
    wanted |= {"save_code": False, "x_save_requirements": False, "host": "", "program": ""}
    return {name: value for name, value in wanted.items() if name in settings.model_fields}


def _run_id(folder: Path) -> str:
    """Return the id of the wandb run whose logs are in `folder`: a run that resumes continues with its curves."""
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
