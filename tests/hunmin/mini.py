"""A whole run in little: the sample with few sentences, a model of one layer, one epoch a task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from hunmin.sample import write_sample


def write_mini(folder: Path, **pretrain: Any) -> Path:
    """Write sample and recipe below `folder` and return the recipe's path; the run goes to folder/run."""
    write_sample(folder / "sample", seed=1, sentences=4000)
    recipe = {
        "name": "mini",
        "out": str(folder / "run"),
        "corpus": {
            "inputs": [str(folder / "sample" / "corpora" / "*")],
            "pii": {"key": "a-key-for-invented-data", "key_env": "HUNMIN_TEST_PII_KEY"},
            "unit_mb": 0.2,
            "workers": 1,
        },
        "tokenizer": {"vocab_size": 2500, "min_character_count": 2, "workers": 1},
        "encode": {"workers": 1},
        "pretrain": {
            "model": {"layers": 1, "hidden": 32, "heads": 2},
            "samples": "contiguous",
            "length": 32,
            "steps": 40,
            "global_batch": 16,
            "micro_batch": 16,
            "checkpoint_every": 5,
            "validate_every": 20,
            "log_every": 5,
            "validation_samples": 32,
            "optimizer": {"lr": 1e-3, "warmup_steps": 5},
            "threads": 1,
            **pretrain,
        },
        "klue": {
            "data": str(folder / "sample" / "klue"),
            "baseline_random": True,
            "training": {"epochs": 1, "evaluations_per_epoch": 1, "max_train_examples": 64, "max_length": 32},
        },
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe), encoding="utf-8")
    return path
