"""No file of the product imports another in a circle, imports inside functions and classes counted."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("common", "data", "tokenizer", "pretrain", "klue", "leaderboard", "embed", "hunmin")
ON_PURPOSE = {"data.executors.ray": {"data.executors.ray"}}
"""What a process of Ray imports again: the file itself."""


def modules() -> dict[str, Path]:
    """Return the names of the product's modules → their files."""
    paths = (path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def imported(tree: ast.AST, known: dict[str, Path]) -> set[str]:
    """Return the modules that a file imports anywhere but for type checking."""
    checked = [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    ]
    left_out = {id(inner) for node in checked for inner in ast.walk(node)}
    names = set()
    for node in ast.walk(tree):
        if id(node) not in left_out and isinstance(node, ast.ImportFrom) and node.module:
            wholes = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= (wholes & known.keys()) or {node.module}
        elif id(node) not in left_out and isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names & known.keys()


def circle_of(imports: dict[str, set[str]]) -> list[str]:
    """Return a circle of modules, each of which imports the one before it; [] where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_circle() -> None:
    known = modules()
    imports = {
        name: imported(ast.parse(path.read_text("utf-8")), known) - ON_PURPOSE.get(name, set())
        for name, path in known.items()
    }
    assert circle_of(imports) == []


def test_a_circle_within_functions_is_seen() -> None:
    known = {"a": Path("a"), "b": Path("b"), "b.c": Path("c")}
    inner = ast.parse("class A:\n    def f(self):\n        from b import c\n")
    typed = ast.parse("if TYPE_CHECKING:\n    import a\n")
    assert imported(inner, known) == {"b.c"}
    assert imported(typed, known) == set()
    assert circle_of({"a": {"b.c"}, "b.c": {"b"}, "b": {"a"}})
    assert not circle_of({"a": {"b.c"}, "b.c": {"b"}, "b": set()})
