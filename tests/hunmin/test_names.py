"""Names that hold markup or escape sequences: nothing of them is obeyed by the terminal or the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mini import write_recipe

from hunmin.main import run_command
from hunmin.pipeline.report import print_report


@pytest.fixture
def report() -> dict[str, Any]:
    return {
        "name": "a [/x] <img src=x onerror=y> `b`", "seed": 1, "counts": {"tokenizer": {"vocab_size": 9}}, "loss": {},
        "klue": [], "contamination": {}, "validation": {}, "published": None,
    }  # fmt: skip


def test_a_runs_name_ends_no_finished_run(
    report: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "report.json").write_text(json.dumps(report))
    print_report(tmp_path, tmp_path / "[/x].html")
    out = capsys.readouterr().out
    assert report["name"] in " ".join(out.split()) and "[/x].html" in out


def test_a_files_name_is_shown_without_its_escape_sequences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    Path("in/a\x1b]0;TITLE\x07\x1b[2J[x].pdf").write_text("x")
    assert run_command(["run", str(write_recipe(tmp_path, Path("in"))), "name='[/x]'", "--until", "corpus"]) == 2
    out, err = capfd.readouterr()
    assert "a\\x1b]0;TITLE\\x07\\x1b[2J[x].pdf" in err and "\x1b" not in out + err
