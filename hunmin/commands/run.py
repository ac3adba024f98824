"""`hunmin run`, `plan`, `sample`, `report`, `verify`, `clean`."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from common.errors import EXIT_FAILED, UserError
from common.progress import console, print_json, say
from common.stage_folders import folder_of
from hunmin import completion
from hunmin.commands.embed import print_scores
from hunmin.commands.leaderboard import print_board
from hunmin.commands.options import AsJson, Overrides, Overwrite, RecipePath
from hunmin.page.words import Language

ENDED = ("finished", "failed")
"""States of a run after which its page does not change."""


def register(app: typer.Typer) -> None:
    app.command(
        "run", epilog="Example: hunmin run configs/quickstart.yaml out=runs/short pretrain.steps=200 --until export"
    )(run)
    app.command("plan", epilog="Example: hunmin plan configs/klue-roberta-base.yaml --devices 8 --device H100")(plan)
    app.command("sample", epilog="Example: hunmin sample --out runs/sample")(sample)
    app.command("verify", epilog="Example: hunmin verify runs/quickstart")(verify)
    app.command("clean", epilog="Example: hunmin clean runs/quickstart --remove")(clean)
    app.command("report", epilog="Examples: hunmin report runs/base --watch · hunmin report runs/a runs/b")(report)


def run(
    recipe: RecipePath,
    overrides: Overrides = None,
    first: Annotated[
        str | None,
        typer.Option(
            "--from", help="Stage to run again, with those that depend on it.", autocompletion=completion.stages
        ),
    ] = None,
    last: Annotated[
        str | None, typer.Option("--until", help="Last stage to run.", autocompletion=completion.stages)
    ] = None,
    restart: Annotated[
        str | None,
        typer.Option(
            "--restart",
            help="Stage to restart from scratch; replaces its output and that of later stages.",
            autocompletion=completion.stages,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print which stages would run, why, and for how long; run nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a recipe: every stage that is not finished, from raw text to KLUE scores. The same command resumes."""
    from hunmin.embed.recipe import EmbedRecipe
    from hunmin.recipes.load import load_any_recipe
    from hunmin.recipes.preflight import refuse_moved, refuse_with_inputs
    from hunmin.recipes.recipe import Recipe

    try:
        loaded = load_any_recipe(recipe, overrides or [], fetch=not dry_run)
    except UserError as error:
        refuse_with_inputs(error, recipe, overrides or [])
        raise
    refuse_moved(loaded, recipe, overrides or [])
    if dry_run:
        from hunmin.embed.plan import dry_run_embed
        from hunmin.estimates.dry_run import dry_run_plan, print_plan
        from hunmin.instruct.plan import dry_run_instruct, print_instruct_plan

        asked = (first, last, restart)
        if isinstance(loaded, EmbedRecipe):
            described = dry_run_embed(loaded, *asked)
        else:
            described = dry_run_plan(loaded, *asked) if isinstance(loaded, Recipe) else dry_run_instruct(loaded, *asked)
        printing = print_plan if isinstance(loaded, Recipe) else print_instruct_plan
        print_json(described) if as_json else printing(described)
        from hunmin.pipeline.run import refuse_early

        refuse_early(loaded, first, last, restart)  # the plan shows why
        return
    from hunmin.pipeline.run_and_publish import run_whole

    run_whole(loaded, first, last, restart)
    if isinstance(loaded, EmbedRecipe) or last == "embed":
        print_scores(loaded.out, as_json)
    elif not isinstance(loaded, Recipe):
        if loaded.leaderboard and last in (None, "leaderboard"):
            print_board([str(folder_of(Path(loaded.out), "leaderboard"))], "json" if as_json else "markdown")
    elif last in (None, "report"):
        from hunmin.page.page import PAGE
        from hunmin.pipeline.report import print_report, read_report

        if as_json:
            print_json(read_report(Path(loaded.out)), indent=2)
        else:
            print_report(Path(loaded.out), Path(loaded.out) / PAGE)


def plan(
    recipe: RecipePath,
    overrides: Overrides = None,
    devices: Annotated[
        int | None,
        typer.Option(
            "--devices",
            min=1,
            help="Devices (GPUs, TPU chips or slices) per node, as in hunmin launch; default: 1, and without --device "
            "as many as hunmin run would take.",
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            help="Device name, e.g. A100, H100, 'TPU v4-8' (a slice); default: this machine, measured.",
            autocompletion=completion.devices,
        ),
    ] = None,
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, help="Number of nodes, as in hunmin launch; default: 1.")
    ] = None,
    network: Annotated[
        float | None,
        typer.Option("--network", min=0.001, help="Network bandwidth per node, in GB/s; default: 25 (200 Gbit/s)."),
    ] = None,
    price: Annotated[float | None, typer.Option("--price", min=0, help="Price per device and hour.")] = None,
    mfu: Annotated[
        float | None,
        typer.Option(
            "--mfu", min=0.001, max=1.0, help="Model FLOPs utilisation (MFU), e.g. 0.4; default: assumed per device."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate tokens, FLOPs, memory, disk, time and cost of a run, before it runs."""
    from hunmin.estimates.cost import cost_plan, refuse_full_node
    from hunmin.estimates.tables import print_cost
    from hunmin.recipes.recipe import load_recipe

    for option, value in (("--network", network), ("--price", price), ("--mfu", mfu)):
        if value is not None and not math.isfinite(value):
            raise UserError(f"{option} {value}", "it is a finite number", "give another")
    loaded = load_recipe(recipe, overrides or [], without_data=True)
    refuse_full_node(devices or 1, device)
    count = (devices or 1) * (nodes or 1) if devices or nodes else None
    described = cost_plan(loaded, count, device, nodes, network, price, mfu)
    print_json(described) if as_json else print_cost(described)


def verify(
    folder: Annotated[str, typer.Argument(metavar="RUN", help="Run folder; or a model's or tokenizer's.")],
    accept: Annotated[
        bool,
        typer.Option(
            "--accept", help="Accept the files of a changed model or tokenizer: write them into its manifest."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Verify the outputs and checkpoints of a run against their hashes; exit code 1 if one differs.

    With --accept, a model's or tokenizer's folder that was changed on purpose is checked and its manifest rewritten.
    """
    from hunmin.verify import accept_changes, print_verified, verify_run

    if accept:
        names = accept_changes(Path(folder))
        print_json(names) if as_json else say(f"{folder}: accepted {', '.join(names) or 'nothing: no file differs'}")
        return
    rows = verify_run(Path(folder))
    print_json(rows) if as_json else print_verified(rows)
    if any(row["damaged"] for row in rows):
        raise typer.Exit(EXIT_FAILED)


def clean(
    folder: Annotated[str, typer.Argument(metavar="RUN", help="Run folder.")],
    remove: Annotated[bool, typer.Option("--remove", help="Remove them; without it they are only listed.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what nothing in a run needs any more: outputs of earlier settings, attempts given up, their checkpoints."""
    from hunmin.clean import clean, print_unneeded, unneeded

    run = Path(folder)
    rows = clean(run) if remove else unneeded(run)
    print_json(rows) if as_json else print_unneeded(run, rows, remove)


def sample(
    out: Annotated[str, typer.Option("--out", help="Output folder.")],
    seed: Annotated[int | None, typer.Option("--seed", hidden=True)] = None,
    instruct: Annotated[
        bool,
        typer.Option("--instruct", help="Write instruction data sets, leaderboard tasks and a tiny decoder instead."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the synthetic sample: Korean corpora with planted noise, and eight small tasks in KLUE's form."""
    from hunmin.sample import make_sample
    from hunmin.sample.folder import SEED

    if seed not in (None, SEED):
        raise UserError(f"--seed {seed}", f"the sample is fixed data of seed {SEED}", "leave --seed out")
    counts = make_sample(Path(out), instruct)
    if as_json:
        print_json(counts)
    else:
        say(f"{out}: " + ", ".join(f"{value:,} {key}" for key, value in counts.items() if isinstance(value, int)))


def report(
    folders: Annotated[list[str], typer.Argument(metavar="RUN", help="Run folder; several are compared on one page.")],
    out: Annotated[
        str | None,
        typer.Option("--out", help="File to write; default: RUN/report.html, of several runs comparison.html."),
    ] = None,
    language: Annotated[
        Language | None, typer.Option("--language", help="Language of the page; default: that of the model card.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Write the page again until the run has ended or failed (exit code 1).")
    ] = False,
    every: Annotated[float, typer.Option("--every", min=1, help="With --watch: seconds between two pages.")] = 30,
    with_text: Annotated[
        bool, typer.Option("--with-text", help="Include sample documents of the corpus; default: counts alone.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a finished run's report as JSON on stdout; write no page.")
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Write a run, finished or in progress, as one HTML page without network requests; compare several runs."""
    from common.process import Terminated
    from common.settings import load_yaml
    from hunmin.pipeline.report import print_report, print_unfinished, read_report, stage_line
    from hunmin.recipes.recipe import refuse_instructions

    runs = [Path(folder) for folder in folders]
    for run in runs:
        if (run / "recipe.yaml").is_file():
            refuse_instructions(load_yaml(run / "recipe.yaml"), run / "recipe.yaml")
    if as_json and (out or watch or with_text or language):
        raise UserError("--json with an option of the page", "JSON goes to stdout, and no page is written")
    if len(runs) > 1:
        _compare(runs, out, language, overwrite, watch or with_text or as_json)
        return
    [run] = runs
    if as_json:
        print_json(read_report(run), indent=2)
        return
    from hunmin.page.page import PAGE, write_page
    from hunmin.page.pipeline import validation_ends
    from hunmin.page.verdict import headline

    page = Path(out) if out else run / PAGE
    facts = write_page(run, page, with_text, every if watch else None, language, overwrite)
    try:
        seen = facts.state
        while watch and facts.state not in ENDED and (seen, facts.state) != ("running", "not running"):
            say(f"{page}: {headline(facts)}")
            time.sleep(every)
            seen = facts.state
            facts = write_page(run, page, with_text, every, language)
        if watch and facts.state != "finished":
            facts = write_page(run, page, with_text, language=language)
    except (KeyboardInterrupt, Terminated):
        write_page(run, page, with_text, language=language)  # one that does not load itself again
        raise
    if facts.state == "finished":
        print_report(run, page)
    else:
        lines = [
            (stage.name, stage_line(stage.name, stage.counts, validation_ends(facts)))
            for stage in facts.stages
            if stage.counts and stage.state in ("done", "outdated")
        ]
        print_unfinished(facts.name, headline(facts), [line for line in lines if line[1]], page)
        if watch:
            raise typer.Exit(EXIT_FAILED)


def _compare(runs: list[Path], out: str | None, language: Language | None, overwrite: bool, of_one: bool) -> None:
    """Write the page of several runs; `of_one`: an option is given that only a page of one run has."""
    from hunmin.page.differences import differing_settings, unequal
    from hunmin.page.page import COMPARISON, write_comparison

    if of_one:
        raise UserError(f"--watch, --with-text or --json with {len(runs)} runs", "these are of one run", "name one run")
    path = Path(out or COMPARISON)
    facts = write_comparison(runs, path, language, overwrite)
    for key, values in differing_settings(facts).items():
        say(f"{key}: {differing_parts(values)}")
    if differs := unequal(facts):
        say(f"warning: the runs differ in {', '.join(differs)}: no run is marked as the better one", style="yellow")
        if sum(bool(of_run.klue.rows) for of_run in facts) > 1:
            folders = shlex.join(map(str, runs))
            say(f"whether their scores differ by more than chance: hunmin klue report {folders} --interval")
    console(stderr=False).print(f"page:   {path}")


def differing_parts(values: Sequence[str | None]) -> str:
    """Return a setting's values beside each other; of lists the parts that are not in all of them, and how many are.

    Args:
        values: of each run, the parts of a list separated by commas; None where a run has none.
    """
    parts = [value.split(", ") if value else [] for value in values]
    alike = set(parts[0]).intersection(*parts)
    if not alike:
        return " · ".join(value or "–" for value in values)
    apart = [", ".join(part for part in each if part not in alike) for each in parts]
    if not any(apart):
        return f"{len(alike)} of the same name{'s' * (len(alike) > 1)}, in another place or order"
    return f"{' · '.join(each or '–' for each in apart)} ({len(alike)} more in all of them)"
