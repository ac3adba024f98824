"""Stages done by themselves, outside a run: written beside, published whole, never over something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import expand, publish_folder, remove_leftovers
from common.manifest import Manifest, describe_outputs, package_versions, write_manifest
from common.settings import dump_settings
from tokenizer.extend import extend_tokenizer
from tokenizer.train import TokenizerSettings, train_tokenizer


def train_tokenizer_folder(settings: TokenizerSettings, corpus: str, out: Path) -> dict[str, Any]:
    """Train a tokenizer into `out` and return its counts; a killed command goes on with what it counted.

    Raises:
        UserError: `out` is not empty, or the corpus is not there.
    """
    expand(corpus)
    inputs = {"corpus": corpus}
    return _publish(out, settings, inputs, lambda temporary: train_tokenizer(settings, corpus, temporary))


def extend_tokenizer_folder(
    folder: str, words: list[str], corpus: str | None, settings: TokenizerSettings, out: Path
) -> dict[str, Any]:
    """Write an extended tokenizer into `out` and return its counts.

    Raises:
        UserError: `out` is not empty, or the corpus or tokenizer is not there or not fit.
    """
    if corpus is not None:
        expand(corpus)
    inputs = {"tokenizer": folder, **({"corpus": corpus} if corpus else {})}
    return _publish(
        out, settings, inputs, lambda temporary: extend_tokenizer(folder, temporary, words, corpus, settings)
    )


def _publish(
    out: Path, settings: TokenizerSettings, inputs: dict[str, str], work: Callable[[Path], dict[str, Any]]
) -> dict[str, Any]:
    refuse_full_folder(out)
    temporary = out.with_name(f"{out.name}.partial")
    temporary.mkdir(parents=True, exist_ok=True)
    counts = work(temporary)
    remove_leftovers(temporary)
    manifest = Manifest(
        stage="tokenizer",
        settings=dump_settings(settings),
        inputs=inputs,
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
