"""A hash of the code that makes an output, so that output made by other rules is told apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import xxhash


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
    told: set[int] = set()
    inside: set[int] = set()
    nodes = list(ast.parse(source).body)
    while nodes:
        node = nodes.pop()
        first, last = node.lineno, node.end_lineno or node.lineno
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            told.update(range(first, last + 1))
        if isinstance(node, ast.Constant | ast.JoinedStr):
            inside.update(range(first + 1, last + 1))
        if last > first:  # what stands on one line has no string of several lines in it
            nodes += _within(node)
    lines = source.split("\n")
    return [
        line
        for number, line in enumerate(lines, 1)
        if number not in told and (number in inside or (line.strip() and not line.lstrip().startswith("#")))
    ]


def _within(node: ast.AST) -> Iterator[Any]:
    """Yield the nodes right below one that have a place in the source, those of nodes without one included."""
    for child in ast.iter_child_nodes(node):
        if hasattr(child, "lineno"):
            yield child
        else:
            yield from _within(child)
