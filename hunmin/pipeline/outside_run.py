"""Stages done by themselves, outside a run: written beside, published whole, never over something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from common.destinations import claim_folder, name_folder, refuse_folder
from common.errors import UserError
from common.files import MADE_BY, remove_leftovers
from common.globs import expand
from common.manifest import (
    MANIFEST,
    Manifest,
    describe_outputs,
    package_versions,
    refuse_damaged,
    write_manifest,
)
from common.names import find
from common.settings import dump_settings, settings_hash
from data.shards import SHARDS
from tokenizer.extend import extend_tokenizer, stated
from tokenizer.save import read_tokenizer
from tokenizer.train import TokenizerSettings, train_tokenizer


def train_tokenizer_folder(settings: TokenizerSettings, corpus: str, out: Path) -> dict[str, Any]:
    """Train a tokenizer into `out` and return its counts; after a kill the finished counts of words are reused.

    Raises:
        UserError: `out` is not empty, or the corpus is not there.
    """
    _refuse_unfinished(corpus)
    return _publish(out, dump_settings(settings), {}, lambda temporary: train_tokenizer(settings, corpus, temporary))


def extend_tokenizer_folder(
    folder: str, words: list[str], corpus: str | None, settings: TokenizerSettings, out: Path
) -> dict[str, Any]:
    """Write an extended tokenizer into `out` and return its counts.

    Raises:
        UserError: `out` is not empty, or the corpus or tokenizer is not there or not fit.
    """
    if corpus is not None:
        _refuse_unfinished(corpus)
    folder = str(find(folder, "tokenizer"))
    inputs = {"tokenizer": settings_hash(read_tokenizer(folder).to_str())}
    inputs |= {"words": settings_hash(words)} if words else {}
    described = stated(settings, folder, settings.vocab_size, corpus is not None)
    return _publish(
        out, described, inputs, lambda temporary: extend_tokenizer(folder, temporary, words, corpus, settings)
    )


def _refuse_unfinished(corpus: str) -> None:
    """Raise a UserError when a corpus is not there or its folder is not finished, a HunminError when it is damaged."""
    expand(corpus)
    if (Path(corpus) / SHARDS).is_dir() and not (Path(corpus) / MANIFEST).is_file():
        raise UserError(
            f"{corpus} holds no {MANIFEST}",
            "a corpus folder is read when it is finished",
            "finish it with the command that began it",
        )
    refuse_damaged(corpus, "build the corpus again")


def _publish(
    out: Path, settings: dict[str, Any], inputs: dict[str, str], work: Callable[[Path], dict[str, Any]]
) -> dict[str, Any]:
    def described(counts: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        corpus = {"corpus": counts["corpus"] or "of a version nobody knows"} if "corpus" in counts else {}
        return settings | {"vocab_size": counts["vocab_size"]}, inputs | corpus

    return publish_result(out, "tokenizer", work, described, "tokenizers", "transformers", "mecab-ko")


def publish_result(
    out: Path, stage: str, work: Callable[[Path], dict[str, Any]],
    described: Callable[[dict[str, Any]], tuple[dict[str, Any], dict[str, str]]], *packages: str,
) -> dict[str, Any]:  # fmt: skip
    """Write a folder with its manifest beside `out`, give it that name, and return its counts.

    Args:
        out: the folder, which is absent or empty.
        stage: name in the manifest.
        work: fills a folder, in which an earlier attempt may have left something, and returns counts.
        described: counts → settings and inputs of the manifest.
        packages: whose versions the bytes depend on.

    Raises:
        UserError: `out` is not empty, or its unfinished result is not one of this stage.
    """
    refuse_folder(out)
    temporary = out.with_name(f"{out.name}.partial")
    claim_folder(temporary, stage)
    counts = work(temporary)
    remove_leftovers(temporary)
    settings, inputs = described(counts)
    manifest = Manifest(
        stage=stage, settings=settings, inputs=inputs, outputs=describe_outputs(temporary), counts=counts,
        versions=package_versions("hunmin", *packages),
    )  # fmt: skip
    write_manifest(temporary, manifest)
    name_folder(temporary, out)
    (out / MADE_BY).unlink()
    return counts
