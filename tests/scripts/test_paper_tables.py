"""The table of two runs, by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from paper_tables import TABLES, as_table, main, vocabularies

from hunmin.recipe import load_recipe


def test_difference_and_standard_errors_by_hand() -> None:
    rows = {
        "a": {("ynat", "f1"): {"mean": 50.0, "sd": 3.0, "n": 9}, ("wos", "jga"): {"mean": None, "sd": None, "n": 2},
              ("sts", "r"): {"mean": 1.0, "sd": None, "n": 1}},
        "b": {("ynat", "f1"): {"mean": 55.0, "sd": 4.0, "n": 4}, ("wos", "jga"): {"mean": 1.0, "sd": 1.0, "n": 2},
              ("sts", "r"): {"mean": 3.0, "sd": None, "n": 1}},
    }  # fmt: skip
    lines = as_table(rows).splitlines()
    # √(9/9 + 16/4) = 2.236
    assert lines[2:] == [
        "| ynat f1 | 50.00 ± 3.00 | 55.00 ± 4.00 | -5.00 | 2.2 |",
        "| sts r | 1.00 ± 0.00 | 3.00 ± 0.00 | -2.00 | – |",
    ]


def test_the_rows_differ_in_one_thing() -> None:
    recipe = Path(__file__).parents[2] / "configs" / "quickstart.yaml"
    for rows in TABLES.values():
        one, other = (load_recipe(recipe, changes).model_dump() for changes in rows.values())
        differing = [name for name in one if one[name] != other[name]]
        assert len(rows) == 2 and len(differing) == 1


def test_figures_of_vocabularies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    figures = [{"fertility": 2.5, "continued_word_ratio": 0.75, "unk_ratio": 0.0104, "vocab_size": 9}] * 2
    asked: list[list[str]] = []

    def answer(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, json.dumps(figures).encode())

    monkeypatch.setattr(subprocess, "run", answer)
    folders = {name: tmp_path / name for name in TABLES["35"]}
    lines = vocabularies("r.yaml", folders, TABLES["35"], "other.txt").splitlines()
    assert lines[2:] == ["| morphemes | 2.500 | 0.750 | 0.010 |", "| whole words | 2.500 | 0.750 | 0.010 |"]
    assert [command[3] for command in asked] == ["run", "run", "tokenizer"]
    assert all(command[-2:] == ["--until", "tokenizer"] for command in asked[:2])


def test_only_table_35_takes_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (["35", "r.yaml", "--out", "x"], ["34", "r.yaml", "--out", "x", "--text", "t"]):
        monkeypatch.setattr(sys, "argv", ["paper_tables.py", *words])
        with pytest.raises(SystemExit):
            main()


def test_a_run_that_fails_ends_the_script_with_its_own_error(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["paper_tables.py", "33", "no-such-recipe.yaml", "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    error = capfd.readouterr().err
    assert ended.value.code == 2 and "no-such-recipe" in error and "Traceback" not in error
