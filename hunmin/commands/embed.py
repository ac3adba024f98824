"""`hunmin embed …`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from common.errors import UserError
from common.progress import print_json, show
from common.stage_folders import folder_of
from hunmin.commands.options import AsJson, Overrides, RecipePath

if TYPE_CHECKING:
    from hunmin.embed.recipe import WithEmbed
app = typer.Typer(
    no_args_is_help=True, help="Sentence embeddings: data sets, tuning an encoder, scores by mteb; rerankers."
)
rerank = typer.Typer(
    no_args_is_help=True, help="A reranker (cross-encoder) of the recipe: tune it, score it, let it teach."
)
app.add_typer(rerank, name="rerank")
Out = Annotated[str | None, typer.Option("--out", help="Folder to write; default: one in the recipe's run folder.")]
Backend = Literal["onnx", "onnx-int8"]


@app.command(epilog=r"Example: hunmin embed data configs/embed-small.yaml embed.sources='\[klue]' embed.base=runs/x")
def data(recipe: RecipePath, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """Read and check the recipe's data sets: rows, texts that are cut, rows removed, licences, an example each."""
    from embed.base import read_base
    from embed.data import describe_sets, load_sets
    from hunmin.embed.stages import base_of, settings_of
    from hunmin.recipes.load import load_embed_recipe

    loaded = load_embed_recipe(recipe, overrides or [])
    settings = settings_of(loaded)
    _, tokenizer = read_base(base_of(loaded), settings)
    sets = describe_sets(load_sets(settings), tokenizer, settings.max_seq_len)
    rows = [
        {name: value for name, value in facts.items() if name not in ("counts", "examples")}
        | {"counts": "; ".join(f"{what}: {n:,}" for what, n in facts["counts"].items() if n)}
        for facts in sets
    ]
    _print(sets if as_json else rows, as_json)
    for facts in () if as_json else sets:
        show("\n".join([f"{facts['set']}:", *(" → ".join(row) for row in facts["examples"])]) + "\n")


@app.command(epilog=r"Example: hunmin embed train configs/embed-small.yaml embed.sources='\[klue]' embed.base=runs/x")
def train(
    recipe: RecipePath,
    overrides: Overrides = None,
    restart: Annotated[bool, typer.Option("--restart", help="Begin again; move what is there aside.")] = False,
) -> None:
    """Tune the recipe's encoder on its data sets, and score it where the recipe says so; the same command resumes."""
    from hunmin.pipeline.run import require_done, run
    from hunmin.recipes.load import load_embed_recipe
    from hunmin.recipes.recipe import Recipe
    from pretrain.parallel.world import world_info

    if (world := world_info(os.environ).world) > 1:
        what = f"hunmin embed train in {world} processes of a launcher"
        raise UserError(what, "it starts its processes itself, on one machine", f"set embed.processes={world}")
    loaded = load_embed_recipe(recipe, overrides or [])
    if isinstance(loaded, Recipe):
        require_done(loaded, "export", [recipe, *(overrides or [])])
    run(loaded, last="embed", restart="embed" if restart else None)
    print_scores(loaded.out)


@app.command(epilog="Example: hunmin embed score runs/embed-small --data klue --out scores --task KLUE-STS")
def score(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Folder of sentence embeddings, a run, or hub name.")],
    out: Annotated[str, typer.Option("--out", help="Folder to write; the same command continues.")],
    data: Annotated[
        list[str] | None, typer.Option("--data", help="Folder with the authors' sets, or of TASK/ folders; repeatable.")
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option("--task", help="Task by mteb's name, repeatable; default: all.")
    ] = None,
    base: Annotated[str | None, typer.Option("--base", help="Encoder before it was tuned, for the table.")] = None,
    truncate: Annotated[
        int | None, typer.Option("--truncate", min=1, help="Entries to keep of each vector; default: all.")
    ] = None,
    hub: Annotated[bool, typer.Option("--hub", help="Let mteb fetch tasks that have no files in --data.")] = False,
    large: Annotated[bool, typer.Option("--all", help="Score the two tasks of 1.5 million documents, too.")] = False,
    backend: Annotated[
        Backend | None, typer.Option("--backend", help="Score this graph of the model's folder as well.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score a model by mteb on local files, beside random weights, character n-grams and published rows."""
    from common.destinations import claim_folder
    from common.names import find
    from embed.score import score_models

    claim_folder(Path(out), "scores by mteb")
    tuned = folder_of(Path(model), "embed") / "model"
    table = score_models(
        tuned if tuned.is_dir() else find(model, "model"), data or (), Path(out), task or (),
        find(base, "model") if base else None, truncate, backend=backend or "", hub=hub, large=large,
    )  # fmt: skip
    _print_table(table, as_json)


@app.command(
    epilog=r"Example: hunmin embed mine configs/embed-small.yaml embed.sources='\[klue]' embed.mine.negatives=5"
)
def mine(recipe: RecipePath, overrides: Overrides = None, out: Out = None, as_json: AsJson = False) -> None:
    """Find hard negatives for the recipe's rows: JSON Lines for embed.data, one file a set with queries.

    Writes RUN/mined. A query's known positives are never its negatives.
    """
    from hunmin.embed.results import mine_negatives

    _print_by("set", mine_negatives(_loaded(recipe, overrides), out)["sets"], as_json)


@rerank.command(
    "train", epilog="Example: hunmin embed rerank train configs/embed-small.yaml embed.data='[{path: mined.jsonl}]'"
)
def rerank_train(recipe: RecipePath, overrides: Overrides = None, out: Out = None, as_json: AsJson = False) -> None:
    """Tune a cross-encoder from the recipe's base on its rows with negatives; the same command resumes.

    Writes RUN/rerank; RUN/rerank/model loads in CrossEncoder and AutoModelForSequenceClassification.
    """
    from hunmin.embed.results import train_reranker

    counts = train_reranker(_loaded(recipe, overrides), out)
    facts = {
        facts_of_set["set"]: {"pairs": facts_of_set["rows"], "licence": facts_of_set["licence"]}
        for facts_of_set in counts["sets"]
    }
    _print_by("set", facts, as_json)


@rerank.command("score", epilog="Example: hunmin embed rerank score my.yaml embed.score='[SQuADKorV1Retrieval]'")
def rerank_score(recipe: RecipePath, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """Score retrieval before and after the reranker reorders the embedder's first documents: nDCG@10 and MRR@10."""
    from embed.rerank import score_reranker
    from hunmin.embed.results import tuned_model
    from hunmin.embed.stages import settings_of

    loaded = _loaded(recipe, overrides)
    s = settings_of(loaded)
    models = tuned_model(loaded, s.mine.model), tuned_model(loaded, s.rerank.model, "rerank")
    scores = score_reranker(s, *models)
    rows = {
        task: {"queries": of_task["queries"]} | {
            f"{metric} {when}": f"{of_task[when][metric]:.2f}"
            for metric in of_task["after"] for when in ("before", "after")
        } for task, of_task in scores.items()
    }  # fmt: skip
    _print_by("task", scores if as_json else rows, as_json)


@rerank.command("teach", epilog="Example: hunmin embed rerank teach my.yaml embed.rerank.model=runs/reranker")
def rerank_teach(recipe: RecipePath, overrides: Overrides = None, out: Out = None, as_json: AsJson = False) -> None:
    """Write the reranker's scores of the recipe's rows with negatives: JSON Lines for embed.data with distill.

    Writes RUN/taught, one file a set.
    """
    from hunmin.embed.results import teach_rows

    _print_by("set", teach_rows(_loaded(recipe, overrides), out)["sets"], as_json)


def _loaded(recipe: str, overrides: list[str] | None) -> WithEmbed:
    from common.extras import require
    from hunmin.recipes.load import load_embed_recipe

    require("sentence_transformers", "this command", "embed")
    from embed.base import quiet_libraries

    quiet_libraries()
    return load_embed_recipe(recipe, overrides or [])


def _print_by(name: str, facts: dict[str, dict[str, Any]], as_json: bool) -> None:
    _print(facts if as_json else [{name: key} | row for key, row in facts.items()], as_json)


def _print(rows: Any, as_json: bool) -> None:
    from hunmin.instruct.plan import print_rows

    print_json(rows) if as_json else print_rows(rows)


def print_scores(run: str, as_json: bool = False) -> None:
    """Print the table that the stage of a run has left, if it has scored, on stdout."""
    from common.results import is_there
    from embed.settings import TABLE
    from embed.tables import read_table

    scores = folder_of(Path(run), "embed") / "scores"
    if is_there(scores / TABLE):
        _print_table(read_table(scores), as_json)


def _print_table(table: dict[str, Any], as_json: bool) -> None:
    from embed.score import as_markdown

    show(json.dumps(table, ensure_ascii=False, indent=1) + "\n" if as_json else as_markdown(table))
