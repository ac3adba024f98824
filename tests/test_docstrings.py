"""Examples in docstrings give what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("common", "data", "tokenizer", "pretrain", "klue", "leaderboard", "hunmin")
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


def test_examples() -> None:
    assert len(MODULES) > 10
    results = {name: doctest.testmod(importlib.import_module(name)) for name in MODULES}
    assert {name: result for name, result in results.items() if result.failed or not result.attempted} == {}
