"""Bases and a build for the tests of tuning, and runs of it in this process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("DS_ACCELERATOR", "cpu")
from tiny_decoders import write_base, write_build, write_job

from common.settings import parse_settings
from pretrain.tuning.settings import TuneSettings
from pretrain.tuning.train import tune
from tests.in_process import restored, tuned

Run = Callable[..., Path]


@pytest.fixture(scope="session")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("bases")
    return {kind: write_base(folder / kind, kind) for kind in ("gpt_neox", "llama")}


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_build(tmp_path_factory.mktemp("build"))


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    with restored():
        yield


@pytest.fixture
def run(build: Path) -> Run:
    """Return a function that tunes in this process, stopped after a step where one is named."""

    def start(base: Path, out: Path, stop_at: int | None = None, instructions: Path = build, **changes: Any) -> Path:
        job = json.loads(write_job(base, instructions, out, **changes).read_text())
        settings = parse_settings(TuneSettings, job["settings"], "test")
        return tuned(lambda: tune(settings, instructions, out), out, stop_at)

    return start
