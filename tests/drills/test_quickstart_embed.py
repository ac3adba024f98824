"""`make quickstart-embed`: tuning helps on the sample's invented STS, whatever the seed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from hunmin.main import run_command

pytest.importorskip("mteb")
pytest.importorskip("sentence_transformers")
pytestmark = pytest.mark.drill
RECIPE = Path(__file__).parents[2] / "configs" / "quickstart-embed.yaml"


def test_tuned_is_ten_points_above_untuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert run_command(["sample", "--out", "runs/sample"]) == 0
    assert run_command(["run", str(RECIPE), "--until", "export"]) == 0
    section = yaml.safe_load(RECIPE.read_text("utf-8"))["embed"] | {"base": "runs/quickstart-embed"}
    for seed in (42, 43, 44):
        recipe = tmp_path / f"{seed}.yaml"
        tree = {"name": "tuned", "out": f"runs/{seed}", "embed": section | {"seed": seed}}
        recipe.write_text(yaml.safe_dump(tree), encoding="utf-8")
        assert run_command(["run", str(recipe)]) == 0
        table = json.loads(Path(f"runs/{seed}/embed/scores/table.json").read_bytes())
        scores = {row["model"]: row["scores"]["KLUE-STS"] for row in table["rows"]}
        assert scores["tuned"] >= scores["tuned, untuned"] + 10, (seed, scores)
        assert len(scores) == 4  # beside random weights and n-grams
