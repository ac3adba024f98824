"""Versions: of this package and of those that it needs, by what is installed."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

NAME = "hunmin"
SHOWN = ("torch", "transformers", "tokenizers", "deepspeed", "python-mecab-ko")
"""Packages whose versions `hunmin --version` prints: those that decide what comes out of a run."""


def installed(package: str) -> str | None:
    """Return the installed version of a package, by its name on PyPI; None where it is not installed.

    The package itself is not imported: this is quick, and says nothing of whether it works.
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def version_lines() -> list[str]:
    """Return "NAME VERSION" of this package, Python and the packages that matter."""
    found = {name: installed(name) or "not installed" for name in (NAME, *SHOWN)}
    return [f"{name} {number}" for name, number in {NAME: "", "python": platform.python_version(), **found}.items()]
