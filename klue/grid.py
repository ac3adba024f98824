"""A plain table of text in each of the forms of a report: for the terminal, Markdown, LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from common.control_characters import escaped

Grid = tuple[str, list[str], list[list[str]]]
"""Title, head and rows."""
RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
"""Digits of the marks of notes."""
TEX = {
    **{sign: f"\\{sign}" for sign in "&%#_{}$"}, "\\": "\\textbackslash{}", "^": "\\textasciicircum{}",
    "~": "\\textasciitilde{}", "±": "$\\pm$", "×": "$\\times$", "–": "--", "−": "$-$", "†": "$^\\dagger$",
    "‡": "$^\\ddagger$",
}  # fmt: skip
"""Sign → how LaTeX writes it."""


class Best(str):
    """A cell in bold."""


def terminal_grid(grid: Grid) -> Table:
    """Return a grid as a table for the terminal; columns of numbers stand to the right."""
    title, head, rows = grid
    table = Table(title=Text(title), title_justify="left")
    for number, name in enumerate(head):
        figures = bool(rows) and all(re.match(r"[+−–-]?\d|–|undefined", row[number]) for row in rows)
        table.add_column(Text(name), justify="right" if figures else "left")
    for row in rows:
        table.add_row(*map(terminal_text, row))
    return table


def markdown_grid(grid: Grid) -> str:
    """Return a grid as Markdown, its title as a heading; what would be markup in a cell is text."""
    title, head, rows = grid
    lines = markdown_lines([*map(md, head)], [[*map(md, row)] for row in rows])
    return "\n".join([f"#### {md(title)}", "", *lines])


def latex_grid(grid: Grid) -> str:
    """Return a grid as a LaTeX table (package booktabs), its title as the caption."""
    title, head, rows = grid
    return "\n".join(
        [
            "\\begin{table}\\centering",
            f"\\begin{{tabular}}{{{'l' * len(head)}}}",
            *latex_lines(head, [" & ".join(map(tex, row)) for row in rows]),
            "\\end{tabular}",
            f"\\caption{{{tex(title)}}}",
            "\\end{table}\n",
        ]
    )


def markdown_lines(head: list[str], rows: Sequence[list[str]], right: bool = False) -> list[str]:
    """Return a Markdown table's lines and an empty one; `right` aligns all columns but the first."""
    rule = ["---", *["---:" if right else "---"] * (len(head) - 1)]
    return [*(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)), ""]


def latex_lines(head: Sequence[str], rows: Sequence[str]) -> list[str]:
    """Return the lines of a LaTeX table between its rules: names as text, rows in LaTeX."""
    names = " & ".join(map(tex, head))
    return ["\\toprule", f"{names} \\\\", "\\midrule", *(f"{row} \\\\" for row in rows), "\\bottomrule"]


def terminal_text(text: str) -> Text:
    """Return text for the terminal, `Best` in bold."""
    return Text(text, style="bold" if isinstance(text, Best) else "")


def md(text: str) -> str:
    """Return text for Markdown, in one line: signs that make HTML, links, tables, code or emphasis escaped."""
    shown = re.sub(r"([\\`*\[\]<>|~$&])", r"\\\1", escaped(" ".join(text.split())))
    return f"**{shown}**" if isinstance(text, Best) else shown


def tex(text: str) -> str:
    """Return text for LaTeX: its signs escaped, marks of notes raised."""
    shown = re.sub(f"[{RAISED}]+|.", _tex_sign, text, flags=re.DOTALL)
    return f"\\textbf{{{shown}}}" if isinstance(text, Best) else shown


def _tex_sign(match: re.Match[str]) -> str:
    if match[0][0] in RAISED:
        return f"$^{{{''.join(str(RAISED.index(c)) for c in match[0])}}}$"
    return TEX.get(match[0], match[0])
