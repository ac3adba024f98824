"""Do the units of a catalogue: all that are not finished, or this process's share of them."""

from __future__ import annotations

from common.errors import UserError
from common.progress import ProgressBar
from data.executors import ALONE, Crew, Executor, Failures, Share, ShareDone, raise_failures
from data.readers import InputFile
from data.readers.volume import file_bytes, file_version
from data.units.catalog import Catalog, Missing
from data.units.whole import AnyWork, WholeDone
from data.units.work import UnitDone, UnitWork

STAGE_DONE = "the stage is done: another element has ended it"
UNITS_DONE = "all units are done; the same command without --units-only goes on"
MISSING_SHOWN = 10
"""Files named in the message of an element that is done before others."""


def do_units(
    catalog: Catalog, function: UnitWork, execute: Executor, crew: Crew = ALONE, units_only: bool = False
) -> None:
    """Do every unit that is not finished and is this process's; return if it is the one to go on with the stage.

    Args:
        catalog: the units.
        function: what is done with one.
        execute: does them.
        crew: whose units these are.
        units_only: nobody goes on with the stage; a later command does.

    Raises:
        ShareDone: it is not, and why.
        HunminError: units failed; all others are done.
    """
    share = crew.share(
        lambda: [_stored_bytes(file) for file in catalog.files],
        lambda: [catalog.is_sought(number) for number in range(len(catalog.files))],
    )
    try:
        catalog.look_at(crew.peers(function.folder, execute), share)
    except FileNotFoundError:
        crew.ended(STAGE_DONE)
        raise
    _do(catalog, function, execute, share)
    if share is None:
        if units_only:
            raise ShareDone(UNITS_DONE)
        return
    try:
        missing = catalog.missing()
        if missing:
            raise ShareDone(_still_missing(missing, catalog, share, units_only))
        if units_only:
            raise ShareDone(UNITS_DONE)
        crew.finishes(function.folder, execute)
    except FileNotFoundError:
        crew.ended(STAGE_DONE)


def _do(catalog: Catalog, function: UnitWork, execute: Executor, share: Share | None) -> None:
    failures = Failures()
    size = catalog.text_bytes(share)
    rejects = 0
    with ProgressBar("corpus", size and size / 1e6, "MB") as bar:

        def report(done: UnitDone | WholeDone) -> None:
            nonlocal rejects
            rejects += done.rejects
            if isinstance(done, WholeDone):
                catalog.take_whole(done, failures)
            for damage in done.damages:
                catalog.set_aside.add(damage.path, damage.reason)
            finished, catalog.finished_bytes = catalog.finished_bytes, 0
            bar.skip(finished / 1e6)
            bar.advance(done.bytes / 1e6, f"{rejects:,} rejects")

        execute(AnyWork(function), catalog.pending(failures, share), report, failures)
        bar.skip(catalog.finished_bytes / 1e6)
    raise_failures(failures)


def _stored_bytes(file: InputFile) -> int:
    size = file_bytes(file.path)
    if size is None or file_version(file.path).facts is None:
        raise UserError(
            f"{file.path}: neither size nor version is known before it is read",
            "the elements of an array share out files by size and know them by their version",
            "fetch the file first and name the copy, or use --executor local or ray",
        )
    return size


def _still_missing(missing: list[Missing], catalog: Catalog, share: Share, units_only: bool) -> str:
    """Return what an element says when others have not done their shares."""
    owners = {share.owner(one.file, block) for one in missing for block in (one.blocks or (None,))}
    names = [
        f"{catalog.files[one.file].path} ({'not read' if one.blocks is None else f'{len(one.blocks)} units'})"
        for one in missing[:MISSING_SHOWN]
    ]
    names += [f"and {len(missing) - MISSING_SHOWN} files more"] if len(missing) > MISSING_SHOWN else []
    ranks = ", ".join(str(owner) for owner in sorted(owner for owner in owners if owner is not None))
    return (
        f"{share.name} is done; not there yet: " + ", ".join(names) + "\n"
        f"  of elements {ranks or 'that read the largest files'}: they wait or work, or are lost\n  "
        + ("" if units_only else "the last one finishes the stage; ")
        + "should none be left, the same command with --executor local does the rest"
    )
