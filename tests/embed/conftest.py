"""A tiny encoder, files of rows, and runs of tuning in this process."""

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
from tiny_encoders import distilled, pairs, scored, write_encoder, write_job, write_lines

from common.settings import parse_settings
from embed.settings import EmbedSettings
from tests.in_process import restored, tuned

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
    with restored():
        yield


@pytest.fixture
def run() -> Run:
    """Return a function that tunes in this process, stopped after a step where one is named."""
    pytest.importorskip("sentence_transformers")

    def start(
        base: Path, data: list[dict[str, Any]], out: Path, stop_at: int | None = None, reranker: bool = False,
        **changes: Any,
    ) -> Path:  # fmt: skip
        from embed.train import tune_embeddings

        job = json.loads(write_job(out, base, data, **changes).read_text())
        settings = parse_settings(EmbedSettings, job["settings"], "test")
        return tuned(lambda: tune_embeddings(settings, base, out, "tiny", reranker), out, stop_at)

    return start
