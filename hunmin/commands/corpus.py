"""`hunmin corpus …`."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Annotated, Any

import typer

from common.errors import UserError
from common.names import find
from common.progress import console, print_json, say, show
from hunmin.commands.options import AsJson, Overrides, Overwrite, RecipePath
from hunmin.commands.streams import end_as_filters_do, files_of, open_input, open_output, report

app = typer.Typer(no_args_is_help=True, help="Build a corpus: clean, decontaminate, pseudonymise and deduplicate text.")

In = Annotated[str, typer.Option("--in", help="JSON Lines to read: file, URL, or - for stdin; .gz, .bz2, .xz, .zst.")]
Out = Annotated[str, typer.Option("--out", help="JSON Lines to write: file, or - for stdout; .gz, .bz2, .xz, .zst.")]


@app.command(epilog="Example: hunmin corpus build configs/quickstart.yaml corpus.workers=2")
def build(
    recipe: RecipePath,
    overrides: Overrides = None,
    executor: Annotated[
        str | None,
        typer.Option(
            "--executor",
            metavar="local|ray|slurm-array",
            help="Where the work runs: local processes, Ray tasks, or this element of a Slurm array; same output. "
            "After an array, one job with --executor local ends the stage (sbatch --dependency=afterok:ARRAY).",
        ),
    ] = None,
    ray_address: Annotated[
        str | None,
        typer.Option(
            "--ray-address", metavar="auto|local|HOST:PORT", help="Ray cluster address; its nodes share the run folder."
        ),
    ] = None,
    units_only: Annotated[
        bool,
        typer.Option(
            "--units-only",
            help="Stop after cleaning, as elements of a Slurm array do; run without it for duplicates and shards.",
        ),
    ] = False,
) -> None:
    """Build the corpus of a recipe; resumes."""
    from common.slurm_array import ShareDone
    from common.stage_folders import MADE
    from data.corpus import build_units
    from data.statistics.table import load_statistics
    from hunmin.pipeline.run import run
    from hunmin.recipes.preflight import refuse_moved
    from hunmin.recipes.recipe import load_recipe
    from klue.examples import own_sentences

    chosen = {"corpus.executor": executor, "corpus.ray_address": ray_address}
    options = [f"{name}={value}" for name, value in chosen.items() if value is not None]
    loaded = load_recipe(recipe, [*(overrides or []), *options], fetch=True, section="corpus")
    refuse_moved(loaded, recipe, overrides or [])
    try:
        works = {"corpus": lambda r, run, _: build_units(r.corpus, run / MADE, own_sentences(r.kept_out))}
        run(loaded, last="corpus", works=works if units_only else None)
    except ShareDone as done:
        say(str(done), style="yellow")
        return
    _print_tables(load_statistics(Path(loaded.out)))


@app.command(epilog="Example: hunmin corpus plan configs/quickstart.yaml --cores 256")
def plan(
    recipe: RecipePath,
    overrides: Overrides = None,
    cores: Annotated[
        int | None,
        typer.Option("--cores", min=1, help="Number of cores to estimate for; default: a row each for 1 to 1,024."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate the corpus stage before it runs: files, time by cores, memory and disk."""
    from data.estimate import CORES, corpus_plan, print_corpus_plan
    from hunmin.recipes.recipe import load_recipe

    settings = load_recipe(recipe, overrides or [], section="corpus").corpus
    described = corpus_plan(settings, (cores,) if cores else CORES)
    print_json(described) if as_json else print_corpus_plan(described)


@app.command(
    epilog="Examples: hunmin corpus stats runs/quickstart --plots plots · "
    "hunmin corpus stats runs/quickstart --dropped 5 --text"
)
@end_as_filters_do()
def stats(
    folder: Annotated[
        str, typer.Argument(metavar="RUN", help='Run or corpus folder; - reads {"text", "source"} lines from stdin.')
    ],
    as_json: AsJson = False,
    plots: Annotated[str | None, typer.Option("--plots", help="Folder for PNG plots of the statistics.")] = None,
    dropped: Annotated[
        int,
        typer.Option(
            "--dropped", min=0, help="Examples to list of what was left out, per filter, rule of duplicates, benchmark."
        ),
    ] = 0,
    text: Annotated[
        bool,
        typer.Option(
            "--text",
            help="With --dropped: read the inputs again and print texts, also what each cleaning rule took out. "
            "Personal data is replaced.",
        ),
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Print corpus statistics: sizes by source, removals by rule, personal data, decontamination."""
    from data.commands import stats_stream
    from data.statistics.plots import draw_statistics, statistics_files
    from data.statistics.report import warnings_of
    from data.statistics.table import load_statistics

    if dropped or text:
        _list_dropped(folder, dropped, text, as_json)
        return
    files = statistics_files(Path(plots), overwrite) if plots is not None else {}
    if folder == "-":
        with open_input("-") as lines:
            statistics = stats_stream(lines)
    else:
        statistics = load_statistics(Path(folder))
    for path in draw_statistics(statistics, files):
        say(f"drawn: {path}")
    if as_json:
        print_json(statistics)
        return
    _print_tables(statistics)
    for line in warnings_of(statistics):
        say(f"warning: {line}", style="yellow")


def _print_tables(statistics: dict[str, Any]) -> None:
    from data.statistics.table import format_statistics

    out = console(stderr=False)
    with out.capture() as shown:
        for table in format_statistics(statistics):
            if not out.is_terminal:
                table.columns[0].max_width = None  # a pipe cuts no name
            out.print(table)
    print(shown.get(), end="")


CHANGE = re.compile(r"\[-(.*?)-\]", re.DOTALL)
"""Text that a cleaning rule took away (`data.dropped.marked`)."""
SHOWN = 300
"""Characters printed of a text."""


def _list_dropped(folder: str, most: int, text: bool, as_json: bool) -> None:
    from data.dropped.replay import listed_examples, with_texts
    from data.statistics.table import load_statistics
    from hunmin.recipes.recipe import load_recipe

    if folder == "-" or not most:
        raise UserError(
            "--text goes with --dropped, and that with a run" if text else "--dropped goes with a run",
            "a run folder lists what its rules left out",
            "hunmin corpus stats RUN --dropped 5 --text",
        )
    rows = listed_examples(Path(folder), most)
    if text:
        recipe = load_recipe(Path(folder) / "recipe.yaml")
        rows = list(with_texts(rows, recipe.corpus, load_statistics(Path(folder)), most))
    else:
        rows = [{name: value for name, value in row.items() if name not in ("text", "benchmark_text")} for row in rows]
    if as_json:
        print_json(rows)
        return
    if not rows:
        say("nothing to list was left out" + ("" if text else "; what cleaning changed is shown with --text"))
    for row in rows:
        show(f"{row['kind']}  {row['rule']}  {_where(row)}\n")
        if text:
            show("  " + ("not found in the inputs" if row["text"] is None else _one_line(row["text"])) + "\n")
            show("".join(f"  = {_one_line(row[name])}\n" for name in ("kept_text", "benchmark_text") if row.get(name)))


def _where(row: dict[str, Any]) -> str:
    """Return where a text that was left out stood, and what it was measured by or equals."""
    if row["kind"] == "duplicate":
        return f"{row['similarity']:g}  {row['id']} = {row['kept']}"
    if row["kind"] == "benchmark":
        return f"{row['score']:g}  {row['id']}:{row['sentence']} = {row['benchmark_guid']}"
    return (f"{row['score']:g}  " if row["kind"] == "filter" else "") + f"{row['source']}  {row['id']}"


def _one_line(text: str) -> str:
    text = CHANGE.sub(_told_apart, text)
    return " ".join(text[:SHOWN].split()) + (" …" if len(text) > SHOWN else "")


def _told_apart(change: re.Match[str]) -> str:
    """Return a removed piece with code points for the characters that NFC composes: they look like what they become."""
    piece = change[1]
    if unicodedata.is_normalized("NFC", piece):
        return change[0]
    return f"[-{' '.join(f'U+{ord(character):04X}' for character in piece)}-]"


@app.command("pii", hidden=True, epilog="Example: hunmin corpus pii posts.csv --show 20")  # what many type
@app.command(
    epilog="Examples: zstd -dc raw.jsonl.zst | hunmin corpus pseudonymize > clean.jsonl · "
    "hunmin corpus pseudonymize posts.csv --show 20"
)
@end_as_filters_do()
def pseudonymize(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE", help="With --show: files, as corpus.inputs names them.")
    ] = None,
    source: In = "-",
    out: Out = "-",
    listed: Annotated[
        int | None,
        typer.Option(
            "--show",
            min=0,
            help="Print what would be replaced in FILE, up to so many values of each type with the text around them. "
            "This prints personal data.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Pseudonymise personal data: reads {"text"}, writes it with "spans"."""
    from data.commands import pseudonymize_stream
    from data.pii.settings import PiiSettings, resolve_key

    if files or listed is not None:
        _list_personal_data(files or [], listed, (source, out), as_json)
        return
    key = resolve_key(PiiSettings(), of_recipe=False)
    with open_input(source) as lines, open_output(out, b'"spans":', overwrite, files_of(source)) as written:
        counts = pseudonymize_stream(lines, written, key)
    report(counts, as_json, out)


def _list_personal_data(paths: list[str], most: int | None, streams: tuple[str, str], as_json: bool) -> None:
    from data.pii.listing import personal_data
    from data.readers.paths import list_files
    from data.units.fields import check_fields
    from hunmin.recipes.inputs import new_inputs

    if most is None or not paths or streams != ("-", "-"):
        raise UserError(
            "FILE and --show go together, without --in and --out",
            "files are listed; a stream is pseudonymised",
            "hunmin corpus pseudonymize FILE --show 20, or hunmin corpus pseudonymize --in FILE --out FILE",
        )
    files = list_files(new_inputs(paths, lambda path, columns: []))
    check_fields(files)
    say("what follows is personal data of your files", style="yellow")
    values_by_type = personal_data(files, most)
    if as_json:
        print_json({kind: of_type.as_json() for kind, of_type in values_by_type.items()})
        return
    for kind, of_type in values_by_type.items():
        where = ", ".join(f"{label} {count:,}" for label, count in of_type.files.most_common(6))
        show(f"{kind}: {of_type.files.total():,} found, {len(of_type.distinct):,} distinct; {where}\n")
        for label, before, value, after in of_type.examples:
            show(f"  {label}  " + f"{before}⟦{value}⟧{after}".replace("\n", "⏎") + "\n")
    if not values_by_type:
        say("no personal data was found")


@app.command(
    epilog="Example: hunmin corpus decontaminate --benchmark klue/ --in s.jsonl --out kept.jsonl --hits h.jsonl"
)
@end_as_filters_do()
def decontaminate(
    benchmark: Annotated[
        str, typer.Option("--benchmark", help="Benchmark: folder, JSON Lines file, or data set on the hub.")
    ],
    hits: Annotated[str, typer.Option("--hits", help="JSON Lines file for the hits.")],
    source: In = "-",
    out: Out = "-",
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Remove sentences found in a benchmark: reads {"id", "text"}, one sentence per line."""
    from data.benchmark import benchmark_files
    from data.commands import decontaminate_stream

    if hits == out == "-":
        raise UserError("--out and --hits are both -", "the hits have a file of their own", "name another")
    folder = find(benchmark, "dataset")
    inputs = [*files_of(source), *benchmark_files(str(folder))]
    with (
        open_input(source) as lines,
        open_output(out, b'"text"', overwrite, [*inputs, hits]) as written,
        open_output(hits, b'"benchmark_guid":', overwrite, [*inputs, out]) as hit_lines,
    ):
        counts = decontaminate_stream(folder, lines, written, hit_lines)
    report(counts, as_json, out if hits != "-" else "-")


@app.command(epilog="Example: zstd -dc docs.jsonl.zst | hunmin corpus split | head -3")
@end_as_filters_do()
def split(source: In = "-", out: Out = "-", overwrite: Overwrite = False, as_json: AsJson = False) -> None:
    """Split documents into sentences: reads {"text"}, writes it with "sentences"."""
    from data.commands import split_stream

    with open_input(source) as lines, open_output(out, b'"sentences":', overwrite, files_of(source)) as written:
        counts = split_stream(lines, written)
    report(counts, as_json, out)
