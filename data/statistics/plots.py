"""Statistics as pictures (PNG): sizes, what was removed, personal data, benchmark hits, lengths."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

from common.destinations import OutputFile
from common.plots import hangul_font, new_figure, plot_file, save_figure
from data.statistics.counts import Counters
from data.statistics.table import bin_name

TOP = 25
"""Sources with a bar of their own, the largest."""
COLOURS = ("#3b6ea5", "#e08e45", "#5a9e6f", "#b5545c", "#8a6fb0", "#7f7f7f")
"""Colours of stacked bars, in order; further bars repeat them."""
GREY = "#444444"

_INITIAL = (
    *("g", "kk", "n", "d", "tt", "r", "m", "b", "pp", "s"),
    *("ss", "", "j", "jj", "ch", "k", "t", "p", "h"),
)
_MEDIAL = (
    *("a", "ae", "ya", "yae", "eo", "e", "yeo", "ye", "o", "wa", "wae"),
    *("oe", "yo", "u", "wo", "we", "wi", "yu", "eu", "ui", "i"),
)
_FINAL = (
    *("", "k", "k", "k", "n", "n", "n", "t", "l", "k", "m", "p", "l", "l"),
    *("p", "l", "m", "p", "p", "t", "t", "ng", "t", "t", "k", "t", "p", "t"),
)


def statistics_files(folder: Path, overwrite: bool = False) -> dict[str, OutputFile]:
    """Return part → file in a folder of what `draw_statistics` may draw. Raises UserError as `plot_file`."""
    return {name: plot_file(folder / f"{name}.png", "--plots", overwrite) for name in _PLOTS}


def draw_statistics(statistics: Counters, files: Mapping[str, OutputFile]) -> list[Path]:
    """Draw what `statistics.json` holds and return the files: one for each part that is not empty.

    The same statistics and fonts give the same bytes.
    """
    drawn: list[Path] = []
    for name, file in files.items():
        figure = _PLOTS[name](statistics)
        if figure is not None:
            drawn.append(file.path)
            save_figure(figure, file)
    return drawn


def romanise(text: str) -> str:
    """Return `text` in Latin letters, for machines without a Korean font; other characters beyond Latin become "?"."""
    letters = []
    for character in unicodedata.normalize("NFC", text):
        code = ord(character) - 0xAC00
        if 0 <= code < 11172:
            letters.append(_INITIAL[code // 588] + _MEDIAL[code % 588 // 28] + _FINAL[code % 28])
        else:
            letters.append(character if character.isprintable() and ord(character) < 0x250 else "?")
    return "".join(letters)


def _label(name: str, longest: int = 34) -> str:
    name = " ".join(name.split())
    name = name if hangul_font() else romanise(name)
    return name if len(name) <= longest else name[: longest - 1] + "…"


def _bars(title: str, unit: str, labels: list[str], series: dict[str, list[float]], notes: list[str]) -> Any:
    figure = _figure(8, 1.3 + 0.26 * len(labels))
    axes = figure.add_subplot()
    places = range(len(labels))
    ends = [0.0] * len(labels)
    for colour, (name, values) in zip(cycle(COLOURS), series.items(), strict=False):
        axes.barh(places, values, left=ends, color=colour, label=name, height=0.72)
        ends = [end + value for end, value in zip(ends, values, strict=True)]
    for place, end, note in zip(places, ends, notes, strict=True):
        axes.annotate(note, (end, place), (4, 0), textcoords="offset points", va="center", color=GREY, fontsize=8)
    axes.set_yticks(list(places), [_label(label) for label in labels])
    for tick in axes.get_yticklabels():
        tick.set_parse_math(False)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlim(0, max(ends) * 1.3 or 1)
    _plain(axes, title, unit)
    if len(series) > 1:
        axes.legend(loc="lower right", frameon=False)
    return figure


def _figure(width: float, height: float) -> Any:
    figure: Any = new_figure(width, height, dpi=120, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
    return figure


def _plain(axes: Any, title: str, unit: str) -> None:
    axes.set_title(title, loc="left", fontweight="bold", fontsize=10)
    axes.set_xlabel(unit)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.xaxis.get_major_locator().set_params(nbins=6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)


def _sources(statistics: Counters) -> Any:
    ordered = sorted(statistics["sources"].items(), key=lambda item: (-item[1]["read"].get("bytes", 0), item[0]))
    rows = [(name, counts["kept"].get("bytes", 0), counts["read"].get("bytes", 0)) for name, counts in ordered[:TOP]]
    smaller = ordered[TOP:]
    if smaller:
        kept, read = (sum(counts[part].get("bytes", 0) for _, counts in smaller) for part in ("kept", "read"))
        rows.append((f"{len(smaller):,} more sources", kept, read))
    if not rows:
        return None
    divisor, unit = (1e9, "GB") if sum(read for _, _, read in rows) >= 1e10 else (1e6, "MB")
    whole = statistics["total"]["kept"]
    title = (
        f"{whole.get('documents', 0):,} documents, {whole.get('sentences', 0):,} sentences, "
        f"{whole.get('words', 0):,} words, {whole.get('bytes', 0) / divisor:,.1f} {unit} kept"
    )
    series = {
        "kept": [kept / divisor for _, kept, _ in rows],
        "removed": [max(read - kept, 0) / divisor for _, kept, read in rows],
    }
    notes = [f"{kept / divisor:,.1f}" + (f" ({kept / read:.0%} kept)" if read else "") for _, kept, read in rows]
    return _bars(title, unit, [name for name, _, _ in rows], series, notes)


def _removed(statistics: Counters) -> Any:
    rules = sorted(statistics["cleaning"].items(), key=lambda item: (-item[1]["characters"], item[0]))
    read = statistics["total"]["read"].get("characters", 0) or 1
    shares = [100 * counts["characters"] / read for _, counts in rules]
    notes = [f"{counts['characters']:,} characters, {counts['hits']:,} hits" for _, counts in rules]
    names = [rule for rule, _ in rules]
    title = "Removed by the cleaning rules"
    return _bars(title, "% of the characters read", names, {"removed": shares}, notes) if rules else None


def _personal_data(statistics: Counters) -> Any:
    kinds = dict(sorted(statistics["pii"].items(), key=lambda item: (-item[1], item[0])))
    title = f"Personal data replaced: {sum(kinds.values()):,}"
    notes = [f"{count:,}" for count in kinds.values()]
    return _bars(title, "replaced", list(kinds), {"replaced": list(kinds.values())}, notes) if kinds else None


def _benchmark(statistics: Counters) -> Any:
    tasks = dict(sorted(statistics["decontamination"].items(), key=lambda item: (-sum(item[1].values()), item[0])))
    rules = sorted({rule for counts in tasks.values() for rule in counts})
    series = {rule: [counts.get(rule, 0) for counts in tasks.values()] for rule in rules}
    sums = [sum(counts.values()) for counts in tasks.values()]
    title = f"Benchmark sentences taken out: {sum(sums):,} of {statistics['split']:,}"
    return _bars(title, "sentences", list(tasks), series, [f"{count:,}" for count in sums]) if tasks else None


def _lengths(statistics: Counters) -> Any:
    figure = _figure(10, 3.8)
    for place, (name, bins) in enumerate(statistics["lengths"].items(), 1):
        axes = figure.add_subplot(1, len(statistics["lengths"]), place)
        whole = sum(bin["count"] for bin in bins) or 1
        shares = [100 * bin["count"] / whole for bin in bins]
        axes.barh(range(len(bins)), shares, color=COLOURS[0], height=0.85)
        for row, share in enumerate(shares):
            note = f"{share:.1f}%" if share >= 0.05 or not share else "<0.1%"
            axes.annotate(note, (share, row), (3, 0), textcoords="offset points", va="center", color=GREY, fontsize=8)
        axes.set_yticks(range(len(bins)), [bin_name(bin) for bin in bins])
        axes.set_ylim(len(bins) - 0.4, -0.6)
        axes.set_xlim(0, max(shares) * 1.15 or 1)
        axes.set_ylabel("characters")
        _plain(axes, f"Length of {name}", f"% of the {name}")
    return figure


_PLOTS: dict[str, Callable[[Counters], Any]] = {
    "sources": _sources,
    "removed": _removed,
    "personal_data": _personal_data,
    "benchmark": _benchmark,
    "lengths": _lengths,
}
