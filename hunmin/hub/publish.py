"""What goes to the model hub of an export, a run or a tokenizer, gathered and looked through before it goes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from common.errors import UserError
from common.progress import say, show
from hunmin.hub.card import Language, write_card
from hunmin.hub.facts import Facts, read_facts
from hunmin.hub.private import refuse_private
from hunmin.hub.push import Item, check_name, describe, prepare, push
from hunmin.recipe import Recipe
from pretrain.checkpoint import TOKENIZER_FILES, complete_checkpoints, read_metadata
from pretrain.export import EXPORT_FILES, Dtype, export_checkpoint
from pretrain.export.onnx import FILE as ONNX_FILE
from pretrain.export.sentence_embeddings import FILES as EMBEDDING_FILES

MODEL_FILES = (*EXPORT_FILES, *TOKENIZER_FILES, *EMBEDDING_FILES, ONNX_FILE)
"""Files of an export that leave for the hub; anything else in its folder stays."""
CARD, RECIPE, RESULTS = "README.md", "recipe.yaml", "klue/results.jsonl"
OURS = (*MODEL_FILES, CARD, RECIPE, RESULTS)
"""Files that a push removes from its revision where it does not bring them: those of another checkpoint."""


def run_of(checkpoint: Path) -> Path | None:
    """Return the run folder that a checkpoint stands in, None where it stands alone."""
    run = checkpoint.resolve().parent.parent.parent
    return run if (run / "recipe.yaml").is_file() else None


def items_of(folder: Path, facts: Facts, card: str, scores: Path | None = None) -> list[Item]:
    """Return what goes to the hub: the model's files, its card, its recipe, and the results it was scored by.

    Args:
        folder: an export.
        facts: of its run.
        card: its card.
        scores: results.jsonl of KLUE, or None.

    Raises:
        UserError: a file holds a secret or personal data.
    """
    files: dict[str, str | Path] = {name: folder / name for name in MODEL_FILES if (folder / name).is_file()}
    files |= {CARD: card, RECIPE: facts.public_recipe}
    if scores and scores.is_file():
        files[RESULTS] = scores
    return checked_items(files, facts.recipe.corpus.pii.key_env)


def publish(
    folder: Path, run: Path, repository: str, private: bool = True, language: Language | None = None,
    dry_run: bool = False, checkpoint: Path | None = None,
) -> str | None:  # fmt: skip
    """Write the card into an export, push both and return the repository's address (None of a dry run).

    Args:
        folder: the export.
        run: its run folder.
        repository: OWNER/NAME.
        private: see `push`.
        language: of the card; None: as the recipe says.
        dry_run: only print what would be pushed, and the card.
        checkpoint: that was exported; None: the last one.

    Raises:
        HunminError: as `read_facts`, `items_of` and `push`.
    """
    check_name(repository)
    facts = read_facts(run, read_metadata(checkpoint) if checkpoint else None)
    card = write_card(facts, repository, language or facts.recipe.hub.language)
    items = items_of(folder, facts, card, run / RESULTS if facts.scores else None)
    tag = f"step-{facts.step}"
    if dry_run:
        show(f"{describe(items, repository, tag, private)}\n\n{card}")
        return None
    (folder / CARD).write_text(card, encoding="utf-8")
    message = f"Step {facts.step:,}, {facts.tokens:,} tokens"
    return push(items, repository, message, tag, private, OURS)


def show_export(
    checkpoint: Path, run: Path, repository: str, private: bool, language: Language | None, dtype: Dtype,
    sentence_embeddings: bool, onnx: bool,
) -> None:  # fmt: skip
    """Print what a push of a checkpoint would send, and its card; its export is made in a folder that goes.

    Args:
        checkpoint: a step-* folder in `run`.
        run, repository, private, language: of `publish`.
        dtype, sentence_embeddings, onnx: of `export_checkpoint`.

    Raises:
        HunminError: as these two.
    """
    with tempfile.TemporaryDirectory(prefix="hunmin-") as folder:
        export_checkpoint(checkpoint, Path(folder) / "model", dtype, sentence_embeddings, onnx)
        publish(Path(folder) / "model", run, repository, private, language, True, checkpoint)


def checked_items(files: Mapping[str, str | Path], key_variable: str | None = None) -> list[Item]:
    """Return files as items of a commit, looked through.

    Args:
        files: name that a file will have → its text, or where it lies.
        key_variable: of `refuse_private`.

    Raises:
        UserError: a file holds a secret or personal data.
    """
    refuse_private(files, key_variable)
    return [Item(name, each.encode() if isinstance(each, str) else each) for name, each in files.items()]


def push_or_show(
    files: Mapping[str, str | Path], card: str, repository: str, message: str, private: bool, dry_run: bool,
    ours: Collection[str],
) -> str | None:  # fmt: skip
    """Push files without a tag and return the repository's address; of a dry run, print them and the card (None).

    Args:
        files: of `checked_items`.
        card: among them, or empty.
        repository, message, private, ours: of `push`.
        dry_run: only print.

    Raises:
        HunminError: as these two.
    """
    items = checked_items(files)
    if dry_run:
        show(f"{describe(items, repository, None, private)}\n\n{card}")
        return None
    return push(items, repository, message, private=private, ours=ours)


def publish_run(recipe: Recipe) -> None:
    """Push a finished run's last checkpoint, with its scores, to the repository that the recipe names, if it does.

    Raises:
        HunminError: as `publish`.
    """
    hub, run = recipe.hub, Path(recipe.out)
    if not hub.repository:
        return
    prepare(hub.repository, hub.private)
    step, checkpoint = complete_checkpoints(run / "pretrain" / "checkpoints")[-1]
    folder = run / "logs" / "hub"  # the stage's own folder stays as its manifest says
    try:
        export_checkpoint(checkpoint, folder, hub.dtype)
        url = publish(folder, run, hub.repository, hub.private, checkpoint=checkpoint)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    say(f"{url}: step {step:,} pushed", style="green")


def publish_tokenizer(folder: Path, repository: str, private: bool = True, dry_run: bool = False) -> str | None:
    """Push a tokenizer with its card and return the repository's address (None of a dry run).

    Args:
        folder: written by `hunmin tokenizer train`.
        repository: OWNER/NAME.
        private: see `push`.
        dry_run: only print what would be pushed, and the card.

    Raises:
        UserError: the folder holds no tokenizer, or a secret or personal data.
        HunminError: as `push`.
    """
    check_name(repository)
    if not (folder / "tokenizer.json").is_file():
        raise UserError(
            f"{folder} holds no tokenizer.json", "a tokenizer folder is what hunmin tokenizer train writes", "name one"
        )
    files: dict[str, str | Path] = {name: folder / name for name in TOKENIZER_FILES if (folder / name).is_file()}
    card = ""
    if (folder / CARD).is_file():
        card = "---\nlanguage: ko\ntags: [hunmin, tokenizer, korean]\n---\n\n" + (folder / CARD).read_text("utf-8")
        files[CARD] = card
    return push_or_show(files, card, repository, "Tokenizer", private, dry_run, (*TOKENIZER_FILES, CARD))
