"""Built-in recipes: the folder `configs` of a clone, or its copy in an installed wheel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Literal

from common.errors import UserError

Size = Literal["small", "base"]
"""Size of a new recipe (`hunmin init`): the built-in recipe from which it begins."""
FOLDER = "configs"
SAMPLE = "runs/sample"
"""Folder that the recipes on the embedded sample read, below the one that a command is given in."""


def builtin_recipes() -> dict[str, Path]:
    """Return name ("quickstart") → file of the recipes that come with the package, sorted."""
    here = Path(__file__).parents[1]
    within = here / FOLDER  # a wheel holds them in the package, a clone beside it
    folder = within if within.is_dir() else here.parent / FOLDER
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def summary(recipe: Path) -> str:
    """Return the first sentence of the comment at the head of a recipe file."""
    lines = recipe.read_text(encoding="utf-8").splitlines()
    head = takewhile(lambda line: line.startswith("# ") and not line.startswith("#   "), lines)
    text = " ".join(line.removeprefix("# ") for line in head)
    return re.split(r"; |\.(?= [A-Z]|$)", text)[0]


def recipe_file(name: str | Path) -> Path:
    """Return the file that a recipe's name stands for: itself where it exists, else the recipe that comes with the
    package as NAME or configs/NAME.yaml; else the name as it is, for the reader to refuse.
    """
    path = Path(name)
    if path.exists():
        return path
    if str(path) == path.name and not path.suffix:
        return builtin_recipes().get(path.name, path)
    if path.parent == Path(FOLDER) and path.suffix == ".yaml":
        return builtin_recipes().get(path.stem, path)
    return path


def refuse_without_sample(inputs: Sequence[str]) -> None:
    """Refuse inputs that are of the embedded sample where it has not been written.

    Raises:
        UserError: the sample is not there.
    """
    if any(path.startswith(f"{SAMPLE}/") for path in inputs) and not Path(SAMPLE).exists():
        raise UserError(
            f"the sample is not in {Path(SAMPLE).absolute()}",
            "the recipe reads it there, relative to the working directory",
            f"hunmin sample --out {SAMPLE}, then the same command again",
        )
