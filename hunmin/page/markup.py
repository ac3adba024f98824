"""Small pieces of HTML: everything that goes in is escaped, unless it is HTML already (markupsafe)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone

from markupsafe import Markup, escape

NONE = "–"
"""What stands where there is no value."""


def join(parts: Iterable[object]) -> Markup:
    """Return the parts one after the other."""
    return Markup("\n").join(map(escape, parts))


def section(key: str, title: str, *parts: object) -> Markup:
    """Return a section of the page, with an anchor."""
    return Markup('<section id="{0}" aria-labelledby="{0}-title"><h2 id="{0}-title">{1}</h2>\n{2}\n</section>').format(
        key, title, join(part for part in parts if part)
    )


def block(title: str, *parts: object) -> Markup:
    """Return a part of a section under its own heading, or nothing when all that it would hold is empty."""
    held = [part for part in parts if part]
    return Markup('<div class="block"><h3>{}</h3>\n{}\n</div>').format(title, join(held)) if held else Markup()


def grid(*blocks: object) -> Markup:
    """Return blocks side by side, as many as there is room for."""
    held = [one for one in blocks if one]
    return Markup('<div class="grid">{}</div>').format(join(held)) if held else Markup()


def paragraph(text: object, kind: str = "") -> Markup:
    """Return a paragraph; `kind` is a class of the style sheet."""
    return Markup("<p{}>{}</p>").format(Markup(' class="{}"').format(kind) if kind else "", text)


def notes(texts: Iterable[object]) -> Markup:
    """Return small print, a line each, or nothing."""
    lines = [Markup("<li>{}</li>").format(text) for text in texts]
    return Markup('<ul class="notes">{}</ul>').format(join(lines)) if lines else Markup()


def table(
    title: str,
    head: Sequence[object],
    rows: Iterable[Sequence[object]],
    words: Sequence[int] = (),
    total: Sequence[object] | None = None,
) -> Markup:
    """Return a table whose first column names its rows, in a box that scrolls by itself; nothing without rows.

    Args:
        title: what it shows, for those who hear the page.
        head: of the columns.
        rows: of cells; None is shown as a dash.
        words: columns of text, which are aligned left; all others but the first hold numbers.
        total: a last row.
    """
    lines = [_row(row, words, "") for row in rows]
    if not lines:
        return Markup()
    if total:
        lines.append(_row(total, words, "total"))
    heads = [
        Markup('<th scope="col"{}>{}</th>').format(_aligned(at, words), cell) for at, cell in enumerate(head)
    ]  # fmt: skip
    return Markup(
        '<div class="scroll" tabindex="0" role="region" aria-label="{0}"><table>'
        "<thead><tr>{1}</tr></thead>\n<tbody>\n{2}\n</tbody></table></div>"
    ).format(title, Markup("").join(heads), join(lines))


def _row(cells: Sequence[object], words: Sequence[int], kind: str) -> Markup:
    first, *others = (NONE if cell is None else cell for cell in cells)
    shown = [Markup("<td{}>{}</td>").format(_aligned(at, words), cell) for at, cell in enumerate(others, start=1)]
    opening = Markup('<tr class="{}">').format(kind) if kind else Markup("<tr>")
    return Markup('{}<th scope="row">{}</th>{}</tr>').format(opening, first, Markup("").join(shown))


def _aligned(column: int, words: Sequence[int]) -> str | Markup:
    return Markup(' class="word"') if column and column in words else ""


def pairs(items: Iterable[tuple[str, object]]) -> Markup:
    """Return names and values as a list of two columns; pairs without a value are left out."""
    lines = [
        Markup("<div><dt>{}</dt><dd>{}</dd></div>").format(name, value) for name, value in items if value is not None
    ]
    return Markup('<dl class="pairs">{}</dl>').format(join(lines)) if lines else Markup()


def details(title: object, *parts: object) -> Markup:
    """Return parts that a reader opens, or nothing when all of them are empty."""
    held = [part for part in parts if part]
    return Markup("<details><summary>{}</summary>{}</details>").format(title, join(held)) if held else Markup()


def bar(share: float) -> Markup:
    """Return a bar as long as a share, 0 to 1, of its column; the number stands beside it, so it is not read out."""
    return Markup('<span class="bar" aria-hidden="true"><span style="width:{:.1f}%"></span></span>').format(
        100 * min(1.0, max(0.0, share))
    )


def count(value: float | None) -> str:
    """Return a whole number with separators, or a dash."""
    return NONE if value is None else f"{value:,.0f}"


def percent(part: float, whole: float, digits: int = 1) -> str:
    """Return a share in percent, or a dash of nothing."""
    return f"{100 * part / whole:.{digits}f}%" if whole else NONE


def moment(seconds: float) -> str:
    """Return a time in UTC.

    Args:
        seconds: since 1970.
    """
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
