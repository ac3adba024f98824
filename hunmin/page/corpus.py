"""The corpus on the page: sources, what each rule removed, lengths. Counts alone; no text."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from data.statistics.table import MOST_SOURCES, bin_name, largest
from hunmin.page import charts, markup
from hunmin.page.facts import Facts
from hunmin.page.markup import count, percent
from klue.tasks import TASKS

Counts = dict[str, int]
SHOWN_SOURCES = 15
"""Sources in the table itself; the smaller ones stand behind a line that opens."""


def corpus(facts: Facts) -> Markup:
    """Return the section; it says so where there is no corpus yet."""
    found = facts.statistics
    if found is None:
        return markup.section("corpus", "Corpus", markup.paragraph("There is no finished corpus yet."))
    read = found["total"]["read"]
    return markup.section(
        "corpus",
        "Corpus",
        markup.block("Sources, the largest first", _sources(found)),
        *([markup.block("What a pass of the training goes through", _mixture(found))] if "mixture" in found else []),
        markup.grid(
            *(
                charts.bar_chart(
                    f"lengths-{name}",
                    f"Length of {name} in characters",
                    [bin_name(one) for one in bins],
                    [one["count"] for one in bins],
                    name,
                )
                for name, bins in ((name, _held(bins)) for name, bins in found["lengths"].items())
            )
        ),
        markup.grid(
            markup.block("Cleaning: what each rule removed", _cleaning(found["cleaning"], read.get("characters", 0))),
            markup.block("Left out", _left_out(found)),
            markup.block("Personal data replaced, by type", _personal(found["pii"], read.get("words", 0))),
        ),
        markup.block(
            "Benchmark sentences taken out, by task and by the rule that found them",
            _not_done(facts),
            _benchmark(found),
        ),
        *([markup.block("Documents dropped by filters, by source", _filters(found))] if "filters" in found else []),
    )


def _held(bins: list[dict[str, int]]) -> list[dict[str, int]]:
    """Return a histogram without its empty ends."""
    held = [at for at, one in enumerate(bins) if one["count"]]
    return bins[held[0] : held[-1] + 1] if held else bins


def _sources(found: dict[str, Any]) -> Markup:
    whole = found["total"]

    def cells(name: str, counts: dict[str, Counts]) -> list[object]:
        kept, read = counts["kept"], counts["read"]
        size, all_read = kept.get("bytes", 0), read.get("bytes", 0)
        share = size / max(1, whole["kept"].get("bytes", 0))
        return [
            name,
            *(count(kept.get(field, 0)) for field in ("documents", "sentences", "words")),
            f"{size / 1e6:,.2f}",
            f"{all_read / 1e6:,.2f}",
            percent(size, all_read),
            Markup("{}{}").format(percent(size, whole["kept"].get("bytes", 0)), markup.bar(share)),
        ]

    head = ["source", "documents", "sentences", "words", "MB", "MB read", "kept", "of the corpus"]
    rows = [cells(*item) for item in largest(found["sources"])]
    first = rows if len(rows) <= SHOWN_SOURCES + 2 else rows[:SHOWN_SOURCES]
    rest = rows[len(first) :]
    return Markup("{}{}").format(
        markup.table("Sources", head, first, total=cells("all", whole)),
        markup.details(f"{len(rest)} smaller sources", markup.table("Smaller sources", head, rest)),
    )


def _mixture(found: dict[str, Any]) -> Markup:
    whole = sum(one["pass"]["bytes"] for one in found["mixture"].values())
    ordered = sorted(found["mixture"].items(), key=lambda item: (-item[1]["pass"]["bytes"], item[0]))
    rows = [
        [
            source,
            f"{one['before']['bytes'] / 1e6:,.2f}",
            f"{one['rate']:.2f}",
            *(count(one[kind]["documents"]) for kind in ("held_out", "left_out")),
            f"{one['pass']['bytes'] / 1e6:,.2f}",
            percent(one["pass"]["bytes"], whole),
        ]
        for source, one in ordered[:MOST_SOURCES]
    ]
    head = ["source", "MB", "times", "documents held out", "left out", "MB a pass", "of the pass"]
    return markup.table("Mixture", head, rows)


def _cleaning(rules: dict[str, Counts], characters: int) -> Markup:
    ordered = sorted(rules.items(), key=lambda item: (-item[1]["characters"], item[0]))
    rows = [
        [name, count(one["hits"]), count(one["characters"]), percent(one["characters"], characters, 3)]
        for name, one in ordered
    ]
    return markup.table("Cleaning", ["rule", "hits", "characters", "of the text read"], rows)


def _personal(types: Counts, words: int) -> Markup:
    rows = [[name, count(n), f"{1e6 * n / words:,.1f}" if words else None] for name, n in _by_count(types)]
    return markup.table("Personal data", ["type", "replaced", "in a million words"], rows)


def _not_done(facts: Facts) -> Markup:
    """Return a warning where nothing was decontaminated; nothing else."""
    settings = (facts.recipe.get("corpus") or {}).get("decontaminate")
    if settings is None or (settings.get("enabled", True) and settings.get("benchmark")):
        return Markup()
    return markup.paragraph("Nothing was decontaminated: the recipe names no benchmark, or turns it off.", "warning")


def _benchmark(found: dict[str, dict[str, Counts]]) -> Markup:
    tasks = found["decontamination"]
    rules = sorted({rule for counts in tasks.values() for rule in counts})
    sums = {task: sum(counts.values()) for task, counts in tasks.items()}
    rows = [
        [TASKS[task].title if task in TASKS else task, *(count(tasks[task].get(rule, 0)) for rule in rules), count(n)]
        for task, n in _by_count(sums)
    ]
    total = [
        "all",
        *(count(sum(one.get(rule, 0) for one in tasks.values())) for rule in rules),
        count(sum(sums.values())),
    ]
    return markup.table("Benchmark sentences", ["task", *rules, "all"], rows, total=total)


def _filters(found: dict[str, Any]) -> Markup:
    titles = list(found["filters"])
    sources: dict[str, dict[str, int]] = {}
    for title, measures in found["filters"].items():
        for of_measure in measures.values():
            for source, counts in of_measure.items():
                dropped = sources.setdefault(source, dict.fromkeys(titles, 0))
                dropped[title] += counts["documents"]
    rows = [
        [
            source,
            *(count(sources[source][title]) for title in titles),
            count(whole),
            percent(whole, _read(found, source)),
        ]
        for source, whole in _by_count({source: sum(counts.values()) for source, counts in sources.items()})
    ][:MOST_SOURCES]
    return markup.table("Filters", ["source", *titles, "all", "of the documents read"], rows)


def _read(found: dict[str, Any], source: str) -> int:
    documents: int = found["sources"].get(source, {}).get("read", {}).get("documents", 0)
    return documents


def _left_out(found: dict[str, Counts]) -> Markup:
    kinds = {
        "rejects": "line rejected: {}",
        "damaged": "file: {}",
        "skipped": "no document: {}",
        "dropped": "document: {}",
        "duplicates": "duplicate: {}",
    }
    rows = [[text.format(name), count(n)] for kind, text in kinds.items() for name, n in _by_count(found[kind])]
    return markup.table("Left out", ["what", "count"], rows)


def _by_count(counts: Counts) -> list[tuple[str, int]]:
    return sorted(((name, n) for name, n in counts.items() if n), key=lambda item: (-item[1], item[0]))
