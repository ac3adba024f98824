"""A plain table of text in each of the forms of a report: for the terminal, Markdown, LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

Grid = tuple[str, list[str], list[list[str]]]
"""Title, head and rows."""
RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
"""Digits of the marks of notes."""


def terminal_grid(grid: Grid) -> Table:
    """Return a grid as a table for the terminal; columns of numbers stand to the right."""
    title, head, rows = grid
    table = Table(title=escape(title), title_justify="left")
    for number, name in enumerate(head):
        figures = bool(rows) and all(re.match(r"[+−–-]?\d|–|undefined", row[number]) for row in rows)
        table.add_column(escape(name), justify="right" if figures else "left")
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def markdown_grid(grid: Grid) -> str:
    """Return a grid as Markdown, its title as a heading."""
    title, head, rows = grid
    lines = [markdown_line(head), markdown_line(["---"] * len(head)), *map(markdown_line, rows)]
    return "\n".join([f"#### {title}", "", *lines, ""])


def latex_grid(grid: Grid) -> str:
    """Return a grid as a LaTeX table (package booktabs), its title as the caption."""
    title, head, rows = grid
    body = [f"{' & '.join(map(tex, row))} \\\\" for row in rows]
    return "\n".join(
        [
            "\\begin{table}\\centering",
            f"\\begin{{tabular}}{{{'l' * len(head)}}}",
            "\\toprule",
            f"{' & '.join(map(tex, head))} \\\\",
            "\\midrule",
            *body,
            "\\bottomrule",
            "\\end{tabular}",
            f"\\caption{{{tex(title)}}}",
            "\\end{table}\n",
        ]
    )


def markdown_line(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table; bars in a cell are escaped."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def tex(text: str) -> str:
    """Return text for LaTeX: its signs escaped, marks of notes raised."""
    text = re.sub(r"([&%#_])", r"\\\1", text)
    text = re.sub(f"[{RAISED}]+", lambda mark: f"$^{{{''.join(str(RAISED.index(c)) for c in mark[0])}}}$", text)
    signs = {"±": "$\\pm$", "×": "$\\times$", "–": "--", "−": "$-$", "†": "$^\\dagger$", "‡": "$^\\ddagger$"}
    return "".join(signs.get(character, character) for character in text)
