"""A tiny encoder, files of rows, and runs of tuning in this process."""

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
from tiny_encoders import distilled, pairs, scored, write_encoder, write_job, write_lines

from common.settings import parse_settings
from embed.settings import EmbedSettings

SHARED = Path(os.environ.get("HUNMIN_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data")
Run = Callable[..., Path]


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("bases") / "tiny")


@pytest.fixture(scope="session")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Entries of `embed.data` by shape."""
    folder = tmp_path_factory.mktemp("rows")
    plain = [{"query": row["query"], "positive": row["positive"]} for row in pairs(40, 2)]
    return {
        "pairs": {"path": str(write_lines(folder / "pairs.jsonl", plain))},
        "triplets": {"path": str(write_lines(folder / "triplets.jsonl", pairs(60)))},
        "scored": {"path": str(write_lines(folder / "scored.jsonl", scored(30))), "range": [0, 5]},
        "distilled": {"path": str(write_lines(folder / "distilled.jsonl", distilled(24)))},
    }


@pytest.fixture
def shared() -> list[str]:
    """Folders of the authors' sets; tests skip without them."""
    if not (SHARED / "klue").is_dir() or not (SHARED / "benchmarks").is_dir():
        pytest.skip("no shared data")
    return [str(SHARED / "klue"), str(SHARED / "benchmarks")]


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
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that tunes in this process, stopped after a step where one is named."""
    pytest.importorskip("sentence_transformers")

    def start(
        base: Path, data: list[dict[str, Any]], out: Path, stop_at: int | None = None, reranker: bool = False,
        **changes: Any,
    ) -> Path:  # fmt: skip
        from embed.train import tune_embeddings
        from pretrain.callbacks.hf_trainer import Follow

        end_of_step = Follow.on_step_end

        def stopping(self: Any, args: Any, state: Any, control: Any, **given: Any) -> None:
            self.stop.asked = state.global_step == stop_at
            end_of_step(self, args, state, control, **given)

        job = json.loads(write_job(out, base, data, **changes).read_text())
        with monkeypatch.context() as patch:
            patch.setattr(Follow, "on_step_end", stopping)
            counts = tune_embeddings(
                parse_settings(EmbedSettings, job["settings"], "test"), base, out, "tiny", reranker
            )
        assert (counts is None) == (out / "logs" / "stopped").exists() == (stop_at is not None)
        (out / "logs" / "stopped").unlink(missing_ok=True)
        return out

    return start
