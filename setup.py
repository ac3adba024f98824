"""How wheels are laid out. Names and versions stand in setup.cfg; this file says where the code goes.

In a clone the folders `common`, `data`, `tokenizer`, `pretrain`, `klue`, `leaderboard` and `embed` are top-level
packages. Installed beside other software under such names, each would hide, or be hidden by, a package of the same
name. So a wheel holds one top-level package: the folders go below `hunmin/`, and the imports in the copies are
rewritten to match (`from common.errors import …` becomes `from hunmin.common.errors import …`). Editable installs keep
the clone's names.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from itertools import pairwise
from pathlib import Path
from typing import Any

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
PLACES = {
    **{name: f"hunmin.{name}" for name in ("common", "data", "tokenizer", "pretrain", "klue", "leaderboard")},
    "embed": "hunmin.embeddings",  # there is a package hunmin.embed
}
"""Top-level package of a clone → the package that it is in a wheel."""
FOLDERS = tuple(PLACES)
RECIPES = "configs"
"""Folder of the recipes, which a wheel holds below `hunmin`, too."""
MODULE = re.compile(rf"""^(["'])((?:{"|".join(FOLDERS)})(?:\.\w+)+)\1$""")
"""A string literal that may be the name of a module."""
NAME = re.compile(r"\w+")


def relocated(source: str) -> str:
    """Return Python source with the names that the folders' modules have in a wheel: in `from` imports, and in string
    literals that are the name of a module and nothing else, such as the one after "-m".

    Raises:
        ValueError: a line says `import FOLDER…`, which binds the folder's own name.
    """
    lines = io.StringIO(source).readlines()
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    places: list[tuple[int, int]] = []
    for before, token in pairwise(tokens):
        named = MODULE.match(token.string) if token.type == tokenize.STRING else None
        if token.string in FOLDERS and before.type == token.type == tokenize.NAME:
            statement = not before.line[: before.start[1]].strip()
            if before.string == "import" and statement:
                raise ValueError(f"line {token.start[0]}: write `from … import …`, not {before.line.strip()!r}")
            if before.string == "from" and statement:
                places.append(token.start)
        elif named and _is_module(named[2]):
            places.append((token.start[0], token.start[1] + 1))
    for row, column in reversed(places):  # from the end: an insertion moves what follows in its line
        line = lines[row - 1]
        match = NAME.match(line, column)
        assert match
        lines[row - 1] = line[:column] + PLACES[match[0]] + line[match.end() :]
    return "".join(lines)


def _is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


class BuildPy(build_py):
    """Rewrites the modules that it copies."""

    def build_module(self, module: Any, module_file: Any, package: Any) -> Any:
        """Copy a module, rewritten."""
        target, copied = super().build_module(module, module_file, package)
        path = Path(target)
        path.write_text(relocated(path.read_text(encoding="utf-8")), encoding="utf-8")
        return target, copied


def wheel_layout() -> dict[str, Any]:
    """Return the arguments of `setup` by which the folders lie below `hunmin`."""
    within = {place: folder for folder, place in PLACES.items()} | {f"hunmin.{RECIPES}": RECIPES}
    packages = find_packages(str(ROOT), include=["hunmin", "hunmin.*"])
    for folder, place in PLACES.items():
        packages_below = find_packages(str(ROOT), include=[folder, f"{folder}.*"])
        packages += [place + name.removeprefix(folder) for name in packages_below]
    return {"packages": [*packages, f"hunmin.{RECIPES}"], "package_dir": within, "cmdclass": {"build_py": BuildPy}}


if __name__ == "__main__":
    editable = {"editable_wheel", "develop"} & set(sys.argv)
    setup(**({} if editable else wheel_layout()))
