"""Statistics for people: the content of `statistics.json` as tables that fit a terminal of 100 columns."""

from __future__ import annotations

import json
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from common.errors import HunminError, UserError
from data.statistics.counts import Counters, merge

MOST_SOURCES = 100
"""Sources with a row of their own, the largest; the rest share one. JSON output has them all."""
BAR = 24
"""Columns of the longest bar of a histogram."""
PARTS = (
    *("total", "sources", "lengths", "split", "cleaning"),
    *("dropped", "pii", "decontamination", "duplicates", "rejects", "skipped", "damaged"),
)
"""What `statistics.json` holds and a table is made of."""


def load_statistics(folder: Path) -> Counters:
    """Return the statistics of a finished corpus.

    Args:
        folder: a run folder, or the corpus folder in it.

    Raises:
        UserError: the folder holds no finished corpus.
        HunminError: its statistics are damaged, or of another version of this program.
    """
    path = (folder / "corpus" if (folder / "corpus").is_dir() else folder) / "statistics.json"
    try:
        loaded = json.loads(path.read_bytes())
    except OSError:
        raise UserError(
            f"{path.parent} is no finished corpus",
            "a corpus folder holds statistics.json",
            "hunmin corpus build RECIPE",
        ) from None
    except ValueError:
        loaded = None
    if not isinstance(loaded, dict) or not all(part in loaded for part in PARTS):
        raise HunminError(
            f"{path} is damaged, or of another version",
            f"it is a JSON object with {', '.join(PARTS)}",
            "delete the corpus folder and build it again",
        )
    return loaded


def format_statistics(statistics: Counters) -> list[Table]:
    """Return the tables: sizes by source, cleaning, personal data, benchmark, what was left out, lengths."""
    return [
        format_sources(statistics),
        *format_mixture(statistics),
        _cleaning(statistics),
        _personal_data(statistics),
        _benchmark(statistics),
        _left_out(statistics),
        *format_filters(statistics),
        *(format_lengths(name, bins) for name, bins in statistics["lengths"].items()),
    ]


def format_sources(statistics: Counters) -> Table:
    """Return the sizes of what was kept and read, the largest source first (Table 28 of the paper)."""
    everything = statistics["total"]
    divisor, unit = (1e9, "GB") if everything["read"].get("bytes", 0) >= 1e10 else (1e6, "MB")
    columns = "documents", "sentences", "words", unit, f"{unit} read", "kept"
    table = _table("Corpus by source, largest first", "source", *columns)
    for name, counts in [*largest(statistics["sources"]), ("all", everything)]:
        if name == "all":
            table.add_section()
        kept, read = counts["kept"], counts["read"]
        table.add_row(
            _name(name),
            *(f"{kept.get(field, 0):,}" for field in ("documents", "sentences", "words")),
            f"{kept.get('bytes', 0) / divisor:,.2f}",
            f"{read.get('bytes', 0) / divisor:,.2f}",
            _share(kept.get("bytes", 0), read.get("bytes", 0)),
        )
    return table


def format_mixture(statistics: Counters) -> list[Table]:
    """Return how often each source comes in a pass, the largest share first; no table where there is no mixture."""
    if "mixture" not in statistics:
        return []
    columns = "MB", "share", "times", "held out", "left out", "MB a pass", "share "
    table = _table("Mixture: what a pass of the training goes through", "source", *columns)
    sources: Counters = statistics["mixture"]
    sums: Counters = {}
    for of_source in sources.values():
        merge(sums, {kind: of_source[kind] for kind in ("before", "held_out", "left_out", "pass")})
    ordered = sorted(sources.items(), key=lambda item: (-item[1]["pass"]["bytes"], item[0]))
    for name, found in [*ordered[:MOST_SOURCES], ("all", sums)]:
        if name == "all":
            table.add_section()
        table.add_row(
            _name(name),
            f"{found['before']['bytes'] / 1e6:,.2f}",
            _share(found["before"]["bytes"], sums["before"]["bytes"]),
            f"{found['rate']:.2f}" if "rate" in found else "",
            *(f"{found[kind]['documents']:,}" for kind in ("held_out", "left_out")),
            f"{found['pass']['bytes'] / 1e6:,.2f}",
            _share(found["pass"]["bytes"], sums["pass"]["bytes"]),
        )
    return [table]


def largest(sources: Counters) -> list[tuple[str, Counters]]:
    """Return the sources by size, those after the first `MOST_SOURCES` summed up in one."""
    ordered = sorted(sources.items(), key=lambda item: (-item[1]["kept"].get("bytes", 0), item[0]))
    rest: Counters = {"read": {}, "kept": {}}
    for _, counts in ordered[MOST_SOURCES:]:
        merge(rest, counts)
    others = [(f"{len(ordered) - MOST_SOURCES:,} more sources", rest)] if len(ordered) > MOST_SOURCES else []
    return ordered[:MOST_SOURCES] + others


def _cleaning(statistics: Counters) -> Table:
    columns = "hits", "characters", "of the text read"
    table = _table("Cleaning: documents changed or sentences dropped", "rule", *columns)
    read = statistics["total"]["read"].get("characters", 0)
    for rule, counts in sorted(statistics["cleaning"].items(), key=lambda item: -item[1]["characters"]):
        table.add_row(
            _name(rule), f"{counts['hits']:,}", f"{counts['characters']:,}", _share(counts["characters"], read, 3)
        )
    return _or_none(table)


def _personal_data(statistics: Counters) -> Table:
    table = _table("Personal data replaced", "type", "replaced", "in a million words")
    words = statistics["total"]["read"].get("words", 0)
    for kind, count in _by_count(statistics["pii"]):
        table.add_row(_name(kind), f"{count:,}", f"{1e6 * count / words:,.2f}" if words else "-")
    return _or_none(table)


def _benchmark(statistics: Counters) -> Table:
    tasks = statistics["decontamination"]
    rules = sorted({rule for counts in tasks.values() for rule in counts})
    columns = *rules, "all", "of the sentences"
    table = _table("Benchmark sentences taken out, by the rule that found them", "task", *columns)
    for task, count in _by_count({task: sum(counts.values()) for task, counts in tasks.items()}):
        found = [f"{tasks[task].get(rule, 0):,}" for rule in rules]
        table.add_row(_name(task), *found, f"{count:,}", _share(count, statistics["split"], 4))
    return _or_none(table)


def _left_out(statistics: Counters) -> Table:
    table = _table("Left out", "what", "count", "share")
    documents = statistics["total"]["read"].get("documents", 0)
    lines = documents + sum(statistics["rejects"].values())
    wholes = {"rejects": ("line rejected", lines), "damaged": ("file", 0), "skipped": ("no document", 0)}
    for part, (what, whole) in {**wholes, "dropped": ("document", documents)}.items():
        for reason, count in _by_count(statistics[part]):
            table.add_row(_name(f"{what}: {reason}"), f"{count:,}", _share(count, whole, 3))
    for kind, count in _by_count(statistics["duplicates"]):
        # paragraphs are not counted as they are read, so what they are a share of is not known
        whole = {"sentences": statistics["split"], "paragraphs": 0}.get(kind, documents)
        table.add_row(_name(f"duplicate: {kind}"), f"{count:,}", _share(count, whole, 3))
    return _or_none(table)


def format_filters(statistics: Counters) -> list[Table]:
    """Return what each filter dropped, by measure and by source; no table where a corpus has no filters."""
    if "filters" not in statistics:
        return []
    read = statistics["total"]["read"]
    columns = "documents", "share", "characters", "of the text read"
    by_measure = _table("Documents dropped by filters", "filter", *columns)
    sources: dict[str, dict[str, int]] = {}
    for title, measures in statistics["filters"].items():
        for measure, found in measures.items():
            whole = {"documents": 0, "characters": 0}
            for source, counts in found.items():
                merge(whole, counts)
                of_source = sources.setdefault(source, {})
                of_source[title] = of_source.get(title, 0) + counts["documents"]
            by_measure.add_row(
                _name(f"{title}: {measure}"),
                f"{whole['documents']:,}",
                _share(whole["documents"], read.get("documents", 0), 2),
                f"{whole['characters']:,}",
                _share(whole["characters"], read.get("characters", 0), 2),
            )
    columns = *statistics["filters"], "all", "share"
    by_source = _table("Documents dropped by filters, by source", "source", *columns)
    for source, count in _by_count({source: sum(counts.values()) for source, counts in sources.items()})[:MOST_SOURCES]:
        documents = statistics["sources"].get(source, {}).get("read", {}).get("documents", 0)
        found = [f"{sources[source].get(title, 0):,}" for title in statistics["filters"]]
        by_source.add_row(_name(source), *found, f"{count:,}", _share(count, documents))
    return [_or_none(by_measure), _or_none(by_source)]


def format_lengths(name: str, bins: list[dict[str, int]]) -> Table:
    """Return a length histogram with bars."""
    table = _table(f"Length of {name} in characters", "characters", name, "share")
    table.add_column("", no_wrap=True)
    whole, highest = sum(one["count"] for one in bins), max(one["count"] for one in bins)
    for one in bins:
        bar = "█" * round(BAR * one["count"] / max(highest, 1))
        table.add_row(bin_name(one), f"{one['count']:,}", _share(one["count"], whole), bar)
    return table


def bin_name(one: Counters) -> str:
    """Return the range of a histogram's bin for people: "50–75", "1,000 and more"."""
    return f"{one['from']:,}–{one['to'] - 1:,}" if one["to"] is not None else f"{one['from']:,} and more"


def _table(title: str, first: str, *numbers: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, justify="left", max_width=48)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _name(name: str) -> Text:
    """Return a cell that is cut, not wrapped, where the terminal is too narrow; the numbers beside it never are."""
    return Text(" ".join(name.split()), no_wrap=True, overflow="ellipsis")


def _or_none(table: Table) -> Table:
    if not table.row_count:
        table.add_row("none")
    return table


def _by_count(counts: Counters) -> list[tuple[str, int]]:
    return sorted(((name, count) for name, count in counts.items() if count), key=lambda item: (-item[1], item[0]))


def _share(part: float, whole: float, digits: int = 1) -> str:
    return f"{part / whole:.{digits}%}" if whole else "-"
