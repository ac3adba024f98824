"""Reproduces the comparisons of the KLUE paper's Tables 33 to 35 with a recipe: the same run twice, one thing changed.

    python scripts/paper_tables.py 33 configs/quickstart.yaml --out runs/table33     # pseudonymised, or not
    python scripts/paper_tables.py 34 configs/quickstart.yaml --out runs/table34     # morphemes, or whole words
    python scripts/paper_tables.py 35 configs/quickstart.yaml --out runs/table34 --text other.txt  # their vocabularies

Each row is a whole run of the recipe (`hunmin run`, which resumes) with its seeds; KLUE scores of the pretrained model
are means over them. Printed is a Markdown table, a metric a row, with the difference of the two and how many of their
standard errors it is: below two nothing has been shown. Table 35 has no scores: its runs end with their vocabularies,
which are measured on a text that neither was made from. At the paper's scale the recipe is
configs/klue-roberta-base.yaml.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

from timing import hardware

TABLES: dict[str, dict[str, list[str]]] = {
    "33": {"pseudonymised": [], "as it is": ["corpus.pii.enabled=false"]},
    "34": {"morphemes": ["tokenizer.pretokenizer=morpheme"], "whole words": ["tokenizer.pretokenizer=none"]},
}
TABLES["35"] = TABLES["34"]
"""Table → row → what it has otherwise than the recipe."""
VOCABULARIES = {
    "fertility": "fertility",
    "continued_word_ratio": "continued words",
    "unk_ratio": "unknown",
}
"""Figures of Table 35, in its order."""


def hunmin(*words: str, **options: Any) -> bytes | None:
    """Run the command line and return what it printed, where that is asked for; its failure is the script's."""
    command = [sys.executable, "-m", "hunmin.main", *words]
    done = subprocess.run(command, **{"stdout": sys.stderr, **options})
    if done.returncode:
        raise SystemExit(done.returncode)
    return done.stdout


def run_row(recipe: str, out: Path, changes: list[str]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return (task, metric) → {"mean", "sd", "n"} of a row's run."""
    hunmin("run", recipe, f"out={out}", *changes)
    summary = json.loads((out / "klue" / "summary.json").read_bytes())
    return {
        (entry["task"], metric): value
        for entry in summary
        if entry["init"] == "pretrained"
        for metric, value in entry["best"].items()
    }


def as_table(rows: dict[str, dict[tuple[str, str], dict[str, Any]]]) -> str:
    """Return the comparison of two rows as Markdown."""
    (one, ours), (other, theirs) = rows.items()
    lines = [f"| | {one} | {other} | difference | standard errors |", "|---|---:|---:|---:|---:|"]
    for key in ours:
        a, b = ours[key], theirs[key]
        if a["mean"] is None or b["mean"] is None:
            continue
        error = math.sqrt(sum((each["sd"] or 0.0) ** 2 / each["n"] for each in (a, b)))
        difference = a["mean"] - b["mean"]
        errors = f"{abs(difference) / error:.1f}" if error else "–"
        cells = [f"{each['mean']:.2f} ± {each['sd'] or 0.0:.2f}" for each in (a, b)]
        lines.append(f"| {key[0]} {key[1]} | {cells[0]} | {cells[1]} | {difference:+.2f} | {errors} |")
    return "\n".join(lines)


def vocabularies(recipe: str, folders: dict[str, Path], changes: dict[str, list[str]], text: str) -> str:
    """Return the figures of both rows' vocabularies on a text as Markdown."""
    for name, out in folders.items():
        hunmin("run", recipe, f"out={out}", *changes[name], "--until", "tokenizer")
    tokenizers = [str(out / "tokenizer") for out in folders.values()]
    figures = json.loads(
        hunmin("tokenizer", "compare", *tokenizers, "--text", text, "--json", stdout=subprocess.PIPE) or b"[]"
    )
    lines = [f"| | {' | '.join(VOCABULARIES.values())} |", "|---|---:|---:|---:|"]
    for name, row in zip(folders, figures, strict=True):
        lines.append(f"| {name} | {' | '.join(f'{row[key]:.3f}' for key in VOCABULARIES)} |")
    return "\n".join(lines)


def main() -> None:
    """Run both rows and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("recipe")
    parser.add_argument("changes", nargs="*", metavar="KEY=VALUE", help="of both rows")
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--text", help="of Table 35: a document a line, from which neither vocabulary was made")
    options = parser.parse_args()
    if (options.table == "35") != bool(options.text):
        parser.error("--text is of Table 35, which needs it")
    changes = {name: [*options.changes, *others] for name, others in TABLES[options.table].items()}
    folders = {name: options.out / name.replace(" ", "-") for name in changes}
    if options.table == "35":
        print(vocabularies(options.recipe, folders, changes, options.text))
        return
    rows = {name: run_row(options.recipe, out, changes[name]) for name, out in folders.items()}
    print(f"{hardware()}\n\n{as_table(rows)}")


if __name__ == "__main__":
    main()
