"""The field's words, always the same ones: private words stand in no help text, message, docstring or document."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from rich.text import Text

from hunmin.main import app

ROOT = Path(__file__).parents[1]
CODE = ("common", "tokenizer", "data", "pretrain", "klue", "leaderboard", "embed", "hunmin")
DOCUMENTS = [path for pattern in ("README*.md", "CONTRIBUTING*.md", "docs/**/*.md") for path in ROOT.glob(pattern)]

WORDS = {
    r"goes on|go on (?:from|with)|going on from": "resume, continue",
    r"(?:the )?remed(?:y|ies)|mend(?:s|ed|ing)?": "fix",
    r"texts side by side|takes_texts|texts_BS|places_BS|borders_K": "unpadded, segment_ids_BS, cu_seqlens_K",
    r"barred": "unmaskable",
    r"leap(?:s|ed|ing)?(?: up)?": "spikes",
    r"(?:is|was|are|were) asked to stop": "receives a stop signal",
    r"device without values": "fake tensors (meta device)",
    r"lifelines?": "failure monitor",
    r"rehears(?:e|es|al|als)": "dry-run batch",
    r"journals?": "training log",
    r"crews?": "coordination",
    r"(?:sets?|setting) aside": "quarantine, move to rejects/",
    r"bucket_mb": "bucket_cap_mb",
    r"select_by": "metric_for_best_model",
    r"--(?:line|claim|saving|environment)\b": "--scheduler-option, --volume-claim, --grace-period, --env-file",
    r"(?:of )?nobody's": "an invented number",
    r"said at the start|(?:is|are) told(?! (?:apart|by|from|in|of|a))": "logged at startup, reported",
    r"ceilings?": "upper bound",
    r"seen by all": "public",
}
"""Private word → the field's word."""

ALLOWED = {
    "data/readers/delimited.py": "a change of a rule's code would have every finished corpus built again",
}
"""File → why it may use them."""

PATTERN = {word: re.compile(rf"(?<![\w-])(?:{word})(?!\w)", re.IGNORECASE) for word in WORDS}


def prose_of(path: Path) -> Iterator[str]:
    """Yield what people read of a module: strings and docstrings, without the names of parameters."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.sub(r"^\s+\w+(?:, \w+)*:", "", node.value, flags=re.MULTILINE)


def hits() -> dict[tuple[str, str], list[str]]:
    """Return (folder, word) → the places of its uses."""
    lines_by_word: dict[tuple[str, str], list[str]] = {}
    modules = [path for folder in CODE for path in sorted((ROOT / folder).rglob("*.py"))]
    texts = [(path, prose_of(path)) for path in modules] + [
        (path, iter(re.sub(r"`[^`]*`", "", path.read_text(encoding="utf-8")).splitlines())) for path in DOCUMENTS
    ]
    for path, lines in texts:
        name = path.relative_to(ROOT).as_posix()
        for text in () if name in ALLOWED else lines:
            for word, pattern in PATTERN.items():
                if match := pattern.search(text):
                    folder = name.rpartition("/")[0]
                    lines_by_word.setdefault((folder, word), []).append(f"{name}: {match[0]} ({WORDS[word]})")
    return lines_by_word


def test_private_words_stand_nowhere() -> None:
    lines_by_word = hits()
    assert lines_by_word == {}


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command with its name as it is given."""

    def below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        if hasattr(command, "commands"):
            for child, subcommand in command.commands.items():
                yield from below(f"{name} {child}".strip(), subcommand)
        else:
            yield name, command

    yield from below("", typer.main.get_command(app))


POSSESSIVES = re.compile(r"(?:Of|As|For|With|Also|Instead|The \w+'s?|\w+'s)\b")


@pytest.mark.parametrize(("name", "command"), commands(), ids=str)
def test_every_option_says_what_it_is(name: str, command: Any) -> None:
    """A help begins with its own noun or verb, has at most 25 words a sentence and ends with a full stop or …"""
    faults = []
    assert command.help and command.epilog, f"{name}: a command has a sentence and an example"
    for option in command.params:
        if getattr(option, "hidden", False):
            continue
        text = (option.help or "").strip()
        longest = max((len(sentence.split()) for sentence in re.split(r"[.;:] ", text)), default=0)
        with_option = text.startswith("With --")  # what it needs, then its noun
        if not text or text[-1] not in ".…" or longest > 25 or (POSSESSIVES.match(text) and not with_option):
            faults.append(f"{option.name}: {text!r}")
    assert faults == [], name


@pytest.mark.parametrize(("name", "command"), commands(), ids=str)
def test_what_stands_in_brackets_is_shown(name: str, command: Any) -> None:
    """Rich takes `[klue]` for a style and leaves it out; `\\[klue]` is shown as it is meant."""
    texts = [command.help, command.epilog, *(getattr(option, "help", "") for option in command.params)]
    filled = [text for text in texts if text]
    assert [Text.from_markup(text).plain for text in filled] == [text.replace("\\[", "[") for text in filled], name
