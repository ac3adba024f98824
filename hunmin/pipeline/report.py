"""The report stage: one JSON file from what the stages left, and the lines and tables for the terminal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from common.errors import UserError
from common.files import atomic_write, human_size
from common.progress import console, duration, say, short_number
from common.results import FINITE, check_numbers, is_there, manifest_of, read_result, refuse_unfit
from common.stage_folders import folder_of
from hunmin.page.tables import change
from hunmin.page.words import ENGLISH, Words
from hunmin.pipeline.scores import NOT_SCORED, score_rows
from hunmin.pipeline.stage import stage_times
from hunmin.recipes.recipe import Recipe
from klue.result_rows import check_row, check_rows
from klue.synthetic import synthetic_tasks
from klue.table_forms import results_table
from klue.tables import published_for
from klue.tasks import TASKS
from pretrain.callbacks.metrics import check_figures, read_figures

COUNTED = ("corpus", "tokenizer", "tokens", "pretrain", "export")
"""Folders of stages whose counts are in a report."""


def write_report(recipe: Recipe, run: Path, out: Path) -> dict[str, Any]:
    """Write report.json into `out` and return counts; nothing in it depends on a clock."""
    metrics = read_figures(folder_of(run, "pretrain") / "logs" / "metrics.jsonl")
    collected = collect(recipe, run, metrics)
    with atomic_write(out / "report.json") as stream:
        json.dump(collected, stream, ensure_ascii=False, indent=1, sort_keys=True)
        stream.write("\n")
    return {"klue_rows": len(collected["klue"])}


def collect(recipe: Recipe, run: Path, metrics: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the report as a JSON-like tree.

    Args:
        run: run folder with every stage before the report done.
    """
    counts = {}
    for name in COUNTED:
        manifest = manifest_of(folder_of(run, name))
        counts[name] = manifest.counts if manifest else {}
    metrics = [row for row in metrics if row.get("objective") == metrics[-1].get("objective")]  # losses of one kind
    losses = [row for row in metrics if "loss" in row]
    validation = [row for row in metrics if "validation_loss" in row]

    def end(rows: list[dict[str, Any]], at: int, *names: str) -> dict[str, Any] | None:
        return {name: rows[at][name] for name in ("step", *names)} if rows else None

    rows = score_rows(run, recipe.name)
    return {
        "name": recipe.name,
        "seed": recipe.seed,
        "counts": counts,
        "loss": {"first": end(losses, 0, "loss", "accuracy"), "last": end(losses, -1, "loss", "accuracy")},
        "validation": {
            "first": end(validation, 0, "validation_loss", "validation_accuracy"),
            "last": end(validation, -1, "validation_loss", "validation_accuracy"),
        },
        "klue": rows,
        "contamination": contamination(folder_of(run, "corpus") / "hits.jsonl"),
        "published": published_for(rows, recipe.published),
        "synthetic": sorted(synthetic_tasks(rows)),
    }


def contamination(hits: Path) -> dict[str, int]:
    """Return {task: sentences of the corpus that were taken out for it}, tasks in the order of the benchmark."""
    hits_by_task = Counter[str]()
    if is_there(hits):
        with hits.open("rb") as stream:
            refuse_unfit(hits, lambda: hits_by_task.update(str(json.loads(line)["task"]) for line in stream), own=False)
    order = [*TASKS, *sorted(hits_by_task.keys() - TASKS.keys())]
    return {name: hits_by_task[name] for name in order if hits_by_task[name]}


def summary(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (stage, one line) for each stage that left something to say, in the order of the stages."""
    counts = report["counts"]
    lines = [(name, stage_line(name, counts[name], report["validation"])) for name in COUNTED if counts.get(name)]
    return [({"tokens": "encode"}.get(name, name), line) for name, line in lines]


def stage_line(name: str, counts: dict[str, Any], validation: dict[str, Any], words: Words = ENGLISH) -> str:
    """Return what came out of a stage in one line; "" where there is nothing to say.

    Args:
        name: of the stage, or of its folder.
        validation: the run's "first" and "last" validation, where there are any.
    """
    match name:
        case "corpus" if counts:
            size = words(
                "{sentences:sentence} in {documents:document}, {size}",
                sentences=counts["sentences"],
                documents=counts["documents"],
                size=human_size(counts["bytes"]),
            )
            removed = words(
                "removed: {benchmark:benchmark sentence}, {duplicates:duplicate document}, {rejects:unreadable line}; "
                "replaced: {personal:piece} of personal data",
                benchmark=counts["benchmark_sentences"],
                rejects=counts["rejects"],
                personal=counts["pii"],
                duplicates=counts["duplicates"]["documents"] + counts["duplicates"].get("near", 0),
            )
            if files := counts.get("quarantined_files"):
                text = "{files:input file} quarantined, see corpus/rejects/files.jsonl"
                removed += f"; {words(text, files=files)}"
            return f"{size}; {removed}"
        case "tokenizer" if counts:
            return words("{count:entry/entries}", count=counts["vocab_size"])
        case "tokens" | "encode" if counts:
            share = f"{100 * counts['unk'] / max(1, counts['tokens']):.4f}%"
            return words("{count:token}, {share} of them [UNK]", count=counts["tokens"], share=share)
        case "pretrain" if counts:
            return _training_line(counts, validation, words)
        case "export" if counts:
            count, averaged = short_number(counts["parameters"]), len(counts.get("averaged", ()))
            if averaged:
                return words("{count:parameter}; the mean of {averaged:checkpoint}", count=count, averaged=averaged)
            return words("{count:parameter}; logits equal the training model's", count=count)
        case "klue" if counts:
            if counts.get("skipped"):
                return words(NOT_SCORED)
            return words("{jobs:fine-tuning} on {tasks:task}", jobs=counts["jobs"], tasks=len(counts["examples"]))
    return ""


def _training_line(counts: dict[str, Any], validation: dict[str, Any], words: Words) -> str:
    first, last = validation.get("first"), validation.get("last")
    parts = [words("{steps:step}, {tokens:token}", steps=counts["steps"], tokens=short_number(counts["tokens"]))]
    if first and last and first.keys() & last.keys() >= {"validation_loss", "validation_accuracy"}:
        losses = change(first["validation_loss"], last["validation_loss"])
        parts.append(words("validation loss {losses}", losses=losses))
        parts.append(words("accuracy {share}", share=f"{100 * last['validation_accuracy']:.1f}%"))
        if "validation_pair_accuracy" in last:
            share = f"{100 * last['validation_pair_accuracy']:.1f}%"
            parts.append(words("sentence-pair accuracy {share}", share=share))
    if counts.get("skipped"):
        parts.append(words("{count:batch/batches} skipped", count=counts["skipped"]))
    return ", ".join(parts)


def read_report(run: Path) -> dict[str, Any]:
    """Return a finished run's report.

    Raises:
        UserError: there is none.
        DamagedError: it is damaged or was changed.
    """
    path = folder_of(run, "report") / "report.json"
    if not is_there(path):
        raise UserError(
            f"{run} has no report yet", "the report is the last stage", f"hunmin run RECIPE (out: {run}) to its end"
        )
    return dict(read_result(path, _check_report, "hunmin run RECIPE --from report"))


def _check_report(report: dict[str, Any]) -> None:
    check_numbers(report["counts"])
    check_numbers(report, other=FINITE)
    for end in [end for part in ("loss", "validation") for end in report.get(part, {}).values() if end]:
        check_figures(end)
    for row in report["klue"]:
        check_row(row)
    check_rows(report["klue"])
    summary(report)


def print_unfinished(name: str, state: str, lines: Sequence[tuple[str, str]], page: Path) -> None:
    """Print the state of an unfinished run to stdout, its lines of (stage, result), and the path of its page."""
    out = console(stderr=False)
    table = Table(title=Text(name), caption=Text(state), show_header=False, caption_justify="left")
    for line in lines:
        table.add_row(*map(Text, line))
    out.print(table)
    out.print(Text(f"page:   {page}"))


def print_report(run: Path, page: Path) -> None:
    """Print a finished run's report to stdout and name its files, its page among them."""
    report = read_report(run)
    out = console(stderr=False)
    table = Table(title=Text(report["name"]), show_header=False)
    for name, text in summary(report):
        table.add_row(name, text)
    out.print(table)
    if report["klue"]:
        out.print(results_table(report["klue"], report["published"], out.width, brief=True))
        out.print("more metrics and notes: the page")
    else:
        out.print(f"klue:   {NOT_SCORED}")
    out.print(f"page:   {page}")
    model = folder_of(run, "export") / "model.safetensors"
    if model.exists():
        say(f"model:  {model.parent} ({human_size(model.stat().st_size)})")
    if times := stage_times(run):
        say("time:   " + ", ".join(f"{stage} {duration(took['seconds'])}" for stage, took in times.items()))
