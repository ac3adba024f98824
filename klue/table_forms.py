"""Tables of scores in their forms: for the terminal, Markdown, LaTeX, JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from klue.grid import RAISED, Best, latex_lines, markdown_lines, md, terminal_text, tex
from klue.results import TITLES, summarize
from klue.synthetic import TOLD
from klue.tables import FLAG_MARKS, UNDEFINED, Counts, Line, Published, Rows, Scores, tables

METRIC_WIDTH = 38
"""Columns of the terminal that names of metrics take at most."""
MARKS = re.compile(f"[{RAISED}]+$|[{FLAG_MARKS}]$")
"""Mark of a footnote at the end of a cell or of a column's name."""
BESIDE = "KLUE-"
"""The terminal has room for the published models of KLUE whose names begin so; the other forms have all."""


def results_table(
    rows: Rows, published: Published = None, width: int = 120, contamination: Counts = None, brief: bool = False
) -> Group:
    """Return the results as tables for the terminal, one a suite, a metric a row, the best in bold; see `tables`.

    Args:
        width: columns of the terminal; fewer published models stand in fewer.
        brief: only the tasks' own metrics, the first notes, to the source of published scores, and those of marks.
    """
    return Group(*(_terminal(scores, width, brief) for scores in tables(rows, published, contamination)))


def _terminal(scores: Scores, width: int, brief: bool) -> Table:
    ours = [line for line in scores.lines if line.seeds]
    kind = BESIDE if scores.suite.name == "klue" else ""
    beside = [line for line in scores.lines if line.title.startswith(f"published: {kind}")]
    room = (width - 2 - METRIC_WIDTH - 17 * len(ours)) // 11
    shown = ours + beside[: max(0, room)]
    notes = _first_notes(scores, shown) if brief else list(scores.notes)
    if len(shown) < len(scores.lines):
        notes.append(f"{len(scores.lines) - len(shown)} more published models: hunmin klue report --format markdown.")
    table = Table(title=scores.title, title_justify="left", caption=Text("\n".join(notes)), caption_justify="left")
    table.add_column("metric")
    for line in shown:
        title = line.title.removeprefix("published: ").replace("-", "-\n", 2).replace(" ", "\n")
        seeds = f"\n{line.seeds} seed{'' if line.seeds == '1' else 's'}" if line.seeds else ""
        table.add_column(Text(title + seeds), justify="right", style="" if line.seeds else "dim")
    styled = [[*map(terminal_text, _with_best(scores, line))] for line in shown]
    for number, column in enumerate(scores.columns):
        table.add_row(column, *(cells[number] for cells in styled))
    extra = [] if brief else scores.extra
    if extra:
        table.add_section()
    for name, cells in extra:
        table.add_row(name, *cells, *["–"] * (len(shown) - len(cells)), style="dim")
    return table


def _first_notes(scores: Scores, shown: list[Line]) -> list[str]:
    """Return the notes up to the source of published scores, and the footnotes whose marks stand in the lines shown."""
    published = any(not line.seeds for line in scores.lines)
    first = 1 + (TOLD in scores.notes) + scores.collapsed + published
    cells = [*scores.columns, *(cell for line in shown for cell in line.cells)]
    marks = {match[0] for cell in cells if (match := MARKS.search(cell))}
    return [*scores.notes[:first], *(note for note in scores.notes[first:] if note.split(" ")[0] in marks)]


def markdown(
    rows: Rows, published: Published = None, contamination: Counts = None, say: Callable[[str], str] = str
) -> str:
    """Return the results as Markdown, a model a row, the best of each column in bold, notes below; see `tables`.

    Args:
        say: translates each title, name of a metric, and note; names of models are left as they are.
    """
    score_tables = tables(rows, published, contamination)
    return "\n".join(
        (f"### {say(scores.title)}\n\n" if len(score_tables) > 1 else "") + _markdown(scores, say)
        for scores in score_tables
    )


def _markdown(scores: Scores, say: Callable[[str], str]) -> str:
    columns = [md(say(name)) for name in ("model", "seeds", *scores.columns)]
    titles = [md(_line_title(line, say)) for line in scores.lines]
    body = [
        [title, line.seeds, *(md(_said_cell(cell, say)) for cell in _with_best(scores, line))]
        for title, line in zip(titles, scores.lines, strict=True)
    ]
    text = markdown_lines(columns, body, right=True)
    if scores.extra:
        ours = [title for title, line in zip(titles, scores.lines, strict=True) if line.seeds]
        body = [[md(say(name)), *(md(_said_cell(cell, say)) for cell in cells)] for name, cells in scores.extra]
        text += markdown_lines([md(say("beside the paper's metrics")), *ours], body, right=True)
    return "\n".join([*text, *(f"{md(say(note))}\n" for note in scores.notes)])


def _line_title(line: Line, say: Callable[[str], str]) -> str:
    if line.seeds:
        return ", ".join(filter(None, (line.model, say(TITLES[line.init]))))
    return f"{say('published')}: {line.title.removeprefix('published: ')}"


def _said_cell(cell: str, say: Callable[[str], str]) -> str:
    return say(cell) if cell == UNDEFINED else cell


def latex(rows: Rows, published: Published = None, contamination: Counts = None) -> str:
    """Return the results as LaTeX tables (booktabs, graphicx), one a suite, the best in bold; see `tables`."""
    return "\n".join(_latex(scores) for scores in tables(rows, published, contamination))


def _latex(scores: Scores) -> str:
    body = [" & ".join([tex(line.title), line.seeds, *map(tex, _with_best(scores, line))]) for line in scores.lines]
    ours = sum(bool(line.seeds) for line in scores.lines)
    if 0 < ours < len(body):
        body[ours] = f"\\midrule\n{body[ours]}"
    return "\n".join(
        [
            "\\begin{table*}\\centering",
            f"\\resizebox{{\\textwidth}}{{!}}{{\\begin{{tabular}}{{lr{'r' * len(scores.columns)}}}",
            *latex_lines(("model", "seeds", *scores.columns), body),
            "\\end{tabular}}",
            f"\\caption{{{tex(' '.join(scores.notes))}}}",
            "\\end{table*}\n",
        ]
    )


def as_tree(rows: Rows, published: Published = None, contamination: Counts = None) -> dict[str, Any]:
    """Return the results as a JSON-like tree: {"rows", "summary", "published", "contamination"}; see `tables`. The
    summary has mean and standard deviation over seeds, and of a search the best values on dev."""
    known = dict(contamination or {})
    return {"rows": list(rows), "summary": summarize(rows), "published": published, "contamination": known}


def _with_best(scores: Scores, line: Line) -> list[str]:
    return [
        Best(cell) if number not in line.flagged and value is not None and value == scores.best(number) else cell
        for number, (cell, value) in enumerate(zip(line.cells, line.values, strict=True))
    ]
