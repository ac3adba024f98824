"""Makes the helpers of this folder importable, and keeps the user's environment out of the tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HUNMIN_PII_KEY", raising=False)
    monkeypatch.setenv("WANDB_MODE", "offline")


@pytest.fixture(autouse=True)
def _short_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test depend on how long a small run takes here; `test_replacing.py` sets its own times."""
    monkeypatch.setattr("hunmin.pipeline.redo.LONG_SECONDS", 3600.0)


@pytest.fixture(scope="session")
def mini_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `sample`, `recipe.yaml` and its finished `run`: one for all processes of the tests, and for
    all commands that are given the same folder HUNMIN_MINI_RUN, as `.ci/run` does.

    It is read only: a test that changes something copies it, or writes beside it (`mini.write_further`).
    """
    from mini import write_mini

    from hunmin.main import run_command

    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = Path(os.environ.get("HUNMIN_MINI_RUN", base)) / "mini"
    with FileLock(f"{folder}.lock"):
        if not (folder / "run" / "report.html").exists():
            folder.mkdir(exist_ok=True)
            recipe = write_mini(folder)
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("WANDB_MODE", "offline")
                assert run_command(["run", str(recipe)]) == 0
    return folder


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a run of three quick stages (`tests/hunmin/house.py`)."""
    from tests.hunmin.house import House

    return House(tmp_path, monkeypatch)
