"""Which distributions a GPU machine without network is given: all that the GPU run imports, and what those need."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from offline_wheels import NEEDED, close, describe

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = {"yaml": "pyyaml", "re2": "google-re2"}
"""Module → distribution, where the names differ."""
NOT_THERE = {
    "wandb": "metrics go to JSON Lines without it",
    "trackio": "optional",
    "mecab_ko": "no text is read",
    "tiktoken": "no text is read",
}
"""Third-party modules that the GPU run does without → why."""


def imported(entries: list[Path]) -> set[str]:
    """Third-party modules that files import when they are imported, and those that they import in turn; those of
    fine-tuning also within their functions, which its processes call."""
    todo, seen, modules = list(entries), set(entries), set()
    while todo:
        path = todo.pop()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names: set[str] = set()
        for node in ast.walk(tree) if ROOT / "klue" in path.parents else tree.body:
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        for name in names:
            base = ROOT / Path(*name.split("."))
            inner = [path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()]
            inner += [path for path in (ROOT / "scripts" / f"{name}.py",) if path.is_file()]
            if inner:
                todo += [path for path in inner if path not in seen]
                seen |= set(inner)
            elif not (ROOT / name.split(".")[0]).is_dir():
                modules.add(name.split(".")[0])
    return modules - set(sys.stdlib_module_names) - {"__future__"}


def test_everything_that_is_imported_is_on_the_list() -> None:
    entries = [
        *(ROOT / "pretrain").rglob("*.py"),
        ROOT / "klue" / "finetune.py",
        ROOT / "klue" / "runner.py",
        ROOT / "scripts" / "bench_gpu.py",
        ROOT / "scripts" / "kill_and_resume.py",
        ROOT / "tests/pretrain/test_gpu.py",
    ]
    modules = imported(entries)
    assert {"torch", "transformers", "pydantic", "zstandard"} <= modules  # what the test rests on
    own = {"kernels", "training_runs", "warm_start", "bench_pretrain", "gpu_report", "timing"}
    missing = {DISTRIBUTIONS.get(name, name) for name in modules - own} - {*NEEDED} - NOT_THERE.keys()
    assert not missing


HAVE: dict[str, Any] = {
    "python": "3.12", "machine": "x86_64", "missing": [],
    "installed": {"torch": "2.11.0", "numpy": "2.5.2", "pydantic-core": "2.0", "typing-extensions": "4.15"},
}  # fmt: skip
INDEX = {
    "deepspeed": ["torch", "numpy", "hjson", "pydantic>=2.0.0", "tqdm; extra == 'dev'", "triton"],
    "hjson": [],
    "pydantic": ["pydantic-core==2.50.4", "Typing_Extensions>=4", "tomli; python_version < '3.11'"],
    "pydantic-core": ["typing-extensions>=4.14"],
}


def get(requirement: str) -> tuple[Path, list[str]]:
    name = requirement.split(">")[0].split("=")[0]
    return Path(f"{name}.whl"), INDEX[name]


def test_what_is_missing_or_too_old_is_fetched_and_nothing_else() -> None:
    wheels, refused = close(["deepspeed"], HAVE, get)
    assert sorted(wheels) == ["deepspeed", "hjson", "pydantic", "pydantic-core"]
    assert refused == ["triton"]  # never fetched, and not there


def test_a_machine_that_has_all_is_given_nothing() -> None:
    assert close([], HAVE, get) == ({}, [])


def test_this_machine_is_described() -> None:
    machine = describe()
    assert machine["python"] == f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert "torch" in machine["installed"] and not set(machine["missing"]) & machine["installed"].keys()
    if not machine["missing"]:
        pytest.importorskip("deepspeed")
