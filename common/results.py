"""The one door for results: the bytes are those that were written, the values such as a metric can have.

A file that a manifest describes, in its folder or one above it, must have the bytes that stand there, and in a run the
manifest those that the run wrote. A sealed file bears a digest of itself. Any other file, as people copy them from
machine to machine, is checked for shape and ranges alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from common.errors import DamagedError, HunminError, UserError
from common.files import read_bytes, sha256_file
from common.manifest import MANIFEST, Manifest
from common.noted_manifest import manifests_above, noted_manifest
from common.secrets import masked_urls
from common.settings import settings_hash

FACTS, DIGEST = "hunmin", "digest"
"""Keys of a sealed file: what it is a result of, and a hash of all else in the file."""
Bounds = tuple[float, float]
PERCENT = (0, 100)
CORRELATION = (-100, 100)
SHARE = (0, 1)
AMOUNT = (0, 2**63)
FINITE = (-1e300, 1e300)
"""Of scores × 100, of correlations × 100, of shares, of counts and losses, and of any figure."""
SPREAD = ("mean", "sd")
"""Keys of a number over seeds, beside their count."""
ROUNDING = 1e-6
"""How far beyond its bounds a sum of rounded numbers may be."""
UNFIT = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading a tree of another shape raises."""
HIGHEST = 7
"""Folders above a file in which a manifest may describe it: made/embed-…/scores/mteb/results/MODEL/HASH/TASK.json."""


def check_numbers(
    tree: Any, bounds_of: Callable[[str], Bounds | None] = lambda _: None, other: Bounds = AMOUNT,
    name: str = "it", bounds: Bounds | None = None,
) -> None:  # fmt: skip
    """Raise a ValueError where a tree holds an impossible number, or something else where a number belongs.

    Args:
        tree: of JSON.
        bounds_of: key → bounds of its number, or of the numbers in its list or spread, which are None where they are
            undefined; None of a key that says nothing.
        other: bounds of figures elsewhere; whole numbers there are counts.
        name, bounds: of the tree itself.
    """
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else ((name, element) for element in tree):
            inner = bounds_of(key) or (bounds if key in (name, *SPREAD) else None)
            if bounds and not inner:
                raise ValueError(f"{name} is no number")
            check_numbers(value, bounds_of, other, key, inner)
    elif bounds and tree is None:
        return
    elif bounds or type(tree) in (int, float):
        low, high = bounds or (AMOUNT if type(tree) is int else other)
        if type(tree) not in (int, float) or not low - ROUNDING <= tree <= high + ROUNDING:
            raise ValueError(f"{name} is {str(tree)[:40]}, not a number from {low:g} to {high:g}")


def check_distinct(rows: Sequence[dict[str, Any]], *keys: str) -> None:
    """Raise a ValueError where two rows are of the same, by the values of these keys."""
    first: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        if (before := first.setdefault(settings_hash([row.get(key) for key in keys]), number)) != number:
            raise ValueError(f"rows {before} and {number} are of the same {', '.join(keys)}")


def manifest_of(folder: Path) -> Manifest | None:
    """Return a folder's manifest, None where there is none.

    Raises:
        HunminError: it is damaged, is not the one that the folder's run wrote, or holds impossible counts.
    """
    if manifest := noted_manifest(folder.resolve()):
        refuse_unfit(
            folder / MANIFEST, lambda: check_numbers(manifest.counts, other=FINITE), "run the stage again (--from)"
        )
    return manifest


def check_unchanged(path: Path, fix: str = "") -> bool:
    """Return whether a manifest describes a file, whose bytes are then the ones that were written.

    Raises:
        DamagedError: they are not, or the file is gone or was added.
    """
    path = path.resolve()
    for folder, manifest in manifests_above(path.parent, HIGHEST):
        written = manifest.outputs.get(path.relative_to(folder).as_posix())
        if written is None and (folder != path.parent or not path.exists()):
            return False
        if written is None or not path.is_file() or sha256_file(path) != written["sha256"]:
            raise unfit(path, f"{folder / MANIFEST} describes other bytes", fix)
        return True
    return False


def is_there(path: Path) -> bool:
    """Return whether a result is there. Raises DamagedError where a manifest describes one that is not, or others."""
    return check_unchanged(path) or path.is_file()


def read_result(path: Path, check: Callable[[Any], object] = check_numbers, fix: str = "", sealed: bool = False) -> Any:
    """Return what a result file holds: a tree of JSON, of .jsonl a list of rows; digests are left out.

    Args:
        path: of the file.
        check: raises one of `UNFIT` for a tree or row that is none of this kind.
        fix: what to do, beside restoring the file from a copy.
        sealed: whether the file must have a digest; one that has `FACTS` must in any case.

    Raises:
        DamagedError: the file is not as it was written.
        UserError: nothing says how it was written, and it holds no such result.
    """
    lines = path.suffix == ".jsonl"
    own = check_unchanged(path, fix) or sealed
    rows = list[Any]()
    try:
        text = read_bytes(path).decode()
        for line in text.removesuffix("\n").split("\n") if lines and text else [text]:
            row = json.loads(line)
            json.dumps(row, ensure_ascii=False).encode()  # lone surrogates cannot be printed
            if sealed or (isinstance(row, dict) and not row.keys().isdisjoint((FACTS, DIGEST))):
                own = True
                if row.pop(DIGEST) != settings_hash(row):
                    raise ValueError("its digest is of other content")
            check(row)
            rows.append(row)
    except (OSError, *UNFIT) as error:
        raise unfit(path, error, fix, own, f"line {len(rows) + 1}: " if lines else "") from None
    return rows if lines else rows[0]


def refuse_unfit(path: Path, check: Callable[[], object], fix: str = "", own: bool = True) -> None:
    """Raise the error of a file where a check of what it holds raises one of `UNFIT`; see `unfit`."""
    try:
        check()
    except UNFIT as error:
        raise unfit(path, error, fix, own) from None


def unfit(path: Path, why: object, fix: str = "", own: bool = True, where: str = "") -> HunminError:
    """Return the error of a file that is missing, or holds no result as it was written; `own`: Hunmin says how."""
    reason = f"it lacks {why}" if isinstance(why, LookupError) else why
    if isinstance(why, TypeError | AttributeError | RecursionError):
        reason = "it has another shape"
    return (DamagedError if own else UserError)(
        f"{path} is damaged or was changed: {where}{reason}" if path.exists() else f"{path} is missing",
        "a result is shown as it was written, each number within the range of what it measures",
        f"restore it from a copy{fix and f', or {fix}'}",
    )


def encoded(tree: dict[str, Any], indent: int | None = 1) -> bytes:
    """Return the bytes of a sealed file or, without an indent, of a row of one; secrets in it are masked."""
    tree = plain(tree)
    return json.dumps(tree | {DIGEST: settings_hash(tree)}, ensure_ascii=False, indent=indent).encode()


def plain(tree: dict[str, Any]) -> Any:
    """Return a tree as it comes back from a file."""
    return json.loads(masked_urls(json.dumps(tree, ensure_ascii=False)))
