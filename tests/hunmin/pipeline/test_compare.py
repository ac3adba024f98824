"""`hunmin compare`: budgets and arms on one ruler, sentences of a run's corpus left out, refusals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from mini import write_further

from data.shards import read_columns, shard_paths
from hunmin.main import run_command
from hunmin.pipeline.compare import held_out_sentences

pytestmark = pytest.mark.slow
HELD_OUT = [
    f"{n}번째 마을에는 {thing} 파는 가게가 하나 있었다." for n in range(40) for thing in ("꽃을", "책을", "빵을")
]


@pytest.fixture(scope="module")
def runs(mini_run: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two budgets of a base, and an arm of another rate; exported, not scored."""
    made = []
    for name, steps, rate in (("base", 10, 1e-3), ("base", 60, 1e-3), ("arm", 30, 3e-3)):
        folder = tmp_path_factory.mktemp(name)
        recipe = write_further(mini_run, folder, steps=steps, optimizer={"learning_rate": rate, "warmup_steps": 2})
        assert run_command(["run", str(recipe), f"name={name}", "--until", "export"]) == 0
        made.append(folder / "run")
    return made


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "held-out.txt"
    path.write_text("\n".join(HELD_OUT), encoding="utf-8")
    return path


def refusal(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert run_command(["compare", *words]) == 2
    return " ".join(capsys.readouterr().err.split())


def test_budgets_and_an_arm(
    runs: list[Path], mini_run: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    words = [*map(str, runs), "--text", str(text), "--probes", str(mini_run / "sample" / "klue"), "--json"]
    capsys.readouterr()
    assert run_command(["compare", *words, "--plot", str(tmp_path / "k.png")]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["name"], row["steps"]) for row in rows] == [("base", 10), ("base", 60), ("arm", 30)]
    assert rows[0]["bits_per_byte"] > rows[1]["bits_per_byte"] > 0
    assert rows[1]["flops"] == pytest.approx(6 * rows[0]["flops"], rel=0.35)  # by the log's rates
    assert all({*row["probes"]} == {"ynat", "klue-ner", "klue-dp"} for row in rows)
    assert rows[0]["speed_up"] is None and rows[2]["speed_up"].keys() == {"k", "low", "high"}
    assert (tmp_path / "k.png").stat().st_size > 1000
    assert run_command(["compare", *words[:-3]]) == 0
    assert "bits per byte" in capsys.readouterr().out


def test_sentences_of_a_runs_corpus_are_left_out(runs: list[Path], tmp_path: Path) -> None:
    [shard, *_] = shard_paths(runs[0] / "corpus")
    known = read_columns(shard, ["sentences"]).column("sentences")[0].as_py()
    known = [sentence for sentence in known if 20 <= len(sentence.encode()) <= 400]
    path = tmp_path / "mixed.txt"
    path.write_text("\n".join([*HELD_OUT, *known]), encoding="utf-8")
    assert known and sorted(held_out_sentences(str(path), 1000, runs)) == sorted(HELD_OUT)
    assert held_out_sentences(str(path), 7, runs) == held_out_sentences(str(path), 1000, runs)[:7]


def test_refused(
    runs: list[Path], mini_run: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ["--text", str(text)]
    assert "one run" in refusal([str(runs[0]), *named], capsys)
    assert "is no run" in refusal([str(runs[0]), str(tmp_path), *named], capsys)
    folder = tmp_path / "mixed"
    folder.mkdir()
    recipe = write_further(mini_run, folder, steps=10, optimizer={"learning_rate": 2e-3, "warmup_steps": 2})
    assert run_command(["run", str(recipe), "name=base", "--until", "export"]) == 0
    said = refusal([str(runs[0]), str(folder / "run"), *named], capsys)
    assert "are called base and differ in pretrain.optimizer.learning_rate" in said
    short = tmp_path / "short.txt"
    short.write_text("짧다.\n", encoding="utf-8")
    assert "no sentence of" in refusal([*map(str, runs), "--text", str(short)], capsys)
    assert "cannot open" in refusal([*map(str, runs), "--text", str(tmp_path / "gone.txt")], capsys)
