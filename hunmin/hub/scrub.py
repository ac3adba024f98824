"""A recipe for the world to read: one that runs, without this machine's paths, addresses' secrets and keys."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import yaml

from common.files import HUB
from common.names import pinned_name
from common.nulls import without_nulls
from common.secrets import masked_setting
from common.settings import dump_settings
from hunmin.recipes.recipe import Recipe

PLACES = (
    "path", "benchmark", "benchmarks", "data", "base", "branch_from", "inputs", "sources", "model", "guide", "reranker",
    "train", "dev", "test",
)  # fmt: skip
"""Keys of a recipe whose strings name places: the last name of each stays."""
NEEDED = (("pretrain", "micro_batch"), ("klue", "published"))
"""Settings that change no result but are part of a recipe that can be run again: the batch is divided by the first, and
by the second scores of invented tasks do not stand beside published ones."""
HEAD = """\
# Files are named by their last names alone. Where yours lie elsewhere, say so:
#   hunmin run recipe.yaml corpus.inputs='[…]' klue.data=…
"""


def public_recipe(recipe: Recipe) -> str:
    """Return a recipe as YAML that anyone may read and `hunmin run` takes: what its results depend on, with files by
    their last names alone.

    Args:
        recipe: of the run.
    """
    tree: dict[str, Any] = dump_settings(recipe, drop="runtime")
    tree.pop("hub", None)
    averaged = ("checkpoint_every", "keep_last") if recipe.export.average else ()
    for section, key in (*NEEDED, *(("pretrain", key) for key in averaged)):
        if tree[section] is not None:
            tree[section][key] = getattr(getattr(recipe, section), key)
    tree = bare(tree)
    source = recipe.pretrain.init_from
    if source and not source.startswith(HUB):
        tree["pretrain"]["init_from"] = f"./{masked_setting(last_name(source))}"
    tree = without_nulls(tree, Recipe)
    if "klue" in tree:  # left out, it would be klue.data
        tree["corpus"]["decontaminate"].setdefault("benchmark", None)
    out = re.sub(r"[^\w.-]+", "-", recipe.name).strip(".-") or "run"
    tree = {"name": tree.pop("name"), "out": f"runs/{out}", **tree}
    return HEAD + yaml.safe_dump(tree, allow_unicode=True, sort_keys=False)


def base_model(recipe: Recipe) -> str | None:
    """Return the name on the hub of the model that a run began from; None where it was a folder, or there was none.

    Args:
        recipe: of the run, in which names on the hub begin with `hf:`.
    """
    return hub_base(recipe.pretrain.init_from or "")


def hub_base(source: str) -> str | None:
    """Return OWNER/NAME of `hf:OWNER/NAME[@REVISION]`, as the metadata of a card name a base; None of a folder."""
    return source.removeprefix(HUB).partition("@")[0] if source.startswith(HUB) else None


def bare(value: Any, key: str = "") -> Any:
    """Return a tree of settings with each place cut to its last name: the folders before it name machines and people.

    Args:
        value: the tree.
        key: that it stands under.
    """
    if isinstance(value, dict):
        return {name: bare(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [bare(each, key) for each in value]
    if not isinstance(value, str):
        return value
    if key in PLACES or (value.startswith(("/", "~/", "./", "../", "file:")) and "/" in value[1:]):
        return last_name(value)
    return re.sub(r"\S+://\S+", lambda url: _open(url[0]), value)


def last_name(place: str) -> str:
    """Return the last name of a path or URL, without what logs in there (`user:password@`, `?signature=…`); the name of
    what is on the hub (`hf:OWNER/NAME@COMMIT`) stays whole, and stands for its folder in the hub's cache."""
    if place.startswith(HUB):
        return place
    if name := pinned_name(place):
        return name
    place = place.rpartition("::")[2]  # fsspec's chains: the last is where the bytes lie
    if "://" in place:
        try:
            url = urlsplit(place)
        except ValueError:  # a bracket amid the host
            return "input"
        place = url.path.partition(";")[0].strip("/") or url.netloc.rpartition("@")[2]
    parts = PurePosixPath(place.replace("\\", "/")).parts or (".",)
    return "~" if parts[-1].startswith("~") else parts[-1] if parts[-1] not in ("/", "..") else "."


def _open(url: str) -> str:
    """Return a URL that stands in a text without what logs in there."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
