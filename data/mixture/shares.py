"""The mixture of a corpus: two passes over ids, sources and sizes of what its parts keep, none over text.

A rate says how often the documents of a source come in a pass; a draw depends on (seed, purpose, source, id) alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from common.errors import UserError, nearest
from common.progress import say
from data.mixture.settings import MixtureSettings, SourceShare
from data.shards import read_columns
from data.statistics.counts import Counters, merge, sort_counters

DIGITS = 9
"""Decimals of a rate: what rounding leaves of a 1 is a 1."""


def rates_of(sizes: Mapping[str, int], settings: MixtureSettings) -> dict[str, float]:
    """Return the rate of each source: how often a document of it comes in a pass, on average, ≥ 0.

    A source with `epochs` has that rate. The others share out as many bytes as they have together: source i gets
    weight_i · n_i^α / Σ weight_j · n_j^α of them (Conneau and Lample 2019, section 3.1, for its n^α; Xue et al. 2021,
    section 3.2), but none more than `max_epochs` times what it has; what is left over goes to those below the bound in
    the same proportions (Chung et al. 2023, "UniMax", algorithm 1).

    Args:
        sizes: bytes of each source, what is held out or over a cap not counted.

    >>> rates_of({"news": 900, "talk": 100}, MixtureSettings(alpha=0.5))
    {'news': 0.833333333, 'talk': 2.5}
    """
    default = SourceShare()
    chosen = {name: settings.sources.get(name, default) for name in sizes}
    rates = {name: float(share.epochs) for name, share in chosen.items() if share.epochs is not None}
    open_ = sorted(name for name in sizes if name not in rates and sizes[name])
    rates |= {name: 1.0 for name in sizes if name not in rates and not sizes[name]}
    left = float(sum(sizes[name] for name in open_))
    while open_:
        weighted = {name: chosen[name].weight * float(sizes[name]) ** settings.alpha for name in open_}
        whole = math.fsum(weighted.values())
        open_rates = {name: round(left * weighted[name] / whole / sizes[name], DIGITS) for name in open_}
        full = [name for name in open_ if open_rates[name] > settings.max_epochs]
        if not full:
            rates |= open_rates
            break
        rates |= dict.fromkeys(full, float(settings.max_epochs))
        left -= settings.max_epochs * sum(sizes[name] for name in full)
        open_ = [name for name in open_ if name not in full]
    return {name: rates[name] for name in sizes}


Purpose = Literal["held out", "cap", "copies"]
"""Purpose of a draw; draws of different purposes are independent."""


def draws(sources: Sequence[str], ids: Sequence[str], seed: int, purpose: Purpose) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each document, as if drawn evenly: xxh3_64 of purpose, source and id, / 2^64."""
    pairs = zip(sources, ids, strict=True)
    hashes = [xxh3_64_intdigest(f"{purpose}\0{source}\0{id}".encode(), seed) for source, id in pairs]
    return (np.array(hashes, np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def copies(rates: NDArray[np.float64], drawn: NDArray[np.float64]) -> NDArray[np.int16]:
    """Return how often each document comes, ⌊rate + draw⌋: the rate on average, and never further than 1 from it."""
    return np.floor(rates + drawn).astype(np.int16)


def cap_threshold(drawn: NDArray[np.float64], sizes: NDArray[np.int64], most: float) -> float:
    """Return the draw below which documents stay so that they hold `most` bytes together, or less.

    Documents of one draw stay or go together.
    """
    order = np.argsort(drawn, kind="stable")
    over = np.flatnonzero(np.cumsum(sizes[order]) > most)
    return float(drawn[order[over[0]]]) if len(over) else 1.0


FEW_IDS, MOST_IDS = 100, 10_000
"""Documents of a source from which on a warning says that half of them, or more, repeat an id; ids counted at most."""
OUT, HELD_OUT = -1, 0
"""Numbers of copies that are none: the document is not in the mixture; it is held out for validation."""


SHARED_IDS = (
    "many documents of source '{}' share an id: the mixture draws by id, so it holds out, leaves out or repeats them "
    "together; set the source's id_field to a field that tells its records apart"
)


class Mixed(NamedTuple):
    """The mixture of a corpus."""

    copies: list[NDArray[np.int16]]
    """For each part the copies of each document: `OUT`, `HELD_OUT`, or how often it comes in a pass."""
    counts: Counters
    """Source → "before", "left_out", "held_out", "pass" (as often as it comes), each documents and bytes; "rate"."""


class _Rows(NamedTuple):
    places: NDArray[np.int64]
    sources: NDArray[np.str_]
    ids: list[str]
    sizes: NDArray[np.int64]

    def drawn(self, seed: int, purpose: Purpose) -> NDArray[np.float64]:
        return draws(self.sources.tolist(), self.ids, seed, purpose)


def mix(parts: list[Path], keep: list[NDArray[np.bool_]], settings: MixtureSettings) -> Mixed:
    """Return how often each document comes, and the counts by source.

    Held-out documents are drawn first, then those under a source's cap, then the copies of the others; the first and
    the last depend on a document alone but for the rates.

    Args:
        keep: masks of their documents that are no duplicates.

    Raises:
        UserError: a source is named that the corpus does not have, or a cap keeps nothing of one.
    """
    thresholds, sizes = _sizes(parts, keep, settings)
    rates = rates_of(sizes, settings)
    by_part: list[NDArray[np.int16]] = []
    counts: Counters = {}
    for (rows, held_out, capped), mask in zip(_passed(parts, keep, settings, thresholds), keep, strict=True):
        rate = np.array([rates[name] for name in rows.sources.tolist()], np.float64)
        times = copies(rate, rows.drawn(settings.seed, "copies"))
        times[times == 0] = OUT
        times[capped] = OUT
        times[held_out] = HELD_OUT
        whole = np.full(len(mask), OUT, np.int16)
        whole[rows.places] = times
        by_part.append(whole)
        _count(counts, rows, times)
    by_source = {name: {"rate": rates[name], **of_source} for name, of_source in counts.items()}
    return Mixed(by_part, sort_counters(by_source))


def _sizes(
    parts: list[Path], keep: list[NDArray[np.bool_]], settings: MixtureSettings
) -> tuple[dict[str, float], dict[str, int]]:
    """Return the draw below which documents of a capped source stay, and the bytes of each source that are left."""
    sizes: dict[str, int] = {}
    capped: dict[str, list[tuple[NDArray[np.float64], NDArray[np.int64]]]] = {}
    looked_at: dict[str, _Ids] = {}
    for rows, held_out, _ in _passed(parts, keep, settings, {}):
        for name in np.unique(rows.sources).tolist():
            of_source = rows.sources == name
            looked_at.setdefault(name, _Ids()).add([rows.ids[place] for place in np.flatnonzero(of_source)])
            mine = of_source & ~held_out
            sizes[name] = sizes.get(name, 0) + int(rows.sizes[mine].sum())
            if (share := settings.sources.get(name)) and share.max_mb is not None:
                ids = [id for id, chosen in zip(rows.ids, mine.tolist(), strict=True) if chosen]
                pair = draws([name] * len(ids), ids, settings.seed, "cap"), rows.sizes[mine]
                capped.setdefault(name, []).append(pair)
    for name, seen in looked_at.items():
        if seen.documents >= max(FEW_IDS, 2 * seen.distinct):
            say(f"warning: {SHARED_IDS.format(name)}", style="yellow")
    for name in settings.sources:
        if name not in sizes:
            raise UserError(
                f"corpus.mixture.sources names '{name}', which no document that is left comes from"
                + nearest(name, list(sizes)),
                "sources are named as in `hunmin corpus stats`: by `name`, by the records' field, or by the file",
                f"the sources are {', '.join(sorted(sizes)[:20])}" + (", …" if len(sizes) > 20 else ""),
            )
    thresholds: dict[str, float] = {}
    for name, pairs in capped.items():
        drawn, bytes_ = (np.concatenate(column) for column in zip(*pairs, strict=True))
        thresholds[name] = cap_threshold(drawn, bytes_, (settings.sources[name].max_mb or 0) * 1e6)
        sizes[name] = int(bytes_[drawn < thresholds[name]].sum())
        if len(bytes_) and not sizes[name]:
            raise UserError(
                f"the max_mb of source '{name}' in corpus.mixture, {settings.sources[name].max_mb:g}, keeps none of "
                f"its {len(bytes_):,} documents",
                "documents stay or go whole, and those that share an id go together",
                "raise max_mb, set the source's id_field to a field that tells its records apart, or set epochs: 0",
            )
    return thresholds, sizes


class _Ids:
    """Number of documents of a source, and of distinct ids (an estimate from a sample where there are very many)."""

    def __init__(self) -> None:
        self.documents = 0
        self._step = 1
        self._sample: set[int] = set()

    @property
    def distinct(self) -> int:
        return len(self._sample) * self._step

    def add(self, ids: list[str]) -> None:
        self.documents += len(ids)
        self._sample |= {
            code for id in ids if (code := xxh3_64_intdigest(id.encode("utf-8", "surrogatepass"))) % self._step == 0
        }
        while len(self._sample) > MOST_IDS:
            self._step *= 2
            self._sample = {code for code in self._sample if code % self._step == 0}


def _passed(
    parts: list[Path], keep: list[NDArray[np.bool_]], settings: MixtureSettings, thresholds: dict[str, float]
) -> Iterator[tuple[_Rows, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield for each part the documents that stay, which are held out, and which go because of a cap."""
    left_out = [name for name, share in settings.sources.items() if share.epochs == 0]
    for part, mask in zip(parts, keep, strict=True):
        table = read_columns(part, ["id", "source", "bytes"])
        places = np.flatnonzero(mask)
        names = np.array(table.column("source").to_pylist(), np.str_)[places]
        ids = table.column("id").to_pylist()
        rows = _Rows(places, names, [ids[place] for place in places], table.column("bytes").to_numpy()[places])
        held_out = (rows.drawn(settings.seed, "held out") < settings.held_out) & ~np.isin(names, left_out)
        over = np.zeros(len(places), bool)
        for name, threshold in thresholds.items():
            mine = np.flatnonzero((names == name) & ~held_out)
            over[mine] = draws([name] * len(mine), [rows.ids[n] for n in mine], settings.seed, "cap") >= threshold
        yield rows, held_out, over


def _count(counts: Counters, rows: _Rows, times: NDArray[np.int16]) -> None:
    kinds = {
        "before": np.ones(len(times), np.int64),
        "left_out": (times == OUT).astype(np.int64),
        "held_out": (times == HELD_OUT).astype(np.int64),
        "pass": np.maximum(times, 0).astype(np.int64),
    }
    for name in np.unique(rows.sources).tolist():
        mine = rows.sources == name
        of_source = {
            kind: {"documents": int(how[mine].sum()), "bytes": int((how * rows.sizes)[mine].sum())}
            for kind, how in kinds.items()
        }
        merge(counts.setdefault(name, {}), of_source)
