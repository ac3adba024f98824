"""Which code makes an output: a hash of what modules do, and the versions that processes of one work compare."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import xxhash

from common.manifest import package_versions

ROOMS = ("common", "data", "tokenizer", "pretrain", "klue", "leaderboard", "embed", "hunmin")
"""Folders of a clone that hold this package; a wheel has them in one folder."""


def running_code(*packages: str) -> dict[str, str]:
    """Return name → version of what this process runs: Hunmin, its sources, Python and the packages named.

    Args:
        packages: those that decide what comes out of the work at hand; missing ones are left out.
    """
    versions = {"source": source_hash(), "python": f"{sys.version_info[0]}.{sys.version_info[1]}"}
    return package_versions("hunmin") | versions | package_versions(*packages)


def code_changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return "name: version → version" for what differs between two results of `running_code`, sorted by name."""
    names = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    return [f"{name}: {before.get(name, 'none')} → {now.get(name, 'none')}" for name in names]


@cache
def source_hash() -> str:
    """Return 16 hex digits of the bytes of all code and settings files of this package."""
    root = Path(__file__).parents[1]
    folders = [root / room for room in ROOMS] if __name__.startswith("common.") else [root]
    digest = xxhash.xxh3_64()
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".yaml")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def code_hash(path: Path) -> str:
    """Return 16 hex digits of what a module, or all modules of a folder and its folders, do.

    Comments, docstrings and blank lines make no difference, nor does the version of Python.

    Args:
        path: a .py file or a folder.
    """
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    digest = xxhash.xxh3_64()
    for file in files:
        digest.update(file.relative_to(path.parent).as_posix().encode())
        digest.update(b"\0" + "\n".join(_statements(file.read_text(encoding="utf-8"))).encode() + b"\0")
    return digest.hexdigest()


def _statements(source: str) -> list[str]:
    """Return the lines of a module without comments of their own line, blank lines, and strings that stand alone."""
    docstring_lines: set[int] = set()
    inside: set[int] = set()
    nodes = list(ast.parse(source).body)
    while nodes:
        node = nodes.pop()
        first, last = node.lineno, node.end_lineno or node.lineno
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstring_lines.update(range(first, last + 1))
        if isinstance(node, ast.Constant | ast.JoinedStr):
            inside.update(range(first + 1, last + 1))
        if last > first:  # what stands on one line has no string of several lines in it
            nodes += _within(node)
    lines = source.split("\n")
    return [
        line
        for number, line in enumerate(lines, 1)
        if number not in docstring_lines and (number in inside or (line.strip() and not line.lstrip().startswith("#")))
    ]


def _within(node: ast.AST) -> Iterator[Any]:
    """Yield the nodes right below one that have a place in the source, those of nodes without one included."""
    for child in ast.iter_child_nodes(node):
        if hasattr(child, "lineno"):
            yield child
        else:
            yield from _within(child)
