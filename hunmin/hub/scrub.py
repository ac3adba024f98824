"""What may leave for the hub: a recipe without this machine's paths, no text with a secret or personal data."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import yaml

from common.errors import UserError
from common.settings import dump_settings
from hunmin.recipe import Recipe

SECRETS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
"""Variables of the environment whose values never leave; with them the variable of the pseudonyms' key."""
TOKEN_SHAPES = re.compile(
    r"\bhf_[A-Za-z0-9]{30,}|\b(?:ghp|gho|github_pat)_\w{30,}|\bAKIA[0-9A-Z]{16}\b|\bsk-[\w-]{32,}"
)
"""Of keys that services give out."""
PUBLIC = ("URL", "MENTION")
"""Types of personal data that a card may hold."""
LONG_ENOUGH = 8
"""Characters from which a secret is looked for: a shorter one would be found in any text."""


def public_recipe(recipe: Recipe) -> str:
    """Return a recipe as YAML for the world to read: what its results depend on, with files by their last name alone.

    Args:
        recipe: of the run.
    """
    tree: dict[str, Any] = dump_settings(recipe, drop="runtime")
    tree.pop("hub", None)
    return yaml.safe_dump(_bare(tree), allow_unicode=True, sort_keys=False)


def _bare(value: Any) -> Any:
    """Return a tree with each path cut to its last name: the folders before it name machines and people."""
    if isinstance(value, dict):
        return {key: _bare(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_bare(each) for each in value]
    if isinstance(value, str) and (value.startswith(("/", "~", ".", "file:")) or value.count("/") > 1):
        parts = PurePosixPath(value).parts
        # a pattern says nothing by itself: its folder goes with it
        return "/".join(parts[-2:]) if "*" in parts[-1] and len(parts) > 1 else parts[-1]
    return value


def refuse_private(texts: Mapping[str, str], key_variable: str | None = None) -> None:
    """Refuse texts that hold a secret of this environment, a service's key, or personal data.

    Args:
        texts: name of a file → its text.
        key_variable: of the environment, with the key of the pseudonyms.

    Raises:
        UserError: one holds something of the kind; the message says which and where, not what.
    """
    from data.pii import find_spans

    secrets = {name: os.environ.get(name, "") for name in (*SECRETS, *([key_variable] if key_variable else []))}
    for name, text in texts.items():
        for variable, value in secrets.items():
            if len(value) >= LONG_ENOUGH and value in text:
                raise _private(name, text, text.index(value), f"the value of {variable}")
        if found := TOKEN_SHAPES.search(text):
            raise _private(name, text, found.start(), "what looks like a service's key")
        for span in find_spans(text):
            if span.type not in PUBLIC:
                raise _private(name, text, span.start, f"what looks like personal data ({span.type})")


def _private(name: str, text: str, start: int, what: str) -> UserError:
    line = text.count("\n", 0, start) + 1
    return UserError(
        f"{name}, line {line}, holds {what}",
        "nothing with secrets or personal data leaves for the hub",
        "take it out of the recipe or of the card's note, and push again",
    )
