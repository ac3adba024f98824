"""The ablation compares runs of equally many tokens only, and reads its figures from their manifests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import ablate_filters
from ablate_filters import NAMES, main, measured, refuse_unequal

from common.errors import HunminError, UserError
from common.manifest import Manifest, write_manifest


def finished(run: Path, tokens: int) -> Path:
    counts = {
        "corpus": {"documents": 7, "bytes": 2_500_000},
        "pretrain": {"tokens": tokens, "epochs": 1.5},
        "klue": {"scores": [{"task": "ynat", "mean": 61.0}]},
    }
    for stage, found in counts.items():
        (run / stage).mkdir(parents=True)
        write_manifest(run / stage, Manifest(stage=stage, settings={}, inputs={}, outputs={}, counts=found))
    return run


def test_figures_come_from_the_manifests(tmp_path: Path) -> None:
    found = measured(finished(tmp_path, 1000))
    assert found == {
        "documents": 7, "megabytes": 2.5, "tokens": 1000, "epochs": 1.5, "scores": [{"task": "ynat", "mean": 61.0}]
    }  # fmt: skip


def test_runs_of_different_numbers_of_tokens_are_not_compared() -> None:
    refuse_unequal({NAMES[0]: {"tokens": 100_000}, NAMES[1]: {"tokens": 99_950}})
    with pytest.raises(HunminError, match="100,000 and 98,000 tokens"):
        refuse_unequal({NAMES[0]: {"tokens": 100_000}, NAMES[1]: {"tokens": 98_000}})


def test_a_mistake_in_the_filters_is_told_before_anything_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ablate_filters, "run_recipe", lambda *_, **__: pytest.fail("a run began"))
    words = ["configs/quickstart.yaml", "--filters", "[lenght]", "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["ablate_filters.py", *words])
    with pytest.raises(UserError, match="lenght"):
        main()
