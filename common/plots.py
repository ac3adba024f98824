"""Plots by matplotlib, an extra: figures without a display, the font with Hangul, files of the same bytes each time."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def require_plots(option: str) -> None:
    """Raise a UserError where matplotlib is not installed.

    Args:
        option: what asks for a plot, such as `--plot`.
    """
    require("matplotlib", option, "plots")


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
    require_plots("a plot")
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


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the file's suffix; say once where the fonts lack some of its characters.

    Args:
        path: its folder is made when it is not there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with atomic_write(path, "wb") as stream:
            # no date and no version, which would change the bytes
            dates: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
            kind = path.suffix.removeprefix(".")
            figure.savefig(stream, format=kind, metadata=dates[kind])
    others = [warning.message for warning in caught if "missing from font" not in str(warning.message)]
    for message in others:
        warnings.warn(message, stacklevel=2)
    if len(others) < len(caught):
        lacking = "the font lacks some characters" if hangul_font() else "no font with Hangul is installed"
        say(f"{path}: {lacking} (fonts tried: {', '.join(HANGUL_FONTS)})", style="yellow")
