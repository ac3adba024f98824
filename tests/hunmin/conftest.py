"""Makes the helpers of this folder importable, and keeps the user's environment out of the tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HUNMIN_PII_KEY", raising=False)
    monkeypatch.setenv("WANDB_MODE", "offline")


@pytest.fixture(autouse=True)
def _short_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test depend on how long a small run takes here; `test_replacing.py` sets its own times."""
    monkeypatch.setattr("hunmin.replacing.LONG_SECONDS", 3600.0)


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a run of three quick stages (`tests/hunmin/house.py`)."""
    from tests.hunmin.house import House

    return House(tmp_path, monkeypatch)
