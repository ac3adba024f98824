"""Each stage's output, number and code against tests/rules.lock, and what is said where they differ."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from common.rules import RULES

from .lock import MESSAGES, Block, digest, plain, read_lock, refused, verdict, write_lock
from .stages import STAGES, UNLOCKED, block_of, lacks, output_of

LOCKED = Block(rules=3, output="aa", input="bb", code="cc")


@cache
def made(stage: str) -> dict[str, Any]:
    """Return what a stage makes of its fixed input, worked out once; the test skips where it cannot be."""
    if lacking := lacks(stage):
        pytest.skip(f"no {lacking} here")
    return output_of(stage)


def test_every_stage_with_a_number_is_locked_or_says_why_not() -> None:
    assert {*STAGES} == {*RULES} - {*UNLOCKED}
    assert {*read_lock()} == {*STAGES}


@pytest.mark.parametrize("stage", STAGES)
def test_the_fixed_input_hits_every_rule(stage: str) -> None:
    assert STAGES[stage].unhit(made(stage)) == []


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_is_as_it_is_locked(stage: str) -> None:
    state = verdict(block_of(stage, made(stage)), read_lock().get(stage))
    assert state == "same", f"{stage}: {MESSAGES.get(state)}"


@pytest.mark.parametrize("stage", STAGES)
def test_no_output_holds_a_place_of_this_machine(stage: str) -> None:
    assert "/work/" not in json.dumps(plain(made(stage)))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "same"),
        ({"output": "xx"}, "output"),
        ({"output": "xx", "code": "yy"}, "output"),
        ({"output": "xx", "code": "yy", "input": "zz"}, "output"),
        ({"output": "xx", "rules": 4}, "number"),
        ({"output": "xx", "rules": 4, "code": "yy"}, "number"),
        ({"rules": 4}, "number"),
        ({"code": "yy"}, "code"),
        ({"input": "zz"}, "code"),
        ({"output": "xx", "input": "zz"}, "input"),
        ({"rules": 2}, "lowered"),
    ],
)
def test_verdicts(changes: dict[str, Any], expected: str) -> None:
    now = replace(LOCKED, **changes)
    assert verdict(now, LOCKED) == expected
    lines = refused({"corpus": now}, {"corpus": LOCKED})
    assert bool(lines) == (expected in ("output", "lowered"))
    if expected == "output":
        assert "raise the number in common/rules.py with the reason, then make rules" in lines[0]


def test_a_stage_without_a_block_is_new() -> None:
    assert verdict(LOCKED, None) == "new" and not refused({"corpus": LOCKED}, {})


def test_a_lock_is_read_as_it_was_written(tmp_path: Any) -> None:
    blocks = {"tune": replace(LOCKED, output="12e4567890"), "corpus": LOCKED}
    write_lock(blocks, tmp_path / "lock")
    assert read_lock(tmp_path / "lock") == blocks
    lines = (tmp_path / "lock").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not line.startswith((" ", "#"))] == ["corpus:", "tune:"]


def test_a_digest_knows_the_sixth_decimal_and_no_more() -> None:
    assert digest({"a": [0.1 + 0.2]}) == digest({"a": (0.3,)}) != digest({"a": [0.300001]})
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    with pytest.raises(TypeError, match="set is no part"):
        digest({1})
