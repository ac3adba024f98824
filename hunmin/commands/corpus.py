"""`hunmin corpus …`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from common.progress import console, say
from hunmin.commands.run import AsJson, Overrides, RecipePath

app = typer.Typer(
    no_args_is_help=True, help="Raw text to clean, decontaminated, pseudonymised, deduplicated text shards."
)

In = Annotated[str, typer.Option("--in", help="JSON Lines to read; - is stdin; .gz, .bz2, .xz, .zst and URLs too.")]
Out = Annotated[str, typer.Option("--out", help="JSON Lines to write; - is stdout.")]


@app.command(epilog="Example: hunmin corpus build configs/quickstart.yaml")
def build(recipe: RecipePath, overrides: Overrides = None) -> None:
    """Do the corpus stage of a recipe; resumes."""
    from hunmin.recipe import load_recipe
    from hunmin.run import run

    loaded = load_recipe(recipe, overrides or [])
    run(loaded, last="corpus")
    stats(loaded.out)


@app.command(epilog="Example: hunmin corpus stats runs/quickstart")
def stats(
    folder: Annotated[str, typer.Argument(metavar="RUN", help="Run folder or corpus folder.")], as_json: AsJson = False
) -> None:
    """Print a finished corpus's statistics: by source, what each rule removed, personal data, decontamination."""
    from data.statistics_table import format_statistics, load_statistics

    statistics = load_statistics(Path(folder))
    if as_json:
        print(json.dumps(statistics, ensure_ascii=False, indent=1))
        return
    out = console(stderr=False)
    for table in format_statistics(statistics):
        out.print(table)


@app.command(epilog="Example: hunmin corpus pseudonymize --in raw.jsonl --out clean.jsonl")
def pseudonymize(source: In = "-", out: Out = "-") -> None:
    """Replace personal data of 16 types by keyed surrogates ({"text"} in, with "spans" out)."""
    from data.commands import pseudonymize_stream
    from data.pii import PiiSettings, resolve_key
    from hunmin.commands.streams import open_input, open_output

    key = resolve_key(PiiSettings())
    with open_input(source) as lines, open_output(out) as written:
        _summary(pseudonymize_stream(lines, written, key))


@app.command(
    epilog="Example: hunmin corpus decontaminate --benchmark klue/ --in s.jsonl --out kept.jsonl --hits h.jsonl"
)
def decontaminate(
    benchmark: Annotated[str, typer.Option("--benchmark", help="Folder with benchmark files, or a JSON Lines file.")],
    hits: Annotated[str, typer.Option("--hits", help="JSON Lines to write the hits to.")],
    source: In = "-",
    out: Out = "-",
    threshold: Annotated[
        float | None, typer.Option("--threshold", min=0.01, max=1.0, help="Containment from which a sentence goes.")
    ] = None,
) -> None:
    """Take out sentences found in a benchmark ({"id","text"}, a sentence a line)."""
    from data.commands import decontaminate_stream
    from data.decontaminate import DecontaminateSettings
    from hunmin.commands.streams import open_input, open_output

    settings = DecontaminateSettings() if threshold is None else DecontaminateSettings(threshold=threshold)
    with open_input(source) as lines, open_output(out) as written, open_output(hits) as found:
        _summary(decontaminate_stream(Path(benchmark), lines, written, found, settings))


@app.command(epilog="Example: hunmin corpus split --in docs.jsonl --out sentences.jsonl")
def split(source: In = "-", out: Out = "-") -> None:
    """Split documents into sentences ({"text"} in, with "sentences" out)."""
    from data.commands import split_stream
    from hunmin.commands.streams import open_input, open_output

    with open_input(source) as lines, open_output(out) as written:
        _summary(split_stream(lines, written))


def _summary(counts: dict[str, Any]) -> None:
    """Print counts on one line; a nested count is named by its path."""
    say(", ".join(f"{name} {value:,}" for name, value in _flat(counts)))


def _flat(counts: dict[str, Any], prefix: str = "") -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for name, value in counts.items():
        found += _flat(value, f"{prefix}{name}: ") if isinstance(value, dict) else [(f"{prefix}{name}", value)]
    return found
