"""What `hunmin corpus plan` prints."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from common.progress import console
from hunmin import units

WAYS = {
    "ranges": "read by range, by any worker",
    "parts": "read by row groups or rows, by any worker",
    "beginning": "read from the beginning, by one worker each",
}


def print_corpus_plan(plan: dict[str, Any]) -> None:
    """Print a corpus's plan as tables on stdout."""
    out = console(stderr=False)
    out.print(_inputs(plan))
    out.print(_hours(plan))
    out.print(_room(plan))
    for one in plan["not_sought"]:
        out.print(f"only from its beginning: {one['path']} ({units.size(one['stored_bytes'])})")
    if plan["unknown_files"]:
        out.print(f"{plan['unknown_files']:,} files are of unknown size and not counted")
    for advice in plan["advice"]:
        out.print(advice)


def _inputs(plan: dict[str, Any]) -> Table:
    rows = [
        ("files", f"{plan['files']:,}, {units.size(plan['stored_bytes'])}"),
        *(
            (WAYS[way], f"{facts['files']:,}, {units.size(facts['stored_bytes'])}")
            for way, facts in plan["ways"].items()
        ),
        ("text", units.size(plan["text_bytes"])),
        ("documents, about", units.count(plan["documents"])),
        ("units", f"{plan['units']:,} of {units.size(plan['unit_bytes'])}"),
        ("partitions of the keys", f"{plan['partitions']:,}"),
    ]
    return _two_columns("Inputs", rows)


def _room(plan: dict[str, Any]) -> Table:
    rows = [
        ("memory of a worker, about", units.size(plan["worker_bytes"])),
        ("memory of the process that ends the stage, about", units.size(plan["leader_bytes"])),
        ("disk while the stage runs, at most", units.size(plan["disk_bytes"])),
        ("finished corpus, at most", units.size(plan["corpus_bytes"])),
    ]
    return _two_columns("Memory and disk", rows)


def _two_columns(title: str, rows: list[tuple[str, str]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", show_header=False)
    table.add_column(justify="left")
    table.add_column(justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def _hours(plan: dict[str, Any]) -> Table:
    table = Table(title="Time, at rates measured on one machine", title_justify="left", title_style="bold")
    table.add_column("step")
    cores = list(plan["hours"])
    for number in cores:
        table.add_column(f"{number:,} core{'s' if number > 1 else ''}", justify="right")
    for step in plan["steps"]:
        table.add_row(step["step"], *(units.time(step["hours"][number] * 3600) for number in cores))
    table.add_row("in all", *(units.time(plan["hours"][number] * 3600) for number in cores), style="bold")
    return table
