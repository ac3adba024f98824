"""Makes the helpers of this folder importable, and keeps the user's environment out of the tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HUNMIN_PII_KEY", raising=False)
    monkeypatch.setenv("WANDB_MODE", "offline")
