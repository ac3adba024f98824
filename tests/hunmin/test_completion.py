"""What a shell completes: the names are those that the program knows, and they come without loading it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from common.code import source_hash
from hunmin import completion
from hunmin.instruct.stages import INSTRUCT_STAGES
from hunmin.launch.start import LAUNCHERS
from hunmin.main import run_command
from hunmin.pipeline.stages import STAGES
from klue.tasks import OWN, SUITES, TASKS
from leaderboard.suites import SUITES as BOARDS

ROOT = Path(__file__).parents[2]
HUNMIN = "import sys; sys.argv = ['hunmin', *sys.argv[1:]]; from hunmin.main import main; main()"


def completed(words: str, folder: Path = ROOT) -> list[str]:
    """The words that bash is offered for the last one."""
    place = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1), "_HUNMIN_COMPLETE": "complete_bash"}
    environment = {**os.environ, **place, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", HUNMIN], env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_the_names_are_the_programs_own() -> None:
    assert list(completion.STAGES) == [*(stage.name for stage in (*STAGES, *INSTRUCT_STAGES)), "embed"]
    assert list(completion.BOARDS) == list(BOARDS)
    assert list(completion.LAUNCHERS) == list(LAUNCHERS)
    assert list(completion.TASKS) == list(TASKS) and [*completion.SUITES, OWN] == list(SUITES)


def test_words_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "내-레시피.yaml").write_text("")
    assert completed("hunmin run 내", tmp_path) == ["내-레시피.yaml"]
    assert completed("hunmin run x --until e") == ["encode", "export", "embed"]
    monkeypatch.chdir(tmp_path)
    assert sorted(completion.recipes("quick")) == ["quickstart", "quickstart-embed", "quickstart-instruct"]
    assert completion.recipes("내") == ["내-레시피.yaml"] and completion.launchers("s") == ["slurm"]
    assert completion.tasks("klue-n") == ["klue-nli", "klue-ner"] and completion.suites("ko") == ["kobest", "koelectra"]
    assert completion.devices("A1") == ["A100", "A100-40GB"] and completion.boards("k") == ["kit19"]


def test_versions(capfd: pytest.CaptureFixture[str]) -> None:
    from importlib.metadata import version

    assert run_command(["--version"]) == 0
    lines = dict(line.split(" ", 1) for line in capfd.readouterr().out.splitlines())
    assert list(lines)[:3] == ["hunmin", "source", "python"] and lines["source"] == source_hash()
    assert list(lines)[3:] == ["torch", "transformers", "tokenizers", "deepspeed", "mecab-ko"]
    assert lines["torch"] == version("torch") and f"version = {lines['hunmin']}\n" in (ROOT / "setup.cfg").read_text()


def test_a_script_for_the_shell() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HUNMIN], env={**os.environ, "_HUNMIN_COMPLETE": "source_bash", "PYTHONPATH": str(ROOT)},
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "complete -o default -F _hunmin_completion hunmin" in done.stdout
