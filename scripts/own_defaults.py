"""Scores of an own task's default values beside the benchmark authors', on sets at hand cut to some sizes.

    python -m scripts.own_defaults MODEL --data DIR [--benchmarks DIR] [--task ynat …] [--examples 100] [--seeds 3]

Each set becomes an own task: its first train examples by hash as JSON Lines, its dev examples cut to 500. The
authors' values are stated in per_task. It prints a Markdown table: metric × 100 on dev, mean ± standard deviation over
seeds.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common.settings import parse_settings
from klue.examples import load_splits, sample_by_hash
from klue.runner import run_klue
from klue.settings import KlueSettings
from klue.tasks import get_task
from klue.tasks.base import Example
from klue.tasks.sentences import Classification, Regression

DEV = 500
VALUES = ("epochs", "learning_rate", "global_batch", "warmup_share", "evaluations_per_epoch", "patience")


def own_row(name: str, folder: Path, train: list[Example], dev: list[Example]) -> dict[str, Any]:
    """Return an own task's row of a benchmark's examples, which are written to `folder`."""
    task = get_task(name)
    fields = ["text", "text_pair"][: len(train[0].texts)]
    for split, examples in (("train", train), ("dev", dev)):
        lines = [{**dict(zip(fields, e.texts, strict=True)), "label": e.label} for e in examples]
        (folder / f"{name}-{split}.jsonl").write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    kind = "regression" if isinstance(task, Regression) else "classification"
    metric = task.selection if task.selection in ("macro_f1", "accuracy", "spearmanr", "pearsonr") else None
    files = {split: str(folder / f"{name}-{split}.jsonl") for split in ("train", "dev")}
    return {"name": f"own-{name}", "kind": kind, "text": fields, "metric": metric, **files}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", required=True)
    parser.add_argument("--benchmarks")
    parser.add_argument("--task", nargs="+", default=["ynat", "klue-nli", "klue-sts", "nsmc", "hate-speech", "korsts"])
    parser.add_argument("--examples", nargs="+", type=int, default=[100, 1000, 10_000])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print("| set | train | metric | authors' values | default values | epochs, rate, batch |")
    print("|---|---:|---|---:|---:|---|")
    known = KlueSettings(data=options.data, benchmarks=options.benchmarks)
    for name in options.task:
        task = get_task(name)
        assert isinstance(task, Classification | Regression)
        splits = load_splits(task, known.folder_of(task.name), source=known.source_of(task.name), tell=False)
        for count in [size for size in options.examples if size <= len(splits.train)]:
            with TemporaryDirectory() as folder:
                train, dev = sample_by_hash(splits.train, count), sample_by_hash(splits.dev, DEV)
                row = own_row(task.name, Path(folder), train, dev)
                authors = {value: getattr(task.authors, value) for value in VALUES} | {"class_weights": False}
                shown = []
                for section in (authors, {}):
                    tree = {"own": [row], "suites": ["own"], "seeds": options.seeds, "training": {"max_seq_len": 128}}
                    settings = parse_settings(KlueSettings, tree | {"per_task": {row["name"]: section}}, "the script")
                    [score] = run_klue(settings, options.model, Path(folder) / f"out{len(shown)}")["scores"]
                    shown.append(score)
            metric = row["metric"] or task.selection
            cells = [f"{s['best'][metric]['mean']:.2f} ± {s['best'][metric]['sd'] or 0:.2f}" for s in shown]
            used = shown[1]["settings"]
            how = f"{used['epochs']}, {used['learning_rate']:g}, {used['global_batch']}"
            print(f"| {task.title} | {len(train):,} | {metric} | {cells[0]} | {cells[1]} | {how} |", flush=True)


if __name__ == "__main__":
    main()
