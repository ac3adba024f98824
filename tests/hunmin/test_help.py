"""`hunmin --help`: commands in groups, each once; every command's own help holds an example."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from hunmin.main import app, run_command


def leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield (words, command) of all commands that do something."""
    for name, child in command.commands.items():
        yield from (leaves(child, (*words, name)) if hasattr(child, "commands") else [((*words, name), child)])


PROGRAM = typer.main.get_command(app)
LEAVES = list(leaves(PROGRAM))


def test_each_command_stands_in_one_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["--help"]) == 0
    groups: dict[str, list[str]] = {}
    for line in capsys.readouterr().out.splitlines():
        if line.startswith("╭─"):
            commands = groups.setdefault(line.strip("╭─╮ "), [])
        elif line.startswith("│ ") and line[2] not in " -":
            commands.append(line.split()[1])
    assert list(groups) == ["Options", "Start", "Pipeline", "Results", "Publish", "Other models"]
    assert groups["Start"][:2] == ["init", "recipes"] and groups["Pipeline"][:4] == [
        "run",
        "plan",
        "corpus",
        "tokenizer",
    ]
    assert groups["Publish"] == ["card", "export", "push"]
    shown = [name for names in groups.values() for name in names]
    assert sorted(shown) == sorted(PROGRAM.commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("words", "command"), LEAVES, ids=[" ".join(words) for words, _ in LEAVES])
def test_the_help_of_each_command_holds_an_example(words: tuple[str, ...], command: Any) -> None:
    epilog = " ".join((command.epilog or "").split())
    assert epilog.startswith("Example") and f"hunmin {' '.join(words)}" in epilog
