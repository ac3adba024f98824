"""Losses and SHA-256 of corpus, vocabulary, tokens, checkpoint and model of the shipped recipes, shrunk: what a change
of the code must leave as it is.

    hunmin sample --out runs/sample
    python scripts/recipe_hashes.py runs/sample > after.tsv

Every shipped recipe of an encoder runs from text to its exported model as it stands, but on the embedded sample, with a
small vocabulary, a narrow model of two layers and twelve steps on one worker and one thread. Equal lines of two trees
mean equal bytes. --tree names another checkout whose environment runs it; --old-names writes settings as they were
named before `max_seq_len`.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml
from timing import parser_of

STEPS = 12
PARTS = {
    "corpus": "corpus/shards/**/*",
    "vocabulary": "tokenizer/tokenizer.json",
    "tokens": "tokens/**/*.bin",
    "checkpoint": f"pretrain/checkpoints/*{STEPS}/*.safetensors",
    "model": "export/model.safetensors",
}
SMALL: dict[str, Any] = {
    "corpus.unit_mb": 0.5, "corpus.workers": 1, "corpus.pii.key": "a-key-for-invented-data",
    "tokenizer.vocab_size": 2500, "tokenizer.min_character_count": 2, "tokenizer.workers": 1, "encode.workers": 1,
    "pretrain.model.layers": 2, "pretrain.model.hidden": 32, "pretrain.model.heads": 2,
    "pretrain.model.feed_forward": 64, "pretrain.max_seq_len": 64, "pretrain.steps": STEPS,
    "pretrain.global_batch": 16, "pretrain.micro_batch": 8, "pretrain.batch_warmup": None,
    "pretrain.checkpoint_every": STEPS,
    "pretrain.validate_every": STEPS, "pretrain.log_every": 1, "pretrain.validation_samples": 32,
    "pretrain.optimizer.warmup_steps": 3, "pretrain.threads": 1, "pretrain.compile": False, "pretrain.wandb": "off",
}  # fmt: skip


def digest(run: Path, pattern: str) -> str:
    """Return the SHA-256 of all files that fit a pattern, names and bytes; "-" without any."""
    files = sorted(path for path in run.glob(pattern) if path.is_file() and path.name != "manifest.json")
    both = hashlib.sha256()
    for path in files:
        both.update(f"{path.relative_to(run)}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return both.hexdigest()[:16] if files else "-"


def settings_of(recipe: Path, sample: Path, out: Path, old_names: bool) -> list[str]:
    """Return the changes that shrink a recipe, as `hunmin run` takes them."""
    small = {**SMALL, "out": str(out), "corpus.inputs": [str(sample / "corpora/*")], "klue.data": str(sample / "klue")}
    written = yaml.safe_load(recipe.read_text(encoding="utf-8"))
    if written["pretrain"].get("masking", {}).get("kind") == "static":
        small["pretrain.masking.dupe_factor"] = 2
    if written["pretrain"].get("phases"):
        small |= {"pretrain.phases": [], "export.average": None}
    if old_names:
        small["pretrain.length"] = small.pop("pretrain.max_seq_len")
    return [f"{key}={json.dumps(value)}" for key, value in small.items()]


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("sample", type=Path, help="the embedded sample, as hunmin sample writes it")
    parser.add_argument("--tree", type=Path, default=Path(__file__).parents[1], help="a checkout with .venv")
    parser.add_argument("--old-names", action="store_true", help="settings as named before max_seq_len")
    options = parser.parse_args()
    failed = 0
    for recipe in sorted((options.tree / "configs").glob("*.yaml")):
        if "pretrain:" not in recipe.read_text(encoding="utf-8"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            changes = settings_of(recipe, options.sample.resolve(), run, options.old_names)
            command = [options.tree / ".venv/bin/hunmin", "run", recipe, "--until", "export", *changes]
            environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
            done = subprocess.run(command, cwd=options.tree, env=environment, capture_output=True, text=True)
            if done.returncode:
                print(f"{recipe.stem}\texit {done.returncode}\t{done.stderr.strip().splitlines()[-1]}", flush=True)
                failed += 1
                continue
            metrics = (run / "pretrain/logs/metrics.jsonl").read_text(encoding="utf-8").splitlines()
            losses = [row["loss"] for row in map(json.loads, metrics) if "loss" in row]
            facts = [f"{name} {digest(run, pattern)}" for name, pattern in PARTS.items()]
            print("\t".join([recipe.stem, *facts]), flush=True)
            print("\t".join([recipe.stem, "losses", *(f"{loss!r}" for loss in losses)]), flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
