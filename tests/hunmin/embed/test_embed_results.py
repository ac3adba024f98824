"""`hunmin embed mine` and `rerank`: results in a run's folder, each made once, never over something else."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("sentence_transformers")
sys.path.insert(0, str(Path(__file__).parents[2] / "embed"))
from tiny_encoders import RUN, embedding_folder, pairs, write_encoder, write_lines

from hunmin.embed.stages import settings_of
from hunmin.main import run_command
from hunmin.recipes.load import load_embed_recipe


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """A recipe of pairs, whose run has a tuned model."""
    rows = [{"query": row["query"], "positive": row["positive"]} for row in pairs(40)]
    section = {**RUN, "base": str(write_encoder(tmp_path / "base")),
               "data": [{"path": str(write_lines(tmp_path / "pairs.jsonl", rows))}],
               "mine": {"negatives": 2, "margin": 0}}  # fmt: skip
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump({"name": "x", "out": str(tmp_path / "run"), "embed": section}), encoding="utf-8")
    settings = settings_of(load_embed_recipe(str(path)))
    embedding_folder(tmp_path / "base", tmp_path / "run" / "embed" / "model", settings)
    return path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert run_command(["embed", *arguments]) == 2
    return " ".join(capsys.readouterr().err.split())


def test_counts_of_a_set_are_named_before_their_numbers(
    recipe: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 40 rows one has a scored text, and stays."""
    leaks = iter(["text", *[""] * 39])
    monkeypatch.setattr("embed.data.Leaks.of", lambda _, texts: next(leaks))
    assert run_command(["embed", "data", str(recipe)]) == 0
    assert "read: 40; with one scored text (not removed): 1" in " ".join(
        capsys.readouterr().out.replace("│", " ").split()
    )


def test_negatives_are_mined_once(recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, command = tmp_path / "run", ["mine", str(recipe)]
    assert run_command(["embed", *command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["0-pairs"]
    lines = (run / "mined" / "0-pairs.jsonl").read_bytes().splitlines()
    assert rows["rows"] == len(lines) > 0 and sum(n for why, n in rows.items() if "left out" in why) == 40 - len(lines)
    manifest = json.loads((run / "mined" / "manifest.json").read_bytes())
    assert manifest["stage"] == "mined" and manifest["settings"]["mine"]["negatives"] == 2
    assert {Path(name).name for name in manifest["inputs"]} >= {"pairs.jsonl", "model.safetensors", "config.json"}
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in (run / "mined").iterdir()}
    assert run_command(["embed", *command]) == 0
    assert "is there: same settings and inputs" in " ".join(capsys.readouterr().err.split())
    assert before == {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in (run / "mined").iterdir()}
    first = (run / "mined").resolve()
    assert run_command(["embed", *command, "mine.negatives=3"]) == 0 and (run / "mined").resolve() != first
    assert run_command(["embed", *command]) == 0 and (run / "mined").resolve() == first
    assert before == {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in (run / "mined").iterdir()}
    shutil.copytree(run, tmp_path / "copy")  # without its links
    assert run_command(["embed", *command, f"out={tmp_path / 'copy'}"]) == 0
    assert "is there: same settings and inputs" in " ".join(capsys.readouterr().err.split())
    assert run_command(["embed", *command, "--out", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / "0-pairs.jsonl").read_bytes().splitlines() == lines


def test_what_is_not_its_own_stays(recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder, out, message in (
        (tmp_path / "run" / "mined", [], "was not made by a run"),
        (tmp_path / "own", ["--out", str(tmp_path / "own")], "is not empty"),
        (tmp_path / "new.partial", ["--out", str(tmp_path / "new")], "holds something else"),
    ):
        folder.mkdir()
        (own := folder / "0-pairs.jsonl").write_text("mine")
        assert message in refused(capsys, "mine", str(recipe), *out) and own.read_text() == "mine"
        shutil.rmtree(folder)


def test_models_that_are_missing(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = [f"out={tmp_path / 'new'}"]
    assert "run hunmin embed train first, or set embed.mine.model" in refused(capsys, "mine", str(recipe), *own)
    for command in ("score", "teach"):
        error = refused(capsys, "rerank", command, str(recipe))
        assert "run hunmin embed rerank train first, or set embed.rerank.model" in error
    cross = write_encoder(tmp_path / "cross")
    tree = json.loads((cross / "config.json").read_bytes())
    (cross / "config.json").write_text(json.dumps({**tree, "architectures": ["RobertaForSequenceClassification"]}))
    for folder, message in ((cross, "head of a fine-tuned"),
                            (write_encoder(tmp_path / "causal", is_decoder=True), "holds a decoder")):  # fmt: skip
        assert message in refused(capsys, "rerank", "train", str(recipe), f"base={folder}", "rerank.max_seq_len=16")
    monkeypatch.setattr("common.extras.find_spec", lambda name: None)
    for command in (["mine"], ["rerank", "train"], ["rerank", "score"], ["rerank", "teach"]):
        error = refused(capsys, *command, str(recipe), f"rerank.model={cross}")
        assert "needs sentence-transformers, which is not installed" in error and "[embed]" in error


@pytest.mark.slow
def test_from_pairs_to_a_teacher(recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert run_command(["embed", "mine", str(recipe)]) == 0
    data: list[Any] = [f"data=[{{path: {run / 'mined' / '0-pairs.jsonl'}}}]", "rerank.max_seq_len=32", "rerank.steps=4"]
    assert "has no config.json" in refused(capsys, "rerank", "teach", str(recipe), f"rerank.model={run}")
    assert run_command(["embed", "rerank", "train", str(recipe), *data, "rerank.batch=4"]) == 0
    assert json.loads((run / "rerank" / "manifest.json").read_bytes())["counts"]["steps"] == 4
    assert "0-pairs has no negatives" in refused(capsys, "rerank", "teach", str(recipe))
    assert run_command(["embed", "rerank", "teach", str(recipe), *data]) == 0
    lines = (run / "taught" / "0-pairs.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines and all(len(json.loads(line)["scores"]) == 3 for line in lines)
