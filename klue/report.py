"""Result rows as tables: for the terminal, Markdown; the published rows beside ours, never an average over tasks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from common.errors import UserError
from klue.results import summarize
from klue.tasks import TASKS

TITLES = {"pretrained": "pretrained", "random": "random initialisation"}
CAPTION = (
    "Dev scores × 100, best of the evaluations of each fine-tuning (as in the KLUE paper); mean ± standard deviation "
    "over seeds where there are several."
)


def published_rows(path: Path | None = None) -> dict[str, Any]:
    """Return {"source", "rows": [{"model", "scores": {task: {metric: number}}}]}, the paper's dev scores.

    Args:
        path: another file of the same form; None = the one that comes with the package.
    """
    return json.loads((path or Path(__file__).with_name("published.json")).read_text(encoding="utf-8"))


def table_cells(
    rows: Sequence[dict[str, Any]], published: dict[str, Any] | None = None
) -> tuple[list[str], list[list[str]], list[str]]:
    """Return (header, rows of cells, notes below the table) for result rows.

    One column a metric of the tasks that the rows hold, one row an initialisation, then the published models.

    Args:
        rows: result rows of jobs (results.jsonl).
        published: what `published_rows` returns, or None to leave them out (on data that is not the benchmark's
            they compare with nothing).
    """
    summary = summarize(rows)
    tasks = [name for name in TASKS if any(entry["task"] == name for entry in summary)]
    columns = [(name, metric) for name in tasks for metric in TASKS[name].metrics]
    data_notes = {entry["task"]: entry["data_note"] for entry in summary if entry["data_note"]}
    marks = {name: "*" * number for number, name in enumerate(sorted(data_notes, key=tasks.index), start=1)}
    header = ["model", "seeds"]
    for name, metric in columns:
        split = " (split of dev)" if data_notes.get(name, "").startswith("split of dev") else ""
        header.append(f"{TASKS[name].title} {TASKS[name].metrics[metric]}{split}{marks.get(name, '')}")
    body = []
    for init, title in TITLES.items():
        entries = {entry["task"]: entry for entry in summary if entry["init"] == init}
        if entries:
            seeds = sorted({entry["n"] for entry in entries.values()})
            cells = [_cell(entries.get(name), metric) for name, metric in columns]
            body.append([title, "–".join(map(str, seeds)), *cells])
    for model in (published or {"rows": []})["rows"]:
        scores = [model["scores"].get(name, {}).get(metric) for name, metric in columns]
        body.append([f"published: {model['model']}", "", *("–" if s is None else f"{s:.2f}" for s in scores)])
    notes = [CAPTION]
    if published:
        notes.append(f"published: {published['source']}.")
    notes += [f"{marks[name]} {TASKS[name].title}: {note}." for name, note in data_notes.items()]
    return header, body, notes


def results_table(rows: Sequence[dict[str, Any]], published: dict[str, Any] | None = None) -> Table:
    """Return the results as a table for the terminal; see `table_cells`."""
    header, body, notes = table_cells(rows, published)
    table = Table(title="KLUE", title_justify="left", caption="\n".join(notes), caption_justify="left")
    for number, name in enumerate(header):
        table.add_column(name, justify="left" if number == 0 else "right")
    for cells in body:
        table.add_row(*cells, style="dim" if cells[0].startswith("published") else "")
    return table


def markdown(rows: Sequence[dict[str, Any]], published: dict[str, Any] | None = None) -> str:
    """Return the results as a Markdown table with its notes below; see `table_cells`."""
    header, body, notes = table_cells(rows, published)
    escaped = [name.replace("*", "\\*") for name in header]
    lines = [_line(escaped), _line(["---", *["---:"] * (len(header) - 1)]), *map(_line, body)]
    return "\n".join([*lines, "", *(f"{note.replace('*', chr(92) + '*')}\n" for note in notes)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(entry: dict[str, Any] | None, metric: str) -> str:
    if entry is None:
        return "–"
    found = entry["best"][metric]
    if found["mean"] is None:
        return "undefined"
    return f"{found['mean']:.2f}" + (f" ± {found['sd']:.2f}" if found["sd"] is not None else "")


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """Return the result rows of a finished klue folder.

    Raises:
        UserError: the folder holds no results.jsonl.
    """
    path = folder / "results.jsonl"
    if not path.is_file():
        raise UserError(
            f"{folder} holds no results.jsonl", "scores are read from a finished klue folder", "hunmin klue finetune"
        )
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
