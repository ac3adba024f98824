"""A small token folder and tokenizer folder for the pretraining tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from small_tokens import make_tokenizer, make_tokens
from training_runs import train


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tokens(tmp_path_factory.mktemp("data") / "tokens")


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tokenizer(tmp_path_factory.mktemp("data") / "tokenizer")


@pytest.fixture(scope="session")
def straight(tmp_path_factory: pytest.TempPathFactory, tokens: Path, tokenizer: Path) -> Path:
    """A run that nothing disturbs, started as `hunmin run` starts it; read only."""
    out = tmp_path_factory.mktemp("straight")
    train(out, tokens, tokenizer, stderr=subprocess.PIPE)
    return out
