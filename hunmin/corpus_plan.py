"""What a recipe's corpus takes, step by step: hours against cores, memory, disk. Arithmetic of measured rates.

Every step is so many seconds of a core for what it has to do, shared by the cores as far as it can be: a file that can
only be read from its beginning is decompressed by one of them, and what one process does alone is shared by none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from common.compressed import COMPRESSED, compression_of
from common.secrets import masked_urls
from data.corpus import corpus_files
from data.deduplicate.equal_documents import partitions_of
from data.deduplicate.groups import GROUP_PARTS
from data.deduplicate.limits import memory_here, near_bytes, refuse_beyond
from data.deduplicate.near import choose_bands
from data.deduplicate.near_copies import ranges_of
from data.units.fields import check_fields
from data.units.survey import Surveyed, Way, document_bytes, survey
from hunmin.cost import TEXT_RATES
from hunmin.recipe import Recipe

LISTED = 20
"""Files that can only be read from their beginning, of which the largest are listed."""
MOST_UNITS = 200_000
"""More units make more files than one folder is quick with."""
CORES = (1, 8, 64, 256, 1024)
HOUR = 3600.0


@dataclass(frozen=True)
class Archive:
    """A file that can only be read from its beginning.

    Args:
        suffix: of its compression, "" where it has none.
        stored: bytes as it is stored.
        text: bytes of what it holds.
    """

    suffix: str
    stored: float
    text: float


@dataclass(frozen=True)
class Volume:
    """What the inputs hold.

    Args:
        stored: bytes of the files.
        text: bytes of their text.
        units: work units.
        documents: how many, about.
        ranged: bytes of files that are read by range.
        archives: files that can only be read from their beginning.
    """

    stored: float
    text: float
    units: int
    documents: float
    ranged: float = 0.0
    archives: tuple[Archive, ...] = ()


@dataclass(frozen=True)
class Rates:
    """How fast one core is; units by `scripts/bench_corpus.py`.

    Args:
        unit: bytes of text a second from raw lines to parts.
        look: bytes a second looked through for line ends.
        shards: bytes of text a second written as shards.
        serial: bytes of text a second that a compressor's files give, by suffix.
        keys: seconds a document to gather its key.
        twins: seconds a document to compare it.
        report: seconds a document for names and lines of the report.
        sign: bytes of text a second that units make signatures of.
        bands: seconds a document to gather its signature and band keys.
        like: seconds a document to compare it in all bands, and in its cluster.
        clusters: seconds a document of the process that clusters.
        leader: seconds a part of the process that ends the stage.
        key_disk: bytes a document of keys and pairs while the stage runs.
        near_disk: bytes a document of signatures, band keys and pairs, where near copies go.
    """

    unit: float
    look: float
    shards: float
    serial: Mapping[str, float]
    keys: float
    twins: float
    report: float
    sign: float
    bands: float
    like: float
    clusters: float
    leader: float
    key_disk: float
    near_disk: float


RATES = Rates(
    unit=TEXT_RATES["corpus"],
    look=2_505e6,
    shards=47e6,
    serial={".zst": 922e6, ".gz": 245e6, ".xz": 85e6},
    keys=2.2e-7,
    twins=4.6e-7,
    report=3.5e-7,
    sign=69e6,
    bands=2.4e-6,
    like=6.6e-6,
    clusters=2.4e-7,
    leader=5.7e-4,
    key_disk=30,
    near_disk=1260,
)
"""Measured on one core of an AMD EPYC beside other work, 2026-11-25."""
PART_SHARE, SHARD_SHARE = 0.5, 1 / 3
"""Disk that parts and shards take of the text they hold, at most."""
LEADER_BASE, LEADER_UNIT, LEADER_DOCUMENT = 700e6, 2000, 2
"""Memory of the process that ends the stage: bytes at its start, a unit and a document."""
WORKER_BYTES = 700e6
"""Memory of a worker, about: of units of 8 MB (0.53 GB were seen for 180 MB of text), or of a partition of the keys."""


def corpus_plan(recipe: Recipe, cores: Sequence[int] = CORES) -> dict[str, Any]:
    """Return what `estimate` does of a recipe's inputs, and the inputs: files, bytes, ways to read them, units.

    Raises:
        UserError: an input is not there or not read; or duplicates are to be looked for that this machine cannot.
    """
    settings = recipe.corpus
    files, unit_bytes = corpus_files(settings), int(settings.unit_mb * 1e6)
    check_fields(files)
    found = survey(files, unit_bytes)
    known = [one for one in found if one.stored is not None and one.text is not None]
    text = sum(one.text or 0.0 for one in known)
    mean = document_bytes(files)
    documents = text / mean if mean else 0.0
    from_beginning = [one for one in known if one.way == "beginning"]
    volume = Volume(
        stored=float(sum(one.stored or 0 for one in known)),
        text=text,
        units=sum(max(1, math.ceil((one.text or 0.0) / unit_bytes)) for one in known),
        documents=documents,
        ranged=float(sum(one.stored or 0 for one in known if one.way == "ranges")),
        archives=tuple(Archive(_packing(one.file.path), one.stored or 0, one.text or 0.0) for one in from_beginning),
    )
    near = settings.deduplicate.near_threshold if settings.deduplicate.near else None
    refuse_beyond(settings.deduplicate, documents, text, memory_here())
    ways = {way: [one for one in found if one.way == way] for way in get_args(Way)}
    large = [one for one in from_beginning if (one.text or 0) > unit_bytes]
    return {
        "files": len(files),
        "unknown_files": len(found) - len(known),
        "stored_bytes": volume.stored,
        "text_bytes": volume.text,
        "document_bytes": mean,
        "documents": documents,
        "units": volume.units,
        "unit_bytes": unit_bytes,
        "ways": {
            way: {"files": len(some), "stored_bytes": sum(one.stored or 0 for one in some)}
            for way, some in ways.items()
        },
        "not_sought": [
            {"path": masked_urls(one.file.path), "stored_bytes": one.stored}
            for one in sorted(large, key=lambda one: -(one.stored or 0))[:LISTED]
        ],
        **estimate(volume, RATES, cores, settings.deduplicate.documents, near),
        "advice": _advice(volume, unit_bytes, large, cores),
    }


def _packing(path: str) -> str:
    return compression_of(path) or ""


def _advice(volume: Volume, unit_bytes: int, large: list[Surveyed], cores: Sequence[int]) -> list[str]:
    """Return what would make the stage faster, in sentences."""
    found = []
    most = sum(one.stored for one in volume.archives) / max(cores) / 2
    if hard := [one for one in large if (one.stored or 0) > most]:
        found.append(
            f"{len(hard)} files can only be read from their beginning and are larger than half a share of "
            f"{max(cores):,} cores: one reader feeds them all; decompressed, or cut into more files, many read them"
        )
    if volume.units > MOST_UNITS:
        better = unit_bytes / 1e6 * math.ceil(volume.units / MOST_UNITS)
        found.append(f"{volume.units:,} units are as many files: set corpus.unit_mb={better:g}")
    return found


def rates_as_measured(readers: Mapping[str, float], costs: Mapping[str, float]) -> Rates:
    """Return the rates that a simulation measured.

    Args:
        readers: bytes a second: look, shards, sign, zst, gz, xz.
        costs: seconds: keys_per_document, twins_per_document, report_per_document, bands_per_document,
            like_per_document, clusters_per_document, leader_per_part; and bytes: disk_per_document,
            near_disk_per_document.
    """
    serial = {f".{name}": rate for name, rate in readers.items() if f".{name}" in COMPRESSED}
    return replace(
        RATES,
        look=readers["look"],
        shards=readers["shards"],
        serial=serial,
        keys=costs["keys_per_document"],
        twins=costs["twins_per_document"],
        report=costs["report_per_document"],
        sign=readers["sign"],
        bands=costs["bands_per_document"],
        like=costs["like_per_document"],
        clusters=costs["clusters_per_document"],
        leader=costs["leader_per_part"],
        key_disk=costs["disk_per_document"],
        near_disk=costs["near_disk_per_document"],
    )


def estimate(
    volume: Volume, rates: Rates = RATES, cores: Sequence[int] = CORES, exact: bool = True, near: float | None = None
) -> dict[str, Any]:
    """Return {"steps": [{"step", "core_hours", "hours": {cores: hours}}], "hours" of all, partitions, memory, disk}.

    Args:
        volume: what the inputs hold.
        rates: of a core.
        cores: numbers of cores to give hours for.
        exact: whether equal documents go.
        near: the threshold of near copies, where they go.
    """
    documents = volume.documents
    partitions = partitions_of(documents)
    groups = max(1, -(-volume.units // GROUP_PARTS))
    steps = []
    if volume.ranged:
        steps.append(_shared("line numbers", volume.ranged / rates.look, cores))
    steps.append(_units(volume, rates, cores))
    if exact:
        steps.append(_shared("keys of documents", documents * rates.keys, cores, groups))
        steps.append(_shared("equal documents", documents * rates.twins, cores, partitions))
    if near:
        steps.append(_shared("signatures, in the units", volume.text / rates.sign, cores))
        steps.append(_shared("signatures by band", documents * rates.bands, cores, groups))
        tasks = choose_bands(near)[0] * ranges_of(documents)
        steps.append(_shared("like documents", documents * rates.like, cores, tasks))
        steps.append(_shared("clusters of them, by one process", documents * rates.clusters, cores, 1))
    if exact or near:
        steps.append(_shared("report of duplicates", documents * rates.report, cores, groups))
    steps.append(_shared("what one process does alone", volume.units * rates.leader, cores, 1))
    steps.append(_shared("shards", volume.text / rates.shards, cores))
    keys_disk = documents * rates.key_disk if exact else 0.0
    near_disk = documents * rates.near_disk if near else 0.0
    return {
        "steps": steps,
        "hours": {n: sum(step["hours"][n] for step in steps) for n in cores},
        "partitions": partitions if exact else 0,
        "worker_bytes": WORKER_BYTES,
        "leader_bytes": LEADER_BASE
        + LEADER_UNIT * volume.units
        + LEADER_DOCUMENT * documents
        + (near_bytes(documents) if near else 0),
        "disk_bytes": volume.text * (PART_SHARE + SHARD_SHARE) + keys_disk + near_disk,
        "corpus_bytes": volume.text * SHARD_SHARE,
    }


def _shared(name: str, seconds: float, cores: Iterable[int], tasks: int | None = None) -> dict[str, Any]:
    """Return a step whose seconds are shared by the cores, as many of them as it has tasks."""
    hours = {n: seconds / HOUR / (min(n, tasks) if tasks else n) for n in cores}
    return {"step": name, "core_hours": seconds / HOUR, "hours": hours}


def _units(volume: Volume, rates: Rates, cores: Iterable[int]) -> dict[str, Any]:
    """Return the step of the units: shared by the cores, but not faster than files give their text.

    Of files that can only be read from their beginning, those of up to half a core's share are one task each; the
    larger ones are read one after another by one process, and worked on by all.
    """
    seconds = volume.text / rates.unit + sum(_serial(one, rates) for one in volume.archives)
    hours = {}
    for n in cores:
        most = sum(one.stored for one in volume.archives) / n / 2
        large = sum(_serial(one, rates) for one in volume.archives if n == 1 or one.stored > most)
        longest = max(
            (_serial(one, rates) + one.text / rates.unit for one in volume.archives if n > 1 and one.stored <= most),
            default=0.0,
        )
        hours[n] = max(seconds / n, large, longest) / HOUR
    return {"step": "units: cleaning to parts", "core_hours": seconds / HOUR, "hours": hours}


def _serial(archive: Archive, rates: Rates) -> float:
    """Return the seconds that one core takes to decompress a file."""
    return archive.text / rates.serial[archive.suffix] if archive.suffix in rates.serial else 0.0
