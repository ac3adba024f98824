"""The lock of the rules: what each stage makes of a fixed input, with which number, by which code.

`tests/rules.lock` holds a block a stage. Its output may change when its number in `common/rules.py` is raised; code and
input that change nothing of the output only need the block written anew, which a reviewer sees.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xxhash
import yaml

from common.code import code_hash

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "tests/rules.lock"
Verdict = Literal["same", "new", "number", "input", "code", "output", "lowered"]
WRITTEN: tuple[Verdict, ...] = ("new", "number", "input", "code")
"""Differences that `make rules` writes down."""
MESSAGES: dict[Verdict, str] = {
    "new": "the stage has no block in tests/rules.lock: make rules",
    "number": "the number was raised: make rules",
    "input": "its fixed input changed, its code did not: make rules",
    "code": "its code or its fixed input changed, its output did not: make rules",
    "output": "its output changed: raise the number in common/rules.py with the reason, then make rules (input that "
    "changes together with code: change the input in a commit of its own, before the code)",
    "lowered": "the number in common/rules.py is lower than in tests/rules.lock: numbers are only raised",
}


@dataclass(frozen=True)
class Block:
    """What is locked of a stage: the number of its rules, and hashes of output, fixed input and code."""

    rules: int
    output: str
    input: str
    code: str


def verdict(now: Block, locked: Block | None) -> Verdict:
    """Return how a stage differs from its block in the lock."""
    if locked is None:
        return "new"
    if now.rules < locked.rules:
        return "lowered"
    if now == locked:
        return "same"
    if now.rules > locked.rules:
        return "number"
    if now.output == locked.output:
        return "code"
    return "input" if now.code == locked.code and now.input != locked.input else "output"


def read_lock(path: Path = LOCK) -> dict[str, Block]:
    """Return stage → its block; nothing where there is no lock."""
    tree = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else None
    return {stage: Block(**block) for stage, block in (tree or {}).items()}


def write_lock(blocks: Mapping[str, Block], path: Path = LOCK) -> None:
    """Write the blocks by name of their stage."""
    tree = {stage: asdict(block) for stage, block in blocks.items()}
    head = (
        "# What each stage makes of a fixed input: written by `make rules`, never by hand. See tests/rules/lock.py.\n"
    )
    path.write_text(head + yaml.safe_dump(tree, sort_keys=True), encoding="utf-8")


def refused(now: Mapping[str, Block], locked: Mapping[str, Block]) -> list[str]:
    """Return a line for each stage whose block must not be written as it is now."""
    verdicts = {stage: verdict(block, locked.get(stage)) for stage, block in now.items()}
    return [f"{stage}: {MESSAGES[state]}" for stage, state in verdicts.items() if state not in ("same", *WRITTEN)]


def digest(output: Any) -> str:
    """Return 32 hex digits of a tree of text, numbers and arrays; floats count by their first six decimals."""
    text = json.dumps(plain(output), ensure_ascii=False, sort_keys=True, allow_nan=False)
    return xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogatepass"))


def plain(tree: Any) -> Any:
    """Return a tree of lists and objects with names, of text and numbers alone."""
    if isinstance(tree, np.ndarray | np.generic):
        tree = tree.tolist()
    if isinstance(tree, Mapping):
        return {str(name): plain(value) for name, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [plain(value) for value in tree]
    if isinstance(tree, float):
        return round(tree, 6) + 0.0  # no negative zero
    if tree is None or isinstance(tree, bool | int | str):
        return tree
    raise TypeError(f"{type(tree).__name__} is no part of a logical output")


def hash_of(paths: tuple[str, ...], root: Path = ROOT) -> str:
    """Return 32 hex digits of modules, folders of modules and YAML, and other files, by their paths below `root`."""
    digest = xxhash.xxh3_128()
    for name in sorted(paths):
        path = root / name
        is_code = path.is_dir() or path.suffix == ".py"
        digest.update(f"{name} {code_hash(path) if is_code else ''}\n".encode())
        for file in sorted(path.rglob("*.yaml")) if path.is_dir() else () if is_code else (path,):
            digest.update(f"{file.relative_to(root).as_posix()} {file.stat().st_size}\n".encode() + file.read_bytes())
    return digest.hexdigest()
