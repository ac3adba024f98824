"""The house: imports run down the floors only, heavy packages stay where they belong, files stay small."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLOORS = ["common", "data", "tokenizer", "pretrain", "klue", "leaderboard", "hunmin"]
FILES = [path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]
REFUSED = {
    "common": {"torch", "transformers", "datasets", "deepspeed"},
    "data": {"torch", "transformers", "deepspeed"},
    "tokenizer": {"torch", "deepspeed"},
}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_run_down(path: Path) -> None:
    floor = path.relative_to(ROOT).parts[0]
    above = set(FLOORS[FLOORS.index(floor) + 1 :])
    names = set(imported(path))
    assert not names & above
    assert not names & REFUSED.get(floor, set())


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported_first(statements: Iterable[ast.stmt], modules: set[str]) -> Iterator[str]:
    """Names of what must be imported before the file with these statements is."""
    for node in statements:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in modules else str(node.module) for name in names)
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from imported_first(node.orelse, modules)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for part in ("body", "handlers", "orelse", "finalbody"):
                yield from imported_first(getattr(node, part, []), modules)


def test_imports_have_no_circle() -> None:
    """Of top-level imports; those in functions and for type checks alone are made when all modules are there."""
    modules = {module_of(path) for path in FILES}
    graph = {
        module_of(path): {*imported_first(ast.parse(path.read_text("utf-8")).body, modules)} & modules for path in FILES
    }
    assert sum(map(len, graph.values())) > len(graph)
    TopologicalSorter(graph).prepare()  # its error names the circle


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_have_one_purpose_and_say_it(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.count("\n") <= 400
    assert ast.get_docstring(ast.parse(text)) or not text.strip()
    assert path.stem not in {"utils", "helpers", "misc"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_model_folder_brings_code(path: Path) -> None:
    """transformers would ask "run the custom code? [y/N]", and run it on y."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "from_pretrained":
            given = ast.unparse(node)
            assert "trust_remote_code=False" in given or "**where" in given, given


def test_every_direct_dependency_is_pinned() -> None:
    import configparser
    import re

    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    wanted = "\n".join([setup["options"]["install_requires"], *setup["options.extras_require"].values()])
    names = {re.split(r"[<>=\[]", line)[0].strip().lower() for line in wanted.splitlines() if line and line[0] != "#"}
    pinned = {
        line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line
    }
    assert not {name for name in names if name} - pinned
