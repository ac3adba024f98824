"""A whole run in little: a tenth of the sample's corpora, a model of one layer, one epoch of each of three tasks."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import yaml
import zstandard

from hunmin.sample import write_sample
from tests.runs import copy_stages

SHARE = 10
TASKS = ("ynat", "klue-mrc", "wos")
"""A head over a text, one over its tokens, and the decoder; `make quickstart` runs the others."""


def write_small_sample(folder: Path) -> Path:
    """Write the embedded sample with every tenth document of a corpus, the copies of these, and its tasks."""
    write_sample(folder)
    truth = folder / "truth.jsonl"
    facts = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()]
    left: list[dict[str, Any]] = []
    for path in sorted((folder / "corpora").iterdir()):
        lines = read_compressed(path).splitlines(keepends=True)
        ids = [json.loads(line)["id"] for line in lines] if ".jsonl" in path.name else range(1, len(lines) + 1)
        here = [fact for fact in facts if fact["file"] == f"corpora/{path.name}"]
        pairs = [{fact["document"], fact["of"]} for fact in here if "of" in fact]
        chosen = {*ids[::SHARE]}
        chosen = chosen.union(*(pair for pair in pairs if pair & chosen))
        content = b"".join(line for id, line in zip(ids, lines, strict=True) if id in chosen)
        write_compressed(path, content)
        # documents of text files are named by their lines, which a cut moves
        names = {id: id if ".jsonl" in path.name else new for new, id in enumerate(sorted(chosen), 1)}
        for fact in here:
            if fact["document"] in chosen:
                left.append({**fact, **{key: names[fact[key]] for key in ("document", "of") if key in fact}})
    truth.write_text("".join(json.dumps(fact_left, ensure_ascii=False) + "\n" for fact_left in left), encoding="utf-8")
    return folder


def read_compressed(path: Path) -> bytes:
    """Return what a file holds, decompressed."""
    content = path.read_bytes()
    if path.suffix == ".zst":
        return zstandard.ZstdDecompressor().decompressobj().decompress(content)
    return gzip.decompress(content) if path.suffix == ".gz" else content


def write_compressed(path: Path, content: bytes) -> None:
    """Write a file, compressed as its name says."""
    if path.suffix == ".zst":
        content = zstandard.ZstdCompressor().compress(content)
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def write_recipe(folder: Path, *inputs: Path, **corpus: Any) -> Path:
    """Write folder/recipe.yaml, which cleans `inputs` into folder/run, without pseudonyms and decontamination."""
    off = {"pii": {"enabled": False}, "decontaminate": {"enabled": False}, "workers": 1}
    tree = {"name": "t", "out": str(folder / "run"), "klue": {"data": str(folder / "klue")}}
    tree["corpus"] = {"inputs": [str(path) for path in inputs], **off, **corpus}
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(tree), encoding="utf-8")
    return path


def write_further(finished: Path, folder: Path, **pretrain: Any) -> Path:
    """Write a recipe below `folder` whose run has its token shards, those of a finished run that `write_mini` wrote."""
    copy_stages(finished / "run", folder / "run", "corpus", "tokenizer", "tokens")
    return write_mini(folder, finished / "sample", **pretrain)


def write_mini(folder: Path, sample: Path | None = None, **pretrain: Any) -> Path:
    """Write sample and recipe below `folder` and return the recipe's path; the run goes to folder/run.

    Args:
        folder: one that is there.
        sample: a small sample to take instead of a new one.
        pretrain: settings of the section.
    """
    sample = sample or write_small_sample(folder / "sample")
    recipe = {
        "name": "mini",
        "out": str(folder / "run"),
        "corpus": {
            "inputs": [str(sample / "corpora" / "*")],
            "pii": {"key": "a-key-for-invented-data", "key_env": "HUNMIN_TEST_PII_KEY"},
            "unit_mb": 0.2,
            "workers": 1,
        },
        "tokenizer": {"vocab_size": 2500, "min_character_count": 2, "workers": 1},
        "encode": {"workers": 1},
        "pretrain": {
            "model": {"layers": 1, "hidden": 32, "heads": 2},
            "packing": "contiguous",
            "max_seq_len": 32,
            "steps": 40,
            "global_batch": 16,
            "micro_batch": 16,
            "checkpoint_every": 5,
            "validate_every": 20,
            "log_every": 5,
            "validation_samples": 32,
            "optimizer": {"learning_rate": 1e-3, "warmup_steps": 5},
            "threads": 1,
            **pretrain,
        },
        "klue": {
            "data": str(sample / "klue"),
            "tasks": list(TASKS),
            "baseline_random": True,
            "training": {"epochs": 1, "evaluations_per_epoch": 1, "max_train_examples": 64, "max_seq_len": 32},
        },
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe), encoding="utf-8")
    return path
