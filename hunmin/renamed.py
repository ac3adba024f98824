"""Earlier names on the command line: giving one is an error that says the name of now."""

from __future__ import annotations

from collections.abc import Sequence

OPTIONS = {
    "--line": "--scheduler-option", "--claim": "--volume-claim", "--saving": "--grace-period",
    "--environment": "--env-file", "--max-length": "--max-seq-len", "--details": "--breakdown",
}  # fmt: skip
"""Earlier name of an option → its name now."""

COMMANDS = {
    ("tokenizer", "push"): "hunmin push TOKENIZER OWNER/NAME",
    ("klue", "push"): "hunmin push MODEL OWNER/NAME",
    ("klue", "ceiling"): "hunmin klue upper-bound MODEL --data FOLDER",
}
"""Earlier name of a command → how it is given now."""


def command_now(arguments: Sequence[str]) -> str:
    """Return an error for a command line that begins with a command's earlier name, "" for any other."""
    words = tuple(arguments[:2])
    return f"hunmin {' '.join(words)} is now: {COMMANDS[words]}" if words in COMMANDS else ""
