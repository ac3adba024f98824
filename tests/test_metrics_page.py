"""docs/metrics.md defines every figure that training logs, and none that it does not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from klue.tasks import TASKS
from pretrain.callbacks.metrics import read_metrics
from pretrain.parallel.monitor import report

sys.path.insert(0, str(Path(__file__).parent / "pretrain"))
from small_tokens import make_tokenizer, make_tokens
from training_runs import train

DOCS = Path(__file__).parents[1] / "docs"
AT_TIMES = {"objective"}
"""Only in a run with two objectives (tests/pretrain/objectives/test_clm.py)."""


def named(page: str, heading: str) -> set[str]:
    """Return the names in the first column of the tables under a heading that begins so."""
    text = (DOCS / page).read_text(encoding="utf-8")
    part = next(part for part in text.split("\n## ") if part.startswith(heading))
    rows = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names in the log of a run that has all kinds of figures: two processes, sentence pairs, a loss scale."""
    folder = tmp_path_factory.mktemp("run")
    tokens, tokenizer = make_tokens(folder / "tokens"), make_tokenizer(folder / "tokenizer")
    changes = {
        "model": {"type": "bert", "layers": 1, "hidden": 16, "heads": 2},
        "objective": "mlm+nsp",
        "packing": "sentence-pairs",
        "dtype": "fp16",
        "steps": 6,
        "log_every": 3,
        "validate_every": 3,
    }
    train(folder / "out", tokens, tokenizer, processes=2, stderr=subprocess.PIPE, **changes)
    return {name for row in read_metrics(folder / "out" / "logs" / "metrics.jsonl") for name in row}


@pytest.mark.slow
@pytest.mark.parametrize(("page", "heading"), [("metrics.md", "Training"), ("metrics.ko.md", "학습: ")])
def test_what_training_logs_is_defined(logged: set[str], page: str, heading: str) -> None:
    assert named(page, heading) == logged | AT_TIMES


@pytest.mark.parametrize(("page", "heading"), [("metrics.md", "A running"), ("metrics.ko.md", "학습 중")])
def test_the_heartbeat_is_defined(page: str, heading: str) -> None:
    assert named(page, heading) == {
        *("time", "state", "steps", "failure", "failed_rank", "failure_kind"), *report([], [], [], 0, 0)
    }  # fmt: skip


@pytest.mark.parametrize("page", ["metrics.md", "metrics.ko.md"])
def test_the_scores_are_defined(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w. -]+?) \| (\**)`(\w+)`", text.split("## KLUE")[1], re.MULTILINE)
    expected = [
        (task.title, "**" if metric == task.selection else "", metric)
        for task in TASKS.values()
        for metric in (*task.metrics, *task.extra_metrics, *task.as_published.values())
    ]
    assert sorted(rows) == sorted(expected)
