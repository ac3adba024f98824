"""Versions: of this package, of those that it needs, and of those that are installed.

What this package is and needs stands in one place, `setup.cfg`. In a clone that file is read; where the package was
installed from a wheel, the metadata made of it.
"""

from __future__ import annotations

import configparser
import platform
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path

NAME = "hunmin"
SHOWN = ("torch", "transformers", "tokenizers", "deepspeed", "python-mecab-ko")
"""Packages whose versions `hunmin --version` prints: those that decide what comes out of a run."""


@cache
def _setup() -> configparser.ConfigParser | None:
    """Return the clone's setup.cfg, None where there is no clone."""
    path = Path(__file__).parents[1] / "setup.cfg"
    parser = configparser.ConfigParser()
    parser.read(path, encoding="utf-8")
    return parser if parser.get("metadata", "name", fallback="") == NAME else None


def in_clone() -> bool:
    """Return whether this is the code of a clone, and not of an installed wheel."""
    return _setup() is not None


def own_version() -> str:
    """Return this package's version."""
    setup = _setup()
    return setup["metadata"]["version"] if setup else version(NAME)


def installed(package: str) -> str | None:
    """Return the installed version of a package, by its name on PyPI; None where it is not installed.

    The package itself is not imported: this is quick, and says nothing of whether it works.
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Need:
    """A package that this one needs."""

    line: str
    """As in setup.cfg: "torch>=2.11"."""
    extra: str = ""
    """The extra that it belongs to; "" is needed always."""


def needs() -> list[Need]:
    """Return what this package needs, in the order of setup.cfg, extras last."""
    setup = _setup()
    if setup:
        always = [Need(line) for line in _lines(setup["options"]["install_requires"])]
        extras = setup["options.extras_require"].items()
        return always + [Need(line, extra) for extra, text in extras for line in _lines(text)]
    found = []
    for line in requires(NAME) or []:
        requirement, _, marker = line.partition(";")
        _, is_extra, rest = marker.partition("extra ==")
        found.append(Need(requirement.strip(), rest.strip().strip("\"')") if is_extra else ""))
    return found


def needed_python() -> str:
    """Return the versions of Python that this package runs on, as a range: ">=3.10"."""
    setup = _setup()
    return setup["options"]["python_requires"] if setup else str(metadata(NAME)["Requires-Python"])


def _lines(text: str) -> list[str]:
    stripped = (line.partition(";")[0].strip() for line in text.splitlines())
    return [line for line in stripped if line and not line.startswith("#")]


def version_lines() -> list[str]:
    """Return "NAME VERSION" of this package, Python and the packages that matter."""
    rows = [(NAME, own_version()), ("python", platform.python_version())]
    rows += [(name, installed(name) or "not installed") for name in SHOWN]
    return [f"{name} {found}" for name, found in rows]
