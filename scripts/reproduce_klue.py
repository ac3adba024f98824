"""Does a published model reach its published scores here? Fine-tunes on KLUE by the authors' settings and compares.

    python scripts/reproduce_klue.py MODEL --data KLUE --out DIR [--row KLUE-RoBERTa-base] [--seeds 3] [--task ynat …]
        [--max-examples N] [--device cuda] [--markdown]

MODEL is a folder of klue/roberta-base, klue/roberta-small, klue/roberta-large or klue/bert-base. Its row of the KLUE
paper's Table 36 (dev) is told by its shape, or named. Eight tasks, three seeds from 42; the same command goes on.

For each published score: ours as the authors' code counts it, mean ± standard deviation over seeds; the difference; the
95% interval of the difference over seeds (Student's t: the published score is one number, taken as it stands) and over
examples (bootstrap; not of scores that only the authors' code gives, which cannot be counted again from predictions).
"inside" says that 0 is in the interval over seeds. Tasks that were not trained and scored on the whole of their data
are printed with the reason and without a verdict. The exit code is 0 whatever comes out: it is a measurement.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scipy import stats

from common.errors import HunminError, UserError
from klue.compare import compare
from klue.grid import Grid, markdown_grid, terminal_grid
from klue.report import read_rows
from klue.results import apart, metrics_of, summarize
from klue.runner import run_klue
from klue.settings import FineTuneSettings, KlueSettings, ParsingSettings
from klue.tables import published_rows
from klue.tasks import KLUE, TASKS, get_task

SHAPES = {
    ("bert", 768, 12): "KLUE-BERT-base",
    ("roberta", 768, 6): "KLUE-RoBERTa-small",
    ("roberta", 768, 12): "KLUE-RoBERTa-base",
    ("roberta", 1024, 24): "KLUE-RoBERTa-large",
}
"""Model type, hidden size and layers → row of Table 36."""


def row_of(model: Path) -> str | None:
    """Return the row of Table 36 that a model folder's shape is that of, or None."""
    try:
        config = json.loads((model / "config.json").read_bytes())
    except (OSError, ValueError):
        return None
    return SHAPES.get((config.get("model_type"), config.get("hidden_size"), config.get("num_hidden_layers")))


def differences(rows: Sequence[dict[str, Any]], published: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """Return {"task", "metric", "published", "mean", "sd", "seeds", "difference", "over_seeds", "over_examples",
    "inside", "why_not"} of each published score.

    Args:
        rows: result rows of pretrained jobs, each with its `folder`.
        published: task → metric → score.
    """
    entries = {entry["task"]: entry for entry in summarize(rows) if entry["init"] == "pretrained"}
    aside = apart(entries.values())
    intervals = {(row["task"], row["metric"]): row for row in compare(rows)["intervals"]}
    found = []
    for task, entry in entries.items():
        for metric, score in published.get(task, {}).items():
            key = TASKS[task].as_published.get(metric, metric)
            ours = entry["best"][key]
            mean, sd, n = ours["mean"], ours["sd"], ours["n"]
            apart_by = None if mean is None else mean - score
            seeds = None
            if apart_by is not None and sd is not None:
                half = float(stats.t.ppf(0.975, n - 1)) * sd / n**0.5
                seeds = [apart_by - half, apart_by + half]
            drawn = intervals.get((task, key))
            examples = None
            if drawn and drawn["low"] is not None:
                examples = [drawn["low"] - score, drawn["high"] - score]
            judged = task not in aside and seeds is not None
            found.append(
                {"task": task, "metric": key, "published": score, "mean": mean, "sd": sd, "seeds": n,
                 "difference": apart_by, "over_seeds": seeds, "over_examples": examples,
                 "inside": seeds[0] <= 0 <= seeds[1] if judged and seeds else None, "why_not": aside.get(task, "")}
            )  # fmt: skip
    return found


def as_grid(found: Sequence[dict[str, Any]], row: str) -> Grid:
    """Return the differences as a table for people.

    Args:
        found: what `differences` returns.
        row: name of the published model.
    """
    head = ["metric", "published", "ours", "seeds", "difference", "95% over seeds", "95% over examples", "verdict"]
    body = []
    for one in found:
        mean, sd = one["mean"], one["sd"]
        ours = "undefined" if mean is None else f"{mean:.2f}" + ("" if sd is None else f" ± {sd:.2f}")
        verdict = one["why_not"] or {True: "inside", False: "outside", None: "–"}[one["inside"]]
        body.append(
            [f"{TASKS[one['task']].title} {metrics_of(one['task'])[one['metric']]}", f"{one['published']:.2f}", ours,
             f"{one['seeds']}", "–" if one["difference"] is None else f"{one['difference']:+.2f}",
             _between(one["over_seeds"]), _between(one["over_examples"]), verdict]
        )  # fmt: skip
    return f"{row}: ours and Table 36 (dev)", head, body


def _between(ends: list[float] | None) -> str:
    return "–" if ends is None else f"{ends[0]:+.2f} to {ends[1]:+.2f}"


def as_the_authors(row: str, max_length: int | None = None) -> dict[str, Any]:
    """Return the sections of the tasks in which the authors' runs differ from the defaults: evaluations are chosen by
    the metrics as published, of large models' parsers by UAS; KLUE-BERT reads 512 tokens.

    Args:
        row: of Table 36.
        max_length: what is asked for instead.
    """
    parser = "uas_macro_f1" if row.endswith("-large") else "las_macro_f1"
    published = TASKS["klue-dp"].as_published
    reading = max_length or (512 if row == "KLUE-BERT-base" else None)
    return {
        "ner": FineTuneSettings(select_by=TASKS["klue-ner"].as_published["character_macro_f1"]),
        "dp": ParsingSettings(select_by=published.get(parser, parser)),
        "mrc": FineTuneSettings(select_by=TASKS["klue-mrc"].as_published["rouge_w"], max_length=reading),
    }


def reproduce(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Fine-tune, print the table and return the differences.

    Raises:
        UserError: the row is not known, or model or data do not fit.
        HunminError: jobs failed.
    """
    rows = {model["model"]: model["scores"] for model in published_rows()["rows"]}
    row: str | None = options.row or row_of(options.model)
    if row is None or row not in rows:
        raise UserError(
            f"{options.model} has the shape of no published model" if row is None else f"unknown row '{row}'",
            f"rows of Table 36: {', '.join(rows)}",
            "name one by --row",
        )
    tasks = [get_task(name).name for name in options.task or [task.name for task in KLUE]]
    training = FineTuneSettings(max_train_examples=options.max_examples, max_length=options.max_length)
    settings = KlueSettings(
        data=str(options.data), tasks=tasks, seeds=options.seeds, training=training, device=options.device,
        **as_the_authors(row, options.max_length),
    )  # fmt: skip
    run_klue(settings, options.model, options.out)
    mine = [{**one, "folder": str(options.out)} for one in read_rows(options.out) if one["task"] in tasks]
    found = differences([one for one in mine if one["init"] == "pretrained"], rows[row])
    if options.markdown:
        print(markdown_grid(as_grid(found, row)))
    else:
        from common.progress import console

        console(stderr=False).print(terminal_grid(as_grid(found, row)))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder of a published model")
    parser.add_argument("--data", type=Path, required=True, help="folder with KLUE's files")
    parser.add_argument("--out", type=Path, required=True, help="folder to write; the same command goes on")
    parser.add_argument("--row", help="model of Table 36 to compare with (default: by the shape)")
    parser.add_argument("--seeds", type=int, default=3, help="seeds a task, from 42")
    parser.add_argument("--task", action="append", help="task; repeat for several (default: all eight)")
    parser.add_argument("--max-examples", type=int, help="train on so many examples at most: tries the script, no more")
    parser.add_argument("--max-length", type=int, help="tokens of an input at most, for a model with few positions")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="where to fine-tune")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    try:
        reproduce(parser.parse_args(arguments))
    except HunminError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
