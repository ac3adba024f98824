"""Patterns of inputs: the files that a path, folder, glob or URL stands for."""

from __future__ import annotations

import glob
import re
from pathlib import Path

from common.errors import UserError
from common.files import forms, is_remote, other_locale, suffix_of, unreachable

LEFT_BESIDE = re.compile(
    "_(?:SUCCESS|FAILURE|metadata|common_metadata|delta_log|spark_metadata|temporary|(?:committed|started)_[0-9]+)"
)
"""Names of files and folders that Spark, Hive and the like write beside their data."""


def is_beside(relative: str) -> bool:
    """Return whether a path inside a folder, or a part of it, is hidden or written beside the data."""
    return any(part.startswith(".") or LEFT_BESIDE.fullmatch(part) for part in relative.split("/"))


def expand(pattern: str) -> list[str]:
    """Return the files a path, folder (its files, none hidden or in a hidden folder) or glob stands for, sorted.

    A folder that a glob finds stands for its files where it has the glob's own ending: `*.parquet` finds what Spark
    writes. What such programs write beside their files (`is_beside`) is no file of a folder.

    Raises:
        UserError: nothing is there, or the name is none that a file can have.
    """
    try:
        paths = _found(pattern)
    except (OSError, ValueError, RuntimeError) as error:  # too long, with a zero byte, of an unknown ~user
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"cannot look for {pattern[:100]!r}: {reason}", "an input path names files") from None
    if not paths:
        here = "" if is_remote(pattern) or Path(pattern).is_absolute() else f": it is relative to {Path.cwd()}"
        nothing = UserError(
            f"nothing found at {pattern}",
            "an input path names a file, a folder or a glob with files",
            other_locale(pattern) or f"check the path{here}",
        )
        nothing.path = pattern
        raise nothing
    return sorted(paths)


def _found(pattern: str) -> list[str]:
    if is_remote(pattern):
        return [pattern] if pattern.startswith(("http://", "https://")) else _expand_remote(pattern)
    paths = {path for form in forms(pattern) for path in _found_here(form)}
    return list(paths)


def _found_here(pattern: str) -> list[str]:
    path = Path(pattern).expanduser()
    if path.is_dir():
        return _files_in(path)
    if path.exists():
        return [str(path)]
    files: list[str] = []
    for match in map(Path, glob.glob(str(path), recursive=True)):
        if match.is_dir() and _is_data(str(match), pattern):
            files += _files_in(match)
        elif _is_file(match) and not LEFT_BESIDE.fullmatch(match.name):
            files.append(str(match))
    return files


def _files_in(folder: Path) -> list[str]:
    return [str(p) for p in folder.rglob("*") if not is_beside(str(p.relative_to(folder))) and _is_file(p)]


def _is_file(path: Path) -> bool:
    """Return whether a path is a file, or a link to what is not there: whoever reads it says so."""
    return path.is_file() or (path.is_symlink() and not path.exists())


def _is_data(folder: str, pattern: str) -> bool:
    """Return whether a folder that a glob finds is a data set in parts: it has the ending that the glob names."""
    ending = suffix_of(folder)
    return bool(ending) and ending == suffix_of(pattern)


def _expand_remote(pattern: str) -> list[str]:
    import fsspec

    protocol = pattern.split("://", 1)[0]
    try:
        system, path = fsspec.core.url_to_fs(pattern)
        names: list[str] = []
        for name in [path] if system.isdir(path) else system.glob(path):
            if system.isdir(name):
                inside = system.find(name) if name == path or _is_data(name, path) else []
                names += [inner for inner in inside if not is_beside(inner.removeprefix(name).lstrip("/"))]
            elif not is_beside(name.rsplit("/", 1)[-1]):
                names.append(name)
    except Exception as error:  # each file system raises what its own client does
        raise unreachable("list", pattern, error) from None
    return [f"{protocol}://{name}" for name in dict.fromkeys(names)]
