"""Versions: of this package and of those that it needs, by what is installed."""

from __future__ import annotations

import json
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

from common.code import source_hash

NAME = "hunmin"
SHOWN = ("torch", "transformers", "tokenizers", "deepspeed", "mecab-ko")
"""Packages whose versions `hunmin --version` prints: those that decide what comes out of a run."""


def installed(package: str) -> str | None:
    """Return the installed version of a package, by its name on PyPI; None where it is not installed.

    The package itself is not imported: this is quick, and says nothing of whether it works.
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def commit() -> str | None:
    """Return the commit of this package's sources, with "+" where they were changed since; None where it is not known.

    It is that of the clone that this file lies in, or of the repository that pip installed from.
    """
    root = Path(__file__).resolve().parents[1]
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "describe", "--always", "--dirty=+", "--exclude=*", "--abbrev=9"]
        try:
            return subprocess.run(
                command, capture_output=True, encoding="utf-8", errors="replace", check=True, timeout=30
            ).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            return None
    try:
        source = json.loads(distribution(NAME).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return None
    return str(source["vcs_info"]["commit_id"])[:9] if "vcs_info" in source else None


def version_lines() -> list[str]:
    """Return "NAME VERSION" of this package, its sources, Python and the packages that matter."""
    others = {name: installed(name) or "not installed" for name in (NAME, *SHOWN)}
    own = {NAME: "", "source": source_hash(), "python": platform.python_version()}
    return [f"{name} {number}" for name, number in {**own, **others}.items()]
