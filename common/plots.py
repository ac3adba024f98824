"""Plots by matplotlib, an extra: figures without a display, the font with Hangul, files of the same bytes each time."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.destinations import OutputFile
from common.errors import UserError
from common.extras import pip_install, require
from common.files import atomic_write
from common.progress import say

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HANGUL_FONTS = (
    *("Noto Sans CJK KR", "Noto Sans CJK JP", "Noto Sans KR", "Source Han Sans K", "Pretendard", "NanumGothic"),
    *("Nanum Gothic", "NanumBarunGothic", "Apple SD Gothic Neo", "AppleGothic", "Malgun Gothic", "UnDotum", "Gulim"),
)
"""Fonts with Hangul, the preferred first."""

FORMATS: dict[str, tuple[dict[str, str | None], bytes]] = {
    ".png": ({"Software": "hunmin"}, b"tEXtSoftware\0hunmin"),
    ".svg": ({"Creator": "hunmin", "Date": None}, b"<dc:title>hunmin</dc:title>"),
    ".pdf": ({"Creator": "hunmin", "CreationDate": None}, b"/Creator (hunmin)"),
}
"""Suffix → metadata that names Hunmin, without a date, which would change the bytes; and how it stands in the file."""


def plot_file(path: Path, option: str, overwrite: bool = False) -> OutputFile:
    """Return the file of a plot that a user names by an option, before anything is drawn.

    Raises:
        UserError: matplotlib is not installed, or no plot can be written there.
    """
    require("matplotlib", option, "plots")
    if path.suffix not in FORMATS:
        raise UserError(f"{option} {path} has another ending", f"it ends in {', '.join(FORMATS)}", "name such a file")
    return OutputFile(path, FORMATS[path.suffix][1], overwrite)


def can_plot(files: str) -> bool:
    """Return whether matplotlib is installed; where it is not, name the files that are left out and the command."""
    if find_spec("matplotlib"):
        return True
    say(f"{files} not drawn: matplotlib is not installed; {pip_install('plots')}", style="yellow")
    return False


def new_figure(width: float, height: float, **options: Any) -> Figure:
    """Return an empty figure whose texts are in a font with Hangul where one is installed.

    Args:
        width, height: in inches.
        options: of matplotlib's `Figure`.
    """
    require("matplotlib", "a plot", "plots")
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams["font.family"] = ["DejaVu Sans", *filter(None, [hangul_font()])]
    rcParams["axes.unicode_minus"] = False
    rcParams["font.size"] = 9
    rcParams["svg.hashsalt"] = "hunmin"  # names of parts, else drawn at random
    return Figure(figsize=(width, height), **options)


@cache
def hangul_font() -> str | None:
    """Return the installed font of `HANGUL_FONTS` that is preferred, or None."""
    from matplotlib import font_manager

    installed = set(font_manager.get_font_names())
    return next((name for name in HANGUL_FONTS if name in installed), None)


def save_figure(figure: Figure, to: Path | OutputFile) -> None:
    """Write a figure in the format of the file's suffix; say once where the fonts lack some of its characters.

    Args:
        to: the file; its folder is made when it is not there.
    """
    path = to.path if isinstance(to, OutputFile) else to
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with to.open("wb") if isinstance(to, OutputFile) else atomic_write(to, "wb") as stream:
            figure.savefig(stream, format=path.suffix[1:], metadata=FORMATS[path.suffix][0])
    others = [warning.message for warning in caught if "missing from font" not in str(warning.message)]
    for message in others:
        warnings.warn(message, stacklevel=2)
    if len(others) < len(caught):
        lacking = "the font lacks some characters" if hangul_font() else "no font with Hangul is installed"
        say(f"{path}: {lacking} (fonts tried: {', '.join(HANGUL_FONTS)})", style="yellow")
