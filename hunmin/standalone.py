"""Stages done by themselves, outside a run: written beside, published whole, never over something else."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import expand, publish_folder
from common.manifest import Manifest, describe_outputs, package_versions, write_manifest
from common.settings import dump_settings
from tokenizer.train import TokenizerSettings, train_tokenizer


def train_tokenizer_folder(settings: TokenizerSettings, corpus: str, out: Path) -> dict[str, Any]:
    """Train a tokenizer into `out` and return its counts.

    Raises:
        UserError: `out` is not empty, or the corpus is not there.
    """
    refuse_full_folder(out)
    expand(corpus)
    temporary = out.with_name(f"{out.name}.partial")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    counts = train_tokenizer(settings, Path(corpus), temporary)
    manifest = Manifest(
        stage="tokenizer",
        settings=dump_settings(settings),
        inputs={"corpus": corpus},
        outputs=describe_outputs(temporary),
        counts=counts,
        versions=package_versions("hunmin", "tokenizers", "transformers", "python-mecab-ko"),
    )
    write_manifest(temporary, manifest)
    publish_folder(temporary, out)
    return counts


def refuse_full_folder(out: Path) -> None:
    """Raise a UserError when `out` exists and is not empty."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is not empty", "a result never replaces something else", "give another --out")
