"""`hunmin clean`: the folders of a run that nothing needs, listed, and removed when asked."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from common.errors import DiskFullError, HunminError, UserError
from common.facts import Facts
from common.files import human_size, read_bytes
from common.lock import locked
from common.manifest import MANIFEST, WORK_MARK, Manifest, added_files, read_manifest
from common.once import read_mark, with_lineage
from common.progress import console, duration, say
from common.stage_folders import CURRENT, CURRENT_FOLDERS, MADE, UNFINISHED, folder_of, read_current
from hunmin.embed.stages import ALONE
from hunmin.instruct.stages import INSTRUCT_STAGES
from hunmin.pipeline.stages import STAGES
from hunmin.pipeline.state import RunFolder
from pretrain.training_stage import checkpoints_in

NAME = re.compile(r"(?P<stage>[a-z]+)-[0-9a-f]{10}(\.\d+)?")
"""Name of a folder below `MADE`: corpus-3f9a1c2e21, pretrain-77b20c11de.2."""
SHARED = re.compile(r"units-[0-9a-f]+|\.units-.*|jobs")
"""Names of folders of pieces, which several works share: parts of corpora (with a dot while they are removed), KLUE's
jobs."""
REMOVED = ".removed.json"
"""Name of the manifest or mark of a folder from the moment that its files are removed."""
DATA = (".parquet", ".bin", ".safetensors", ".npy", ".jsonl", ".log", ".tmp")
"""Ends of the names of a stage's data and logs."""


def unneeded(run: Path) -> list[dict[str, Any]]:
    """Return {"folder", "bytes", "age" in seconds, "state", "steps", "differs"} of each folder that nothing needs.

    Needed is what counts, what is at work, the newest unfinished folder of each stage, and all that these were made of;
    of the folders of pieces, parts that are newer than the corpus, and the jobs of KLUE.

    Raises:
        UserError: the folder is no run.
    """
    made = run / MADE
    if not made.is_dir() or not (run / CURRENT).exists():
        lacking = CURRENT if made.is_dir() else f"folder {MADE}"
        raise UserError(f"{run} holds no {lacking}", "a run folder is the `out` of a recipe", "name one")
    return [_described(run, path) for path in sorted(made.iterdir()) if path.name in set(_unneeded_names(run))]


def _unneeded_names(run: Path) -> Iterator[str]:
    current, made = read_current(run), run / MADE
    roots = [*current[CURRENT_FOLDERS].values(), *current[UNFINISHED].values()]
    unfinished = [path for path in made.iterdir() if NAME.fullmatch(path.name) and read_mark(path)]
    unfinished.sort(key=lambda path: (path / WORK_MARK).stat().st_mtime)
    newest = {path.name.partition("-")[0]: path.name for path in unfinished}
    needed = {name for root in (*roots, *newest.values()) for name in with_lineage(made / root)}
    corpus = folder_of(run, "corpus") / MANIFEST
    finished = corpus.stat().st_mtime if corpus.is_file() and "corpus" not in newest else 0.0
    for path in made.iterdir():
        if path.is_symlink() or not path.is_dir() or path.name in needed:
            continue
        if SHARED.fullmatch(path.name):
            if path.name != "jobs" and path.stat().st_mtime < finished:
                yield path.name
            continue
        known = any((path / name).exists() for name in (MANIFEST, WORK_MARK, REMOVED))
        if NAME.fullmatch(path.name) and known and _own_files(path):
            yield path.name


def _described(run: Path, folder: Path) -> dict[str, Any]:
    files = [path.lstat() for path in folder.rglob("*") if path.is_file() or path.is_symlink()]
    manifest = _manifest(folder)
    steps = checkpoints_in(folder)
    return {
        "folder": folder.name,
        "bytes": sum(file.st_size for file in files),
        "age": max(0.0, time.time() - max((file.st_mtime for file in files), default=time.time())),
        "state": "whole" if manifest else "parts" if SHARED.fullmatch(folder.name) else "unfinished",
        "steps": max(steps) if steps else None,
        "differs": _differences(run, folder, Facts.of(manifest) if manifest else read_mark(folder)),
    }


def _differences(run: Path, folder: Path, facts: Facts | None) -> list[str]:
    match = NAME.fullmatch(folder.name)
    stage = next((each for each in (*STAGES, *INSTRUCT_STAGES, ALONE) if match and each.folder == match["stage"]), None)
    counts = _manifest(folder_of(run, stage.folder)) if stage else None
    if not facts or not stage or not counts:
        return []
    differing = RunFolder(run).work(stage).differences(facts, Facts.of(counts))
    return [*differing.settings, *differing.inputs, *differing.rules]


def _manifest(folder: Path) -> Manifest | None:
    """Return a folder's manifest, also of one whose removal was stopped; None where it cannot be read."""
    with suppress(HunminError):
        if manifest := read_manifest(folder):
            return manifest
    with suppress(OSError, ValueError):
        return Manifest.model_validate_json(read_bytes(folder / REMOVED))
    return None


def clean(run: Path) -> list[dict[str, Any]]:
    """Remove what nothing needs, and return it as `unneeded` does. Files that a stage has not written stay, with their
    folder; links are not followed.

    Raises:
        UserError: a command is at work in the run, or the folder is none.
    """
    with locked(run):
        rows = unneeded(run)
        for row in rows:
            _remove(run / MADE / row["folder"])
    return rows


def _remove(folder: Path) -> None:
    for name in (MANIFEST, WORK_MARK):  # from here on it is neither whole nor to be continued
        with suppress(FileNotFoundError):
            (folder / name).rename(folder / REMOVED)
    for path in _own_files(folder):
        path.unlink()
    folders = [path for path in folder.rglob("*") if path.is_dir() and not path.is_symlink()]
    for path in sorted(folders, reverse=True):  # what is in a folder before the folder
        with suppress(OSError):
            path.rmdir()
    if [path.name for path in folder.iterdir()] == [REMOVED]:
        (folder / REMOVED).unlink()
        folder.rmdir()


def _own_files(folder: Path) -> list[Path]:
    """Return the files that a stage, or KLUE's jobs, have written into a folder; the note of its removal is none."""
    files = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    trained = tuple(f"{path.relative_to(folder).as_posix()}/" for path in checkpoints_in(folder).values())
    manifest = _manifest(folder)
    others = set(added_files(folder, manifest)) if manifest else set()

    def is_own(path: Path) -> bool:
        name = path.relative_to(folder).as_posix()
        if name.startswith(trained) or SHARED.fullmatch(folder.name):
            return True
        # of unfinished work nothing says which files it has written: its data is known by its kind
        return name not in others if manifest else path.suffix in DATA or path.name in (WORK_MARK, MANIFEST)

    return [path for path in files if path.name != REMOVED and is_own(path)]


@contextmanager
def told_what_nothing_needs(run: Path) -> Iterator[None]:
    """Say at the end of a `with` block, and where it fills the disk, how much of a run could be removed."""

    def say_it() -> None:
        if (run / MADE).is_dir() and (run / CURRENT).is_file() and (rows := unneeded(run)):
            size = human_size(sum(row["bytes"] for row in rows))
            say(f"{size} in {len(rows)} folders that nothing needs: hunmin clean {shlex.quote(str(run))}")

    try:
        yield
    except DiskFullError:
        say_it()
        raise
    say_it()


def print_unneeded(run: Path, rows: list[dict[str, Any]], removed: bool) -> None:
    """Print a table of what nothing needs, or was removed, and the command that removes it."""
    if not rows:
        console(stderr=False).print("nothing to remove: every folder of the run counts, or is at work")
        return
    table = Table()
    for name in ("folder", "size", "last written", "state", "differs from what counts"):
        table.add_column(name, justify="right" if name == "size" else "left")
    for row in rows:
        state = row["state"] + (f", {row['steps']:,} steps" if row["steps"] else "")
        differs = "; ".join(row["differs"][:3]) + ("; …" if len(row["differs"]) > 3 else "")
        table.add_row(
            row["folder"], human_size(row["bytes"]), f"{duration(row['age'])} ago", state, Text(differs or "–")
        )
    console(stderr=False).print(table)
    size = human_size(sum(row["bytes"] for row in rows))
    total = f"removed {size}" if removed else f"{size} in all; remove them: hunmin clean {run} --remove"
    console(stderr=False).print(Text(total))
