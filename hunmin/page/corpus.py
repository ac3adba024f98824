"""The corpus on the page: sources, what each rule removed, lengths. Counts alone; no text."""

from __future__ import annotations

from typing import Any

from data.statistics.table import MOST_SOURCES, bin_name, largest
from hunmin.page.facts import Facts
from hunmin.page.tables import Bar, Table, by_count, count, percent
from hunmin.page.words import Words
from klue.tasks import TASKS

Counts = dict[str, int]
SHOWN_SOURCES = 15
"""Sources in the table itself; the smaller ones stand behind a line that opens."""
LEFT_OUT = {
    "rejects": "line rejected: {reason}",
    "damaged": "file: {reason}",
    "skipped": "no document: {reason}",
    "dropped": "document: {reason}",
    "duplicates": "duplicate: {reason}",
}


def view(facts: Facts, words: Words) -> dict[str, Any] | None:
    """Return what the template of the section shows; None where there is no corpus yet."""
    found = facts.statistics
    if found is None:
        return None
    read = found["total"]["read"]
    settings = (facts.recipe.get("corpus") or {}).get("decontaminate")
    main, smaller = _sources(found, words)
    return {
        "size": words("{documents} documents from {sources} sources", sources=len(found["sources"]),
                      documents=count(found["total"]["kept"].get("documents", 0))),
        "sources": main,
        "smaller": smaller,
        "mixture": _mixture(found, words) if "mixture" in found else None,
        "lengths": [_lengths(name, bins, words) for name, bins in found["lengths"].items()],
        "cleaning": _cleaning(found["cleaning"], read.get("characters", 0), words),
        "left_out": _left_out(found, words),
        "personal": _personal(found["pii"], read.get("words", 0), words),
        "not_done": settings is not None and not (settings.get("enabled", True) and settings.get("benchmark")),
        "benchmark": _benchmark(found, words),
        "filters": _filters(found, words) if "filters" in found else None,
    }  # fmt: skip


def _sources(found: dict[str, Any], words: Words) -> tuple[Table, Table]:
    """Return the largest sources, and the smaller ones."""
    whole = found["total"]

    def cells(name: str, counts: dict[str, Counts]) -> list[Any]:
        kept, read = counts["kept"], counts["read"]
        size, all_read, of_all = kept.get("bytes", 0), read.get("bytes", 0), whole["kept"].get("bytes", 0)
        figures = [count(kept.get(field, 0)) for field in ("documents", "sentences", "words")]
        sizes = [f"{size / 1e6:,.2f}", f"{all_read / 1e6:,.2f}", percent(size, all_read)]
        return [name, *figures, *sizes, Bar(percent(size, of_all), size / max(1, of_all))]

    head = ["source", "documents", "sentences", "words", "MB", "MB read", "kept", "of the corpus"]
    head = [words(text) for text in head]
    rows = [
        cells(name if name in found["sources"] else words.said(name), counts)
        for name, counts in largest(found["sources"])
    ]
    first = len(rows) if len(rows) <= SHOWN_SOURCES + 2 else SHOWN_SOURCES
    total = cells(words("all"), whole)
    total[-1] = total[-1].text
    return (
        Table(words("Sources"), head, rows[:first], total=total),
        Table(words("Smaller sources"), head, rows[first:]),
    )


def _mixture(found: dict[str, Any], words: Words) -> Table:
    whole = sum(one["pass"]["bytes"] for one in found["mixture"].values())
    ordered = sorted(found["mixture"].items(), key=lambda item: (-item[1]["pass"]["bytes"], item[0]))
    rows = [
        [
            source,
            f"{one['before']['bytes'] / 1e6:,.2f}",
            f"{one['rate']:.2f}",
            *(count(one[kind]["documents"]) for kind in ("held_out", "left_out")),
            f"{one['pass']['bytes'] / 1e6:,.2f}",
            Bar(percent(one["pass"]["bytes"], whole), one["pass"]["bytes"] / max(1, whole)),
        ]
        for source, one in ordered[:MOST_SOURCES]
    ]
    head = ["source", "MB", "repeats", "documents held out", "left out", "MB per epoch", "of the epoch"]
    return Table(words("Mixture"), [words(text) for text in head], rows)


def _lengths(name: str, bins: list[dict[str, int]], words: Words) -> Table:
    """Return a histogram without its empty ends."""
    held = [at for at, one in enumerate(bins) if one["count"]]
    shown = bins[held[0] : held[-1] + 1] if held else []
    whole, most = sum(one["count"] for one in shown), max((one["count"] for one in shown), default=1)
    rows = [
        [words.said(bin_name(one)), count(one["count"]), Bar(percent(one["count"], whole), one["count"] / most)]
        for one in shown
    ]
    title = words(f"Length of {name} in characters")
    return Table(title, [words("characters"), words(name), words("share")], rows)


def _cleaning(rules: dict[str, Counts], characters: int, words: Words) -> Table:
    ordered = sorted(rules.items(), key=lambda item: (-item[1]["characters"], item[0]))
    rows = [
        [words.name(name), count(one["hits"]), count(one["characters"]), percent(one["characters"], characters, 3)]
        for name, one in ordered
    ]
    return Table(words("Cleaning"), [words(text) for text in ("rule", "hits", "characters", "of the text read")], rows)


def _personal(types: Counts, whole: int, words: Words) -> Table:
    rows = [[words.name(name), count(n), f"{1e6 * n / whole:,.1f}" if whole else None] for name, n in by_count(types)]
    return Table(words("Personal data"), [words(text) for text in ("type", "replaced", "per million words")], rows)


def _benchmark(found: dict[str, dict[str, Counts]], words: Words) -> Table:
    tasks = found["decontamination"]
    rules = sorted({rule for counts in tasks.values() for rule in counts})
    sums = {task: sum(counts.values()) for task, counts in tasks.items()}
    rows = [
        [TASKS[task].title if task in TASKS else task, *(count(tasks[task].get(rule, 0)) for rule in rules), count(n)]
        for task, n in by_count(sums)
    ]
    by_rule = (count(sum(one.get(rule, 0) for one in tasks.values())) for rule in rules)
    total = [words("all"), *by_rule, count(sum(sums.values()))]
    head = [words("task"), *(words.name(f"rule {rule}") for rule in rules), words("all")]
    return Table(words("Benchmark sentences"), head, rows, total=total)


def _filters(found: dict[str, Any], words: Words) -> Table:
    titles = list(found["filters"])
    sources: dict[str, dict[str, int]] = {}
    for title, measures in found["filters"].items():
        for of_measure in measures.values():
            for source, counts in of_measure.items():
                dropped = sources.setdefault(source, dict.fromkeys(titles, 0))
                dropped[title] += counts["documents"]
    rows = [
        [source, *(count(sources[source][title]) for title in titles), count(whole),
         percent(whole, found["sources"].get(source, {}).get("read", {}).get("documents", 0))]
        for source, whole in by_count({source: sum(counts.values()) for source, counts in sources.items()})
    ][:MOST_SOURCES]  # fmt: skip
    head = [words("source"), *map(words.name, titles), words("all"), words("of the documents read")]
    return Table(words("Filters"), head, rows)


def _left_out(found: dict[str, Counts], words: Words) -> Table:
    rows = [
        [words(text, reason=words.said(words.name(reason) if kind == "duplicates" else reason)), count(n)]
        for kind, text in LEFT_OUT.items()
        for reason, n in by_count(found[kind])
    ]
    return Table(words("Left out"), [words("what"), words("count")], rows)
