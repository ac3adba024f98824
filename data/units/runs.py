"""Do the units of a catalogue that are not finished."""

from __future__ import annotations

from common.progress import ProgressBar
from data.executors import Executor, Failures, raise_failures
from data.units.catalog import Catalog
from data.units.whole import AnyWork, WholeDone
from data.units.work import UnitDone, UnitWork


def do_units(catalog: Catalog, function: UnitWork, execute: Executor) -> None:
    """Do every unit of the catalogue that is not finished.

    Raises:
        HunminError: units failed; all others are done.
    """
    catalog.look_at(execute)
    failures = Failures()
    size = catalog.text_bytes()
    rejects = 0
    with ProgressBar("corpus", size and size / 1e6, "MB") as bar:

        def report(done: UnitDone | WholeDone) -> None:
            nonlocal rejects
            rejects += done.rejects
            if isinstance(done, WholeDone):
                catalog.take_whole(done, failures)
            for path, reason in done.damages:
                catalog.quarantine.add(path, reason)
            finished, catalog.finished_bytes = catalog.finished_bytes, 0
            bar.skip(finished / 1e6)
            bar.advance(done.bytes / 1e6, f"{rejects:,} rejects")

        execute(AnyWork(function), catalog.pending(failures), report, failures)
        bar.skip(catalog.finished_bytes / 1e6)
    raise_failures(failures)
