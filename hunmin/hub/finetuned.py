"""A fine-tuned model goes to the model hub: encoder, head, labels, its card with the scores as the hub reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from common.errors import UserError
from hunmin.hub.index import index_of
from hunmin.hub.publish import CARD, push_or_show
from hunmin.hub.push import check_name
from klue.model_folder import BESIDE_TOKENIZER, TOKENIZER_FILES
from klue.model_index import HUB_TASKS
from klue.saved import FACTS, REST, read_facts

FILES = ("config.json", REST, FACTS, *TOKENIZER_FILES, *BESIDE_TOKENIZER)
WEIGHTS = "model*.safetensors*"
"""One file, or parts with their index."""


def publish_finetuned(folder: Path, repository: str, private: bool = True, dry_run: bool = False) -> str | None:
    """Push a fine-tuned model with its card and return the repository's address (None of a dry run).

    Args:
        folder: that `--save-model best` of `hunmin klue finetune` left.
        repository: OWNER/NAME.
        private: see `push`.
        dry_run: only print what would be pushed, and the card.

    Raises:
        UserError: the folder holds no fine-tuned model, or a secret or personal data.
        HunminError: as `push`.
    """
    check_name(repository)
    facts = read_facts(folder)
    card = _front(facts, repository) + (folder / CARD).read_text("utf-8")
    files: dict[str, str | Path] = {name: folder / name for name in FILES if (folder / name).is_file()}
    files |= {path.name: path for path in sorted(folder.glob(WEIGHTS))} | {CARD: card}
    if "model.safetensors" not in files and "model.safetensors.index.json" not in files:
        raise UserError(
            f"{folder} has no weights (model.safetensors)", "a fine-tuned model is pushed whole", "save it again"
        )
    message = f"Fine-tuned for {facts['job']['task']}"
    return push_or_show(files, card, repository, message, private, dry_run, (*FILES, CARD))


def _front(facts: dict[str, Any], repository: str) -> str:
    """Return the card's metadata: what the hub files the model under, and its scores on dev."""
    job = facts["job"]
    tree: dict[str, Any] = {
        "language": "ko",
        "library_name": "transformers",
        "pipeline_tag": HUB_TASKS.get(job["task"], "text-classification"),
        "tags": ["hunmin", "korean", "fine-tuned", job["task"]],
    }
    row = {
        "task": job["task"], "init": job["init"], "seed": job["seed"], "data_note": job["data_note"],
        "examples": job["examples"], "settings": job["training"], "model": job["model_name"],
        "best": facts["scores"], "last": facts["scores"],
    }  # fmt: skip
    if job["init"] == "pretrained":
        tree |= index_of(repository.partition("/")[2], [row])
    return f"---\n{yaml.safe_dump(tree, allow_unicode=True, sort_keys=False)}---\n\n"
