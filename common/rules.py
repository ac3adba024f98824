"""Numbers of the rules by which stages make what they make: raised by hand, with the reason, when an output changes."""

from __future__ import annotations

RULES: dict[str, dict[int, str]] = {
    "corpus": {1: "first rules"},
    "tokenizer": {1: "first rules"},
    "encode": {1: "first rules"},
    "pretrain": {1: "first rules"},
    "export": {1: "first rules"},
    "klue": {1: "first rules"},
    "embed": {1: "first rules"},
    "instruct": {1: "first rules"},
    "tune": {1: "first rules"},
    "leaderboard": {1: "first rules"},
    "report": {1: "first rules"},
}
"""Stage → number of its rules → what they changed. `tests/rules.lock` holds what the newest of them give."""


def rules_number(stage: str) -> int:
    """Return the number of the rules by which a stage works now; 0 of a stage that has none."""
    return max(RULES.get(stage, {0: ""}))


def changed_since(stage: str, number: int) -> list[str]:
    """Return the changes of a stage's rules since a number, the oldest first."""
    return [f"{later}: {reason}" for later, reason in sorted(RULES.get(stage, {}).items()) if later > number]
