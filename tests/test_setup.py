"""setup.py: the imports of a wheel's modules, which lie below `hunmin` and not beside other software."""

from __future__ import annotations

import ast
import configparser
import importlib.util
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]


def load() -> Any:
    spec = importlib.util.spec_from_file_location("hunmin_setup", ROOT / "setup.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SETUP = load()
SOURCES = [path for folder in (*SETUP.FOLDERS, "hunmin") for path in sorted((ROOT / folder).rglob("*.py"))]

BEFORE = '''\
"""Text that tells how to
from data import x
"""
from data.readers import a, b
from embed.settings import c
import json
from common import errors
from database import z
if True:
    from pretrain.train import JOB  # from data
command = ["-m", "pretrain.train", "pretrain.partial", "pretrain", 'klue.job', "see pretrain.train"]
both = "pretrain.train", "pretrain.parallel.agent"
def f():
    yield from data
    raise ValueError from tokenizer
'''
AFTER = (
    BEFORE.replace("from data.readers", "from hunmin.data.readers")
    .replace("from embed.settings", "from hunmin.embeddings.settings")
    .replace("from common import", "from hunmin.common import")
    .replace("    from pretrain.train", "    from hunmin.pretrain.train")
    .replace('"-m", "pretrain.train"', '"-m", "hunmin.pretrain.train"')
    .replace("'klue.job'", "'hunmin.klue.job'")
    .replace(
        '= "pretrain.train", "pretrain.parallel.agent"', '= "hunmin.pretrain.train", "hunmin.pretrain.parallel.agent"'
    )
)


def test_imports_and_names_of_modules_are_rewritten_and_nothing_else() -> None:
    assert SETUP.relocated(BEFORE) == AFTER != BEFORE
    assert SETUP.relocated(AFTER) == AFTER


def test_what_binds_a_folders_own_name_is_refused() -> None:
    for line in ("import data", "    import klue.job  # noqa"):
        with pytest.raises(ValueError, match="write `from … import …`"):
            SETUP.relocated("if True:\n    pass\n" + line + "\n" if line[0] != " " else f"if True:\n{line}\n")


def test_no_module_of_the_wheel_imports_a_top_level_folder() -> None:
    faults = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(SETUP.relocated(path.read_text("utf-8")))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [str(node.module)] if not node.level else [*SETUP.FOLDERS]
            faults += [f"{path}: {name}" for name in names if name.split(".")[0] in SETUP.FOLDERS]
    assert faults == []


def test_the_citation_names_the_version() -> None:
    clone = configparser.ConfigParser()
    clone.read(ROOT / "setup.cfg", encoding="utf-8")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()  # what the format requires
    assert (cited["version"], cited["license"]) == (clone["metadata"]["version"], clone["metadata"]["license"])
    assert f"version\n{cited['version']}" in (ROOT / "README.md").read_text("utf-8").replace("version ", "version\n")


def test_every_room_of_a_clone_is_in_a_wheel() -> None:
    clone = configparser.ConfigParser()
    clone.read(ROOT / "setup.cfg", encoding="utf-8")
    rooms = [line.rstrip("*") for line in clone["options.packages.find"]["include"].split()]
    assert sorted(rooms) == sorted([*SETUP.FOLDERS, "hunmin"])


def test_no_setting_is_taken_for_a_module() -> None:
    """`embed.mine` is both; as a key of a recipe it would be rewritten."""
    named = {
        node.value
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if SETUP.MODULE.match(f"'{node.value}'") and SETUP._is_module(node.value)
    }
    assert named == {
        "common.errors", "klue.score_file", "data.units.warm", "pretrain.train", "pretrain.parallel.agent",
        "pretrain.tuning.train", "embed.train",
    }  # fmt: skip


def test_all_packages_have_their_place() -> None:
    layout = SETUP.wheel_layout()
    files = {path.parent.relative_to(ROOT) for path in SOURCES}
    assert {name.split(".")[0] for name in layout["packages"]} == {"hunmin"}
    here = {Path(*name.split(".")) for name in layout["packages"]}
    moved = {Path(*SETUP.PLACES.get(f.parts[0], "hunmin").split("."), *f.parts[1:]) for f in files}
    assert here == {Path("hunmin/configs")} | moved
