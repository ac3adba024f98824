"""Bases and a build for the tests of tuning, and runs of it in this process."""

from __future__ import annotations

import json
import os
import signal
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
    """Undo what a run sets in this process."""
    import torch

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    environment, threads = dict(os.environ), torch.get_num_threads()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    os.environ.clear()
    os.environ.update(environment)
    torch.set_num_threads(threads)


@pytest.fixture
def run(build: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that tunes in this process, stopped after a step where one is named."""

    def start(base: Path, out: Path, stop_at: int | None = None, instructions: Path = build, **changes: Any) -> Path:
        from pretrain.callbacks.hf_trainer import Follow

        end_of_step = Follow.on_step_end

        def stopping(self: Any, args: Any, state: Any, control: Any, **arguments: Any) -> None:
            self.stop.asked = state.global_step == stop_at
            end_of_step(self, args, state, control, **arguments)

        job = json.loads(write_job(base, instructions, out, **changes).read_text())
        with monkeypatch.context() as patch:
            patch.setattr(Follow, "on_step_end", stopping)
            counts = tune(parse_settings(TuneSettings, job["settings"], "test"), instructions, out)
        assert (counts is None) == (out / "logs" / "stopped").exists() == (stop_at is not None)
        (out / "logs" / "stopped").unlink(missing_ok=True)
        return out

    return start
