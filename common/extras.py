"""The command that installs an extra (`[options.extras_require]` of setup.cfg) into the Python that is running."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path

from common.errors import UserError

ROOT = Path(__file__).resolve().parents[1]
"""Root of the clone; in an installed wheel the package's own folder."""


def require(package: str, feature: str, extra: str) -> None:
    """Raise a UserError where a package of an extra, which `feature` needs, is not installed."""
    if not find_spec(package):
        raise UserError(f"{feature} needs {package.replace('_', '-')}, which is not installed", fix=pip_install(extra))


def pip_install(extra: str) -> str:
    """Return the command that installs an extra: of a clone the one of the pages, of a wheel its packages by name.

    Args:
        extra: its name in setup.cfg.
    """
    there = shutil.which("pip")
    own = there is not None and Path(there).parent == Path(sys.executable).parent
    pip = "pip install" if own else f"{shlex.quote(sys.executable)} -m pip install"
    if (ROOT / "constraints.txt").is_file():
        here = Path(os.path.realpath(".")) == ROOT
        pins, place = ("constraints.txt", ".") if here else (str(ROOT / "constraints.txt"), str(ROOT))
        return f"{pip} -c {shlex.quote(pins)} -e {shlex.quote(f'{place}[{extra}]')}"
    return " ".join([pip, *map(shlex.quote, _packages(extra))])


def _packages(extra: str) -> list[str]:
    """Return what an extra adds to the packages that are always needed, by the metadata of the installed wheel."""
    from packaging.requirements import Requirement

    needs = [Requirement(line) for line in requires("hunmin") or ()]
    marked = [(need, need.marker) for need in needs if need.marker]
    added = [
        need for need, marker in marked if marker.evaluate({"extra": extra}) and not marker.evaluate({"extra": ""})
    ]
    return [str(need).partition(";")[0].strip() for need in added]
