"""A hash of the code that makes an output, so that output made by other rules is told apart."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

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
    told = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    inside = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant | ast.JoinedStr) and (node.end_lineno or 0) > node.lineno
        for line in range(node.lineno + 1, (node.end_lineno or 0) + 1)
    }
    lines = source.split("\n")
    return [
        line
        for number, line in enumerate(lines, 1)
        if number not in told and (number in inside or (line.strip() and not line.lstrip().startswith("#")))
    ]
