"""`hunmin doctor`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from common.errors import EXIT_FAILED
from common.progress import console, print_json
from hunmin.commands.options import AsJson

COLOURS = {"ok": "green", "note": "yellow", "missing": "red", "broken": "red"}


def register(app: typer.Typer) -> None:
    app.command("doctor", epilog="Example: hunmin doctor --run /data/runs")(doctor)


def doctor(
    run: Annotated[
        str, typer.Option("--run", help="Folder for runs, checked for free space and permissions.")
    ] = "runs",
    as_json: AsJson = False,
) -> None:
    """Check this machine: what is installed, what is missing, and how to fix it.

    Exit code 1 if something required is missing.
    """
    from hunmin.doctor.checks import examine

    checks = examine(Path(run))
    bad = [check for check in checks if check.bad]
    if as_json:
        print_json({"ok": not bad, "checks": [asdict(check) for check in checks]})
    else:
        table = Table("", "", "found", show_lines=False)
        for check in checks:
            text = Text(check.found)
            if check.fix:
                text.append(f"\n→ {check.fix}", style="bold" if check.bad else "dim")
            table.add_row(check.name, Text(check.state, style=COLOURS[check.state]), text)
        out = console(stderr=False)
        out.print(table)
        names = ", ".join(check.name for check in bad)
        out.print(Text(f"to fix: {names}" if bad else "everything required works", style="red" if bad else "green"))
    if bad:
        raise typer.Exit(EXIT_FAILED)
