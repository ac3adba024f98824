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
    """Return what the template of the section shows; None where there is no corpus yet."""
    found = facts.statistics
    if found is None:
        return None
    sources = largest(found["sources"])
    first = len(sources) if len(sources) <= SHOWN_SOURCES + 2 else SHOWN_SOURCES
    mixture = sorted(found.get("mixture", {}).items(), key=lambda item: (-item[1]["pass"]["bytes"], item[0]))
    return {
        "size": words("{documents:document} from {sources:source}", sources=len(found["sources"]),
                      documents=found["total"]["kept"].get("documents", 0)),
        "found": found,
        "first": sources[:first],
        "smaller": sources[first:],
        "mixture": mixture[:MOST_SOURCES],
        "mixed": sum(one["pass"]["bytes"] for _, one in mixture),
        "lengths": {name: _held(bins, words) for name, bins in found["lengths"].items()},
        "cleaning": sorted(found["cleaning"].items(), key=lambda item: (-item[1]["characters"], item[0])),
        "filters": _filters(found),
        "quarantined": [(one["file"], words.reason(one["reason"])) for one in facts.quarantined[:MOST_SOURCES]],
    }  # fmt: skip


def _held(bins: list[dict[str, int]], words: Words) -> list[tuple[str, int]]:
    """Return the bars of a histogram without its empty ends."""
    held = [at for at, one in enumerate(bins) if one["count"]]
    return [(words(bin_name(one)), one["count"]) for one in bins[min(held, default=0) : max(held, default=-1) + 1]]


def _filters(found: dict[str, Any]) -> list[tuple[str, Counter[str]]]:
    """Return (source, filter → documents dropped), the sources that lost most first."""
    sources: dict[str, Counter[str]] = {}
    for title, measures in found.get("filters", {}).items():
        for of_measure in measures.values():
            for source, counts in of_measure.items():
                sources.setdefault(source, Counter())[title] += counts["documents"]
    return sorted(sources.items(), key=lambda item: (-item[1].total(), item[0]))[:MOST_SOURCES]
