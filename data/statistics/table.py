"""Statistics for people: the content of `statistics.json` as tables that fit a terminal of 100 columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from common.errors import UserError
from common.message import Message
from common.results import check_numbers, is_there, read_result
from common.stage_folders import of_run_or_itself
from data.statistics.counts import Counters, merge

MOST_SOURCES = 100
"""Sources with a row of their own, the largest; the rest share one. JSON output has them all."""
BAR = 24
"""Columns of the longest bar of a histogram."""
PARTS = (
    *("total", "sources", "lengths", "split", "cleaning"),
    *("dropped", "pii", "decontamination", "duplicates", "rejects", "skipped", "damaged"),
)
"""Parts of `statistics.json` that have a table."""


def load_statistics(folder: Path) -> Counters:
    """Return the statistics of a finished corpus.

    Args:
        folder: a run folder, or the corpus folder in it.

    Raises:
        UserError: the folder holds no finished corpus.
        HunminError: its statistics are damaged, or of another version of this program.
    """
    path = of_run_or_itself(folder, "corpus") / "statistics.json"
    if not is_there(path):
        raise UserError(
            f"{path.parent} is no finished corpus",
            "a corpus folder holds statistics.json",
            "hunmin corpus build RECIPE",
        )
    return dict(read_result(path, _check, "build the corpus again in another folder"))


def _check(statistics: Counters) -> None:
    if missing := [part for part in PARTS if part not in statistics]:
        raise ValueError(f"it lacks {missing[0]}, or is of another version")
    check_numbers(statistics)
    format_statistics(statistics)


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
    columns = "source", "documents", "sentences", "words", unit, f"{unit} read", "kept"
    rows = []
    for name, counts in [*largest(statistics["sources"]), ("all", everything)]:
        kept, read = counts["kept"], counts["read"]
        sizes = (f"{part.get('bytes', 0) / divisor:,.2f}" for part in (kept, read))
        numbers = (f"{kept.get(field, 0):,}" for field in ("documents", "sentences", "words"))
        rows.append((name, *numbers, *sizes, _share(kept.get("bytes", 0), read.get("bytes", 0))))
    return _table("Corpus by source, largest first", columns, rows, summed=True)


def format_mixture(statistics: Counters) -> list[Table]:
    """Return how often each source comes in a pass, the largest share first; no table where there is no mixture."""
    if "mixture" not in statistics:
        return []
    columns = "source", "MB", "share", "times", "held out", "left out", "MB a pass", "share "
    sources: Counters = statistics["mixture"]
    sums: Counters = {}
    for of_source in sources.values():
        merge(sums, {kind: of_source[kind] for kind in ("before", "held_out", "left_out", "pass")})
    ordered = sorted(sources.items(), key=lambda item: (-item[1]["pass"]["bytes"], item[0]))
    rows = []
    for name, mixed in [*ordered[:MOST_SOURCES], ("all", sums)]:
        before, passed = (
            (f"{mixed[kind]['bytes'] / 1e6:,.2f}", _share(mixed[kind]["bytes"], sums[kind]["bytes"]))
            for kind in ("before", "pass")
        )
        documents = (f"{mixed[kind]['documents']:,}" for kind in ("held_out", "left_out"))
        rows.append((name, *before, f"{mixed['rate']:.2f}" if "rate" in mixed else "", *documents, *passed))
    return [_table("Mixture: what a pass of the training goes through", columns, rows, summed=True)]


def largest(sources: Counters) -> list[tuple[str, Counters]]:
    """Return the sources by size, those after the first `MOST_SOURCES` summed up in one."""
    ordered = sorted(sources.items(), key=lambda item: (-item[1]["kept"].get("bytes", 0), item[0]))
    remainder: Counters = {"read": {}, "kept": {}}
    for _, counts in ordered[MOST_SOURCES:]:
        merge(remainder, counts)
    rows = ordered[:MOST_SOURCES]
    if len(ordered) > MOST_SOURCES:
        rows.append((Message("{count:more source}", count=len(ordered) - MOST_SOURCES), remainder))
    return rows


def _cleaning(statistics: Counters) -> Table:
    columns = "rule", "hits", "characters", "of the text read"
    read = statistics["total"]["read"].get("characters", 0)
    ordered = sorted(statistics["cleaning"].items(), key=lambda item: -item[1]["characters"])
    rows = [
        (rule, f"{counts['hits']:,}", f"{counts['characters']:,}", _share(counts["characters"], read, 3))
        for rule, counts in ordered
    ]
    return _table("Cleaning: documents changed or sentences dropped", columns, rows)


def _personal_data(statistics: Counters) -> Table:
    words = statistics["total"]["read"].get("words", 0)
    rows = [
        (kind, f"{count:,}", f"{1e6 * count / words:,.2f}" if words else "-")
        for kind, count in _by_count(statistics["pii"])
    ]
    return _table("Personal data replaced", ("type", "replaced", "in a million words read"), rows)


def _benchmark(statistics: Counters) -> Table:
    tasks = statistics["decontamination"]
    rules = sorted({rule for counts in tasks.values() for rule in counts})
    columns = "task", *rules, "all", "of the sentences"
    rows = []
    for task, count in _by_count({task: sum(counts.values()) for task, counts in tasks.items()}):
        by_rule = (f"{tasks[task].get(rule, 0):,}" for rule in rules)
        rows.append((task, *by_rule, f"{count:,}", _share(count, statistics["split"], 4)))
    return _table("Benchmark sentences taken out, by the rule that found them", columns, rows)


def _left_out(statistics: Counters) -> Table:
    documents = statistics["total"]["read"].get("documents", 0)
    lines = documents + sum(statistics["rejects"].values())
    wholes = {"line rejected": lines, "file": 0, "no document": 0, "document": documents, "duplicate": documents}
    # paragraphs are not counted as they are read, so what they are a share of is not known
    wholes |= {"duplicate: sentences": statistics["split"], "duplicate: paragraphs": 0}
    rows = []
    for part, whole in zip(("rejects", "damaged", "skipped", "dropped", "duplicates"), wholes, strict=False):
        for reason, count in _by_count(statistics[part]):
            name = f"{whole}: {reason}"
            rows.append((name, f"{count:,}", _share(count, wholes.get(name, wholes[whole]), 3)))
    return _table("Left out otherwise", ("what", "count", "share"), rows)


def format_filters(statistics: Counters) -> list[Table]:
    """Return what each filter dropped, by measure and by source; no table where a corpus has no filters."""
    if "filters" not in statistics:
        return []
    read = statistics["total"]["read"]
    by_measure, by_source = [], []
    sources: dict[str, dict[str, int]] = {}
    for title, by_name in statistics["filters"].items():
        for measure, source_counts in by_name.items():
            whole = {"documents": 0, "characters": 0}
            for source, counts in source_counts.items():
                merge(whole, counts)
                merge(sources.setdefault(source, {}), {title: counts["documents"]})
            cells = ((f"{count:,}", _share(count, read.get(kind, 0), 2)) for kind, count in whole.items())
            by_measure.append((f"{title}: {measure}", *chain(*cells)))
    for source, count in _by_count({source: sum(counts.values()) for source, counts in sources.items()})[:MOST_SOURCES]:
        documents = statistics["sources"].get(source, {}).get("read", {}).get("documents", 0)
        dropped = (f"{sources[source].get(title, 0):,}" for title in statistics["filters"])
        by_source.append((source, *dropped, f"{count:,}", _share(count, documents)))
    columns = "filter", "documents", "share", "characters", "of the text read"
    return [
        _table("Documents dropped by filters", columns, by_measure),
        _table(
            "Documents dropped by filters, by source", ("source", *statistics["filters"], "all", "share"), by_source
        ),
    ]


def format_lengths(name: str, bins: list[dict[str, int]]) -> Table:
    """Return a length histogram with bars."""
    whole = sum(bin_["count"] for bin_ in bins)
    highest = max(bin_["count"] for bin_ in bins)
    rows = []
    for bin_ in bins:
        bar = "█" * round(BAR * bin_["count"] / max(highest, 1))
        rows.append((bin_name(bin_), f"{bin_['count']:,}", _share(bin_["count"], whole), bar))
    return _table(f"Length of {name} in characters", ("characters", name, "share", ""), rows)


def bin_name(bin_: Counters) -> str:
    """Return the range of a histogram's bin for people: "50–99", "7", "1,000 and more"."""
    if bin_["to"] is None:
        return Message("{least} and more", least=bin_["from"])
    return f"{bin_['from']:,}–{bin_['to'] - 1:,}" if bin_["to"] - bin_["from"] > 1 else f"{bin_['from']:,}"


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], summed: bool = False) -> Table:
    """Return a table; names, never numbers, are cut on a narrow terminal; `summed` draws a line before the last row."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(columns[0], justify="left", max_width=48)
    for name in columns[1:]:
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for number, (name, *numbers) in enumerate(rows or [("none",)], 1):
        table.add_row(
            Text(" ".join(name.split()), no_wrap=True, overflow="ellipsis"),
            *numbers,
            end_section=summed and number == len(rows) - 1,
        )
    return table


def _by_count(counts: Counters) -> list[tuple[str, int]]:
    return sorted(((name, count) for name, count in counts.items() if count), key=lambda item: (-item[1], item[0]))


def _share(part: float, whole: float, digits: int = 1) -> str:
    return f"{part / whole:.{digits}%}" if whole else "-"
