"""Whether filters are worth it: models trained on as many tokens of a corpus with and without them, and their scores.

    python scripts/ablate_filters.py RECIPE --filters YAML --out FOLDER [--tasks ynat,klue-nli] [key=value …] [--json]

YAML: a list as in corpus.filters, or a file with one. Both runs are of this recipe, with the filters and without;
steps, batch and length are its own, and samples are contiguous, so that nothing is padded and both see equally
many tokens. Each has its own vocabulary, of its own corpus. A run that was stopped goes on. Differences within the
spread of the seeds (`klue.seeds`) are none. Set KLUE's data by klue.data=FOLDER; klue.baseline_random=true adds what
the same architecture reaches without pretraining.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import yaml
from timing import hardware

from common.errors import HunminError
from common.manifest import read_manifest
from hunmin import run_recipe
from hunmin.recipe import load_recipe

NAMES = ("all text", "filtered")


def counts_of(run: Path, stage: str) -> dict[str, Any]:
    """Return the counts of a finished stage."""
    manifest = read_manifest(run / stage)
    if manifest is None:
        raise HunminError(f"{run} has no finished stage '{stage}'", "both runs go to their end", "run it again")
    return manifest.counts


def measured(run: Path) -> dict[str, Any]:
    """Return what is compared of a finished run: its corpus, the tokens it was trained on, its scores."""
    corpus, pretrain = counts_of(run, "corpus"), counts_of(run, "pretrain")
    return {
        "documents": corpus["documents"],
        "megabytes": corpus["bytes"] / 1e6,
        "tokens": pretrain["tokens"],
        "epochs": pretrain["epochs"],
        "scores": counts_of(run, "klue")["scores"],
    }


def refuse_unequal(found: dict[str, dict[str, Any]]) -> None:
    """Refuse runs that saw different numbers of tokens: their last sample may be short, more than that not.

    Raises:
        HunminError: they did.
    """
    first, second = (found[name]["tokens"] for name in NAMES)
    if abs(first - second) > 0.001 * first:
        raise HunminError(
            f"{first:,} and {second:,} tokens", "runs that are compared see equally many", "set pretrain.max_skipped=0"
        )


def main() -> int:
    """Run, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    parser.add_argument("--filters", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", default="ynat,klue-nli")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_intermixed_args()
    text = Path(options.filters).read_text("utf-8") if Path(options.filters).is_file() else options.filters
    filters = {NAMES[0]: [], NAMES[1]: yaml.safe_load(text)}
    changes = {
        name: [
            *options.overrides,
            f"out={options.out / name.replace(' ', '-')}",
            "pretrain.samples=contiguous",
            f"klue.tasks=[{options.tasks}]",
            f"corpus.filters={json.dumps(filters[name])}",
        ]
        for name in NAMES
    }
    for name in NAMES:  # a mistake in the second is told before the first has taken its hour
        load_recipe(options.recipe, changes[name])
    found = {name: measured(run_recipe(options.recipe, *changes[name], last="klue")) for name in NAMES}
    refuse_unequal(found)
    if options.json:
        print(json.dumps({"hardware": hardware(), "runs": found}, ensure_ascii=False, indent=1))
        return 0
    print(hardware())
    for name, one in found.items():
        print(f"{name}: {one['documents']:,} documents, {one['megabytes']:.1f} MB, {one['tokens']:,} tokens trained on "
              f"({one['epochs']:.2f} epochs)")  # fmt: skip
    for name, one in found.items():
        for score in one["scores"]:
            for metric, best in score["best"].items():
                spread = "" if best["sd"] is None else f" ± {best['sd']:.2f}"
                row = name if score["init"] == "pretrained" else f"{name}, random weights"
                print(f"  {score['task']} {metric}, {row}: {best['mean']:.2f}{spread} (seeds: {best['n']})")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except HunminError as error:
        sys.exit(f"error: {error}")
