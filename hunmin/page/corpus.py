"""The corpus on the page: sources, lengths, what cleaning and filters removed. Counts alone; no text."""

from __future__ import annotations

from collections import Counter
from typing import Any

from data.statistics.table import MOST_SOURCES, bin_name, largest
from hunmin.page.facts import Facts
from hunmin.page.words import Words

SHOWN_SOURCES = 15
"""Sources in the table itself; the smaller ones stand behind a line that opens."""


def view(facts: Facts, words: Words) -> dict[str, Any] | None:
    """Return the values for the section's template; None where there is no corpus yet."""
    statistics = facts.statistics
    if statistics is None:
        return None
    sources = largest(statistics["sources"])
    first = len(sources) if len(sources) <= SHOWN_SOURCES + 2 else SHOWN_SOURCES
    mixture = sorted(statistics.get("mixture", {}).items(), key=lambda item: (-item[1]["pass"]["bytes"], item[0]))
    return {
        "size": words("{documents:document} from {sources:source}", sources=len(statistics["sources"]),
                      documents=statistics["total"]["kept"].get("documents", 0)),
        "found": statistics,
        "first": sources[:first],
        "smaller": sources[first:],
        "mixture": mixture[:MOST_SOURCES],
        "mixed": sum(entry["pass"]["bytes"] for _, entry in mixture),
        "lengths": {name: _held(bins, words) for name, bins in statistics["lengths"].items()},
        "cleaning": sorted(statistics["cleaning"].items(), key=lambda item: (-item[1]["characters"], item[0])),
        "filters": _filters(statistics),
        "quarantined": [(entry["file"], words.reason(entry["reason"])) for entry in facts.quarantined[:MOST_SOURCES]],
    }  # fmt: skip


def _held(bins: list[dict[str, int]], words: Words) -> list[tuple[str, int]]:
    """Return the bars of a histogram without its empty ends."""
    filled = [at for at, entry in enumerate(bins) if entry["count"]]
    return [
        (words(bin_name(entry)), entry["count"]) for entry in bins[min(filled, default=0) : max(filled, default=-1) + 1]
    ]


def _filters(statistics: dict[str, Any]) -> list[tuple[str, Counter[str]]]:
    """Return (source, filter → documents dropped), the sources that lost most first."""
    sources: dict[str, Counter[str]] = {}
    for title, measures in statistics.get("filters", {}).items():
        for of_measure in measures.values():
            for source, counts in of_measure.items():
                sources.setdefault(source, Counter())[title] += counts["documents"]
    return sorted(sources.items(), key=lambda item: (-item[1].total(), item[0]))[:MOST_SOURCES]
