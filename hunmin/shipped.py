"""The recipes that come with the package: the folder `configs` of a clone, or its copy in an installed wheel."""

from __future__ import annotations

from pathlib import Path

FOLDER = "configs"


def shipped_recipes() -> dict[str, Path]:
    """Return name ("quickstart") → file of the recipes that come with the package, sorted."""
    here = Path(__file__).parent
    within = here / FOLDER  # a wheel holds them in the package, a clone beside it
    folder = within if within.is_dir() else here.parent / FOLDER
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def recipe_file(name: str | Path) -> Path:
    """Return the file that a recipe's name stands for: itself where it exists, else the recipe that comes with the
    package as NAME or configs/NAME.yaml; else the name as it is, for the reader to refuse.
    """
    path = Path(name)
    if path.exists():
        return path
    if str(path) == path.name and not path.suffix:
        return shipped_recipes().get(path.name, path)
    if path.parent == Path(FOLDER) and path.suffix == ".yaml":
        return shipped_recipes().get(path.stem, path)
    return path
