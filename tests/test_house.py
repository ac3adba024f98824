"""The house: imports run down the floors only, heavy packages stay where they belong, files stay small."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLOORS = ["common", "data", "tokenizer", "pretrain", "klue", "leaderboard", "embed", "hunmin"]
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


def test_imports_run_down() -> None:
    faults = []
    for path in FILES:
        floor = path.relative_to(ROOT).parts[0]
        barred = {*FLOORS[FLOORS.index(floor) + 1 :]} | REFUSED.get(floor, set())
        faults += [f"{path}: {name}" for name in sorted({*imported(path)} & barred)]
    assert faults == []


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


def test_files_have_one_purpose_and_say_it() -> None:
    texts = {path: path.read_text("utf-8") for path in FILES}
    assert [path for path, text in texts.items() if text.count("\n") > 400] == []
    assert [path for path, text in texts.items() if text.strip() and not ast.get_docstring(ast.parse(text))] == []
    assert [path for path in FILES if path.stem in {"utils", "helpers", "misc"}] == []


def test_no_model_folder_brings_code() -> None:
    """transformers would ask "run the custom code? [y/N]", and run it on y."""
    loads = [
        ast.unparse(node)
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "from_pretrained"
    ]
    assert (
        loads and [call for call in loads if not re.search(r"trust_remote_code=False|\*\*(where|LOCAL)\b", call)] == []
    )


def test_every_direct_dependency_is_pinned() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    needs = "\n".join([setup["options"]["install_requires"], *setup["options.extras_require"].values()])
    names = {re.split(r"[<>=\[]", line)[0].strip().lower() for line in needs.splitlines() if line and line[0] != "#"}
    pinned = {
        line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line
    }
    assert not {name for name in names if name} - pinned


def test_no_merge_is_half_done() -> None:
    marks = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("configs/*.yaml"), *ROOT.glob("scripts/*")]
    assert [str(path) for path in [*FILES, *pages] if path.is_file() and marks.search(path.read_text("utf-8"))] == []
