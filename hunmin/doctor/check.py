"""One finding of `hunmin doctor`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hunmin.version import in_clone

State = Literal["ok", "note", "missing", "broken"]
"""ok; note: it works without, at a price that is named; missing, broken: it is needed."""


@dataclass(frozen=True)
class Check:
    """What was looked at, and what was found."""

    name: str
    state: State
    found: str
    remedy: str = ""
    """The command that mends it, or what to set; "" where nothing is to be mended."""

    @property
    def bad(self) -> bool:
        """Return whether something that is needed is not there."""
        return self.state in ("missing", "broken")


def pip_install(*requirements: str) -> str:
    """Return the command that installs packages into the Python that runs this, at the clone's versions if there is
    one.
    """
    python = Path(sys.executable)
    where = python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python
    pins = ["-c constraints.txt"] if in_clone() else []
    return " ".join([f"{where} -m pip install", *pins, *(f"'{line}'" for line in requirements)])
