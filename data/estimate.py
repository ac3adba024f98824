"""Cost of a corpus, step by step: hours by number of cores, memory, disk. Arithmetic on measured rates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from common.compressed import compression_of
from common.progress import console
from common.secrets import masked_urls
from common.tables import facts_table, rows_table
from common.units import count, size, span
from data.corpus import CorpusSettings, corpus_files
from data.deduplicate.equal_documents import partitions_of
from data.deduplicate.groups import GROUP_PARTS
from data.deduplicate.limits import memory_here, near_bytes, refuse_beyond
from data.deduplicate.near import NEAR_THRESHOLD, choose_bands
from data.deduplicate.near_copies import ranges_of
from data.units.fields import check_fields
from data.units.survey import Way, document_bytes, survey

LISTED = 20
"""Files that can only be read from their beginning, of which the largest are listed."""
MOST_UNITS = 200_000
"""More units make more files than one folder is quick with."""
CORES = (1, 8, 64, 256, 1024)
HOUR = 3600.0
RATES: Mapping[str, float] = {
    # bytes of text a second
    "unit": 4.9e6,  # from raw lines to parts
    "look": 2_505e6,  # looked through for line ends
    "shards": 47e6,
    "sign": 69e6,  # signatures of near copies, made in the units
    ".zst": 922e6,
    ".gz": 245e6,
    ".xz": 85e6,
    # seconds a document
    "keys": 2.2e-7,  # to gather its key
    "twins": 4.6e-7,  # to compare it with equal ones
    "report": 3.5e-7,
    "bands": 2.4e-6,  # to gather its signature and the keys of its bands
    "like": 6.6e-6,  # to compare it in all bands, and in its cluster
    "clusters": 2.4e-7,
    # seconds a unit, of the process that ends the stage
    "end": 5.7e-4,
}
"""Rates of one core, measured on an AMD EPYC beside other work, 2026-11-25; units by `scripts/bench_corpus.py`."""
PART_SHARE, SHARD_SHARE = 0.5, 1 / 3
"""Disk that parts and shards take of the text they hold, at most."""
KEY_DISK, NEAR_DISK = 30, 1260
"""Disk of a document while the stage runs: keys and pairs; where near copies go, signatures, keys of bands, pairs."""
END_BASE = 700e6
END_UNIT = 2000
END_DOCUMENT = 2
"""Memory of the process that ends the stage: bytes at its start, a unit and a document."""
WORKER_BYTES = 700e6
"""Memory of a worker, about: of units of 8 MB (0.53 GB were seen for 180 MB of text), or of a partition of the keys."""
WAYS = {
    "ranges": "read by range, by any worker",
    "parts": "read by row groups or rows, by any worker",
    "beginning": "read from the beginning, by one worker each",
}


@dataclass(frozen=True)
class Archive:
    """A file that can only be read from its beginning."""

    suffix: str
    """Suffix of its compression; "" without one."""
    stored: float
    """Bytes as it is stored."""
    text: float
    """Bytes of what it holds."""


@dataclass(frozen=True)
class Volume:
    """Size of the inputs."""

    text: float
    """Bytes of text."""
    units: int
    """Work units."""
    documents: float
    """Estimated number of documents."""
    ranged: float = 0.0
    """Bytes of files that are read by range."""
    archives: tuple[Archive, ...] = ()


def corpus_plan(settings: CorpusSettings, cores: Sequence[int] = CORES) -> dict[str, Any]:
    """Return the `estimate` of a corpus, and its inputs: files, bytes, ways to read them, units.

    Raises:
        UserError: an input is not there or not read; or duplicates are to be looked for that this machine cannot.
    """
    files = corpus_files(settings)
    unit_bytes = int(settings.unit_mb * 1e6)
    check_fields(files)
    surveyed = survey(files, unit_bytes)
    known = [(file, file.stored, file.text) for file in surveyed if file.stored is not None and file.text is not None]
    text = sum(text for *_, text in known)
    mean = document_bytes(files)
    documents = text / mean if mean else 0.0
    refuse_beyond(settings.deduplicate, documents, text, memory_here())
    archives = [
        (Archive(compression_of(file.file.path) or "", stored, text), masked_urls(file.file.path))
        for file, stored, text in known
        if file.way == "beginning"
    ]
    volume = Volume(
        text=text,
        units=sum(max(1, math.ceil(text / unit_bytes)) for *_, text in known),
        documents=documents,
        ranged=float(sum(stored for file, stored, _ in known if file.way == "ranges")),
        archives=tuple(archive for archive, _ in archives),
    )
    large = sorted(((x.stored, path) for x, path in archives if x.text > unit_bytes), key=lambda pair: -pair[0])
    ways = {way: [file.stored or 0 for file in surveyed if file.way == way] for way in get_args(Way)}
    near = NEAR_THRESHOLD if settings.deduplicate.near else None
    return {
        "files": len(files),
        "unknown_files": len(surveyed) - len(known),
        "stored_bytes": float(sum(stored for _, stored, _ in known)),
        "text_bytes": text,
        "document_bytes": mean,
        "documents": documents,
        "units": volume.units,
        "unit_bytes": unit_bytes,
        "ways": {way: {"files": len(stored), "stored_bytes": sum(stored)} for way, stored in ways.items()},
        "not_sought": [{"path": path, "stored_bytes": stored} for stored, path in large[:LISTED]],
        **estimate(volume, cores, settings.deduplicate.documents, near),
        "advice": _advice(volume, unit_bytes, max(cores)),
    }


def _advice(volume: Volume, unit_bytes: int, cores: int) -> list[str]:
    advice = []
    if hard := [archive for archive in _fed_by_one(volume, cores) if archive.text > unit_bytes]:
        advice.append(
            f"{len(hard)} files can only be read from their beginning and are larger than half a share of "
            f"{cores:,} cores: one reader feeds them all; decompressed, or cut into more files, many read them"
        )
    if volume.units > MOST_UNITS:
        better = unit_bytes / 1e6 * math.ceil(volume.units / MOST_UNITS)
        advice.append(f"{volume.units:,} units are as many files: set corpus.unit_mb={better:g}")
    return advice


def estimate(
    volume: Volume,
    cores: Sequence[int] = CORES,
    exact: bool = True,
    near: float | None = None,
    rates: Mapping[str, float] = RATES,
) -> dict[str, Any]:
    """Return {"steps": [{"step", "core_hours", "hours": {cores: hours}}], "hours" of all, partitions, memory, disk}.

    Args:
        exact: whether equal documents go.
        near: the threshold of near copies, where they go.
    """
    documents, text = volume.documents, volume.text
    partitions = partitions_of(documents)
    groups = max(1, -(-volume.units // GROUP_PARTS))
    bands = choose_bands(near)[0] * ranges_of(documents) if near else 0
    shared = [  # name, whether it is done, seconds of a core, tasks that cores can share (0: any number)
        ("line numbers", volume.ranged, volume.ranged / rates["look"], 0),
        ("keys of documents", exact, documents * rates["keys"], groups),
        ("equal documents", exact, documents * rates["twins"], partitions),
        ("signatures, in the units", near, text / rates["sign"], 0),
        ("signatures by band", near, documents * rates["bands"], groups),
        ("like documents", near, documents * rates["like"], bands),
        ("clusters of them, by one process", near, documents * rates["clusters"], 1),
        ("report of duplicates", exact or near, documents * rates["report"], groups),
        ("single-process part", True, volume.units * rates["end"], 1),
        ("shards", True, text / rates["shards"], 0),
    ]
    steps: list[dict[str, Any]] = [
        {"step": name, "core_hours": seconds / HOUR, "hours": {n: seconds / HOUR / min(n, tasks or n) for n in cores}}
        for name, done, seconds, tasks in shared
        if done
    ]
    steps.insert(1 if volume.ranged else 0, _units(volume, rates, cores))
    end = END_BASE + END_UNIT * volume.units + END_DOCUMENT * documents + (near_bytes(documents) if near else 0)
    disk = documents * ((KEY_DISK if exact else 0) + (NEAR_DISK if near else 0))
    return {
        "steps": steps,
        "hours": {n: sum(step["hours"][n] for step in steps) for n in cores},
        "partitions": partitions if exact else 0,
        "worker_bytes": WORKER_BYTES,
        "leader_bytes": end,
        "disk_bytes": text * (PART_SHARE + SHARD_SHARE) + disk,
        "corpus_bytes": text * SHARD_SHARE,
    }


def _fed_by_one(volume: Volume, cores: int) -> list[Archive]:
    """Return the archives that one process reads one after another for all cores; each of the others is one task."""
    half_share = sum(archive.stored for archive in volume.archives) / cores / 2
    return [archive for archive in volume.archives if cores == 1 or archive.stored > half_share]


def _units(volume: Volume, rates: Mapping[str, float], cores: Sequence[int]) -> dict[str, Any]:
    """Return the step of the units: shared by the cores, but not faster than files give their text."""

    def unpacking(archive: Archive) -> float:
        return archive.text / rates[archive.suffix] if archive.suffix in rates else 0.0

    seconds = volume.text / rates["unit"] + sum(map(unpacking, volume.archives))
    hours = {}
    for n in cores:
        fed = _fed_by_one(volume, n)
        alone = [unpacking(archive) + archive.text / rates["unit"] for archive in {*volume.archives}.difference(fed)]
        hours[n] = max(seconds / n, sum(map(unpacking, fed)), *alone) / HOUR
    return {"step": "units: cleaning to parts", "core_hours": seconds / HOUR, "hours": hours}


def print_corpus_plan(plan: dict[str, Any]) -> None:
    """Print a corpus's plan as tables on stdout."""
    inputs = [
        ("files", f"{plan['files']:,}, {size(plan['stored_bytes'])}"),
        *((WAYS[way], f"{sizes['files']:,}, {size(sizes['stored_bytes'])}") for way, sizes in plan["ways"].items()),
        ("text", size(plan["text_bytes"])),
        ("documents, about", count(plan["documents"])),
        ("units", f"{plan['units']:,} of {size(plan['unit_bytes'])}"),
        ("partitions of the keys", f"{plan['partitions']:,}"),
    ]
    room = [
        ("memory of a worker, about", size(plan["worker_bytes"])),
        ("memory of the process that ends the stage, about", size(plan["leader_bytes"])),
        ("disk while the stage runs, at most", size(plan["disk_bytes"])),
        ("finished corpus, at most", size(plan["corpus_bytes"])),
    ]
    columns = ["step", *(f"{n:,} core{'s' if n > 1 else ''}" for n in plan["hours"])]
    steps = [*plan["steps"], {"step": "in all", "hours": plan["hours"]}]
    hours = [[step["step"], *(span(value * HOUR) for value in step["hours"].values())] for step in steps]
    out = console(stderr=False)
    out.print(facts_table("Inputs", inputs))
    out.print(rows_table("Time, at rates measured on one machine", columns, hours))
    out.print(facts_table("Memory and disk", room))
    for file in plan["not_sought"]:
        out.print(f"only from its beginning: {file['path']} ({size(file['stored_bytes'])})")
    if plan["unknown_files"]:
        out.print(f"{plan['unknown_files']:,} files are of unknown size and not counted")
    for advice in plan["advice"]:
        out.print(advice)
