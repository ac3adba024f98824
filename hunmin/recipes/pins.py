"""Names on the hub in a recipe: each becomes one commit, which the run's own recipe records and a resumed run keeps."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.compressed import COMPRESSED
from common.errors import UserError, raise_together
from common.files import HUB, suffix_of
from common.names import COMMIT, Part, commit_of, fetch_command, find, find_here, hub_name, with_prefix
from common.settings import load_yaml
from data.readers.hub import split_name
from klue.tasks.own_row import with_hub_files

if TYPE_CHECKING:
    from hunmin.recipes.recipe import Recipe

MODELS: tuple[tuple[str, str, Part], ...] = (
    ("pretrain", "init_from", "model"),
    ("tokenizer", "base", "tokenizer"),
    ("tune", "base", "model"),
    ("embed", "base", "model"),
    ("embed", "guide", "model"),
    ("embed/mine", "model", "model"),
    ("embed/mine", "reranker", "model"),
    ("embed/rerank", "model", "model"),
)
"""Settings that may name a model (section, key, part): they keep the name, with its commit."""
MISSING = "things that the recipe needs are not there, or cannot be used"
DATA = (("klue", "data"), ("klue", "benchmarks"), ("decontaminate", "benchmark"))
"""Settings that may name data sets of benchmarks: they become folders in the hub's cache."""


def pin_names(tree: dict[str, Any], path: Path, fetch: bool) -> None:
    """Give the names on the hub in a recipe their commits, in place, and record these as `hub.commits`.

    Args:
        fetch: fetch what the hub's cache does not hold; else such a name stays as it is.

    Raises:
        UserError: a name cannot be fetched.
    """
    earlier = _earlier(tree, path)
    commits = {**_section(earlier, "hub/commits"), **_section(tree, "hub/commits")}
    for section, key, part in MODELS:
        part_tree = _section(tree, section)
        value = part_tree.get(key)
        name = with_prefix(value) if isinstance(value, str) else ""
        hub = hub_name(name) if name else None
        if hub and hub.commit and fetch:
            find(name, part)
        elif hub and not hub.commit and (find if fetch else find_here)(name, part, commits):
            part_tree[key] = hub.at(commits[hub.key])
    sections = {**tree, "decontaminate": _section(tree, "corpus").get("decontaminate")}
    for section, key in DATA:
        part_tree = _section(sections, section)
        if key in part_tree:
            part_tree[key] = _data(part_tree[key], commits, fetch)
    stated = _section(tree, "klue").get("own")
    own = stated if isinstance(stated, list) else []
    for at, row in enumerate(own):
        if isinstance(row, dict):
            own[at] = with_hub_files(row, partial(find if fetch else find_here, part="dataset", commits=commits))
    _pin_inputs(tree, earlier, commits)
    if commits:
        hub_section = tree.get("hub")
        tree["hub"] = {**(hub_section if isinstance(hub_section, dict) else {}), "commits": commits}


def refuse_unknown_names(recipe: Recipe, ask: bool) -> None:
    """Refuse names in a recipe that are neither a path here nor in the hub's cache nor, where it is asked, on the hub.

    Args:
        recipe: loaded without fetching.
        ask: ask the hub of what is not in the cache.

    Raises:
        UserError: there are any; all of them are named.
    """
    klue = recipe.klue.inputs if recipe.klue else []
    files = [file for row in (recipe.klue.own if recipe.klue else []) for file in row.places.values()]
    own = [file for file in files if file.startswith(HUB)]
    named: list[tuple[str | None, Part]] = [
        (recipe.pretrain.init_from, "model"),
        (recipe.tokenizer.base, "tokenizer"),
        *((model, "model") for model in ((recipe.embed.base, recipe.embed.guide) if recipe.embed else ())),
        *((name, "dataset") for name in [*klue, *own, *recipe.corpus.decontaminate.benchmarks]),
    ]
    unknown = []
    for name, part in named:
        try:
            hub = hub_name(with_prefix(name) if part != "dataset" else name, part) if name else None
            if hub is None or find_here(hub.name, part):
                continue
            if not ask:
                raise UserError(
                    f"{name} is neither a path here nor in the hub's cache",
                    "what a run reads is there when it begins",
                    f"fix it; or fetch it: {fetch_command(hub, part)}",
                )
            commit_of(hub, part)
        except UserError as error:
            unknown.append(error)
    raise_together(unknown, MISSING)


def _section(tree: dict[str, Any], name: str) -> dict[str, Any]:
    section: Any = tree
    for part in name.split("/"):
        section = section.get(part) if isinstance(section, dict) else None
    return section if isinstance(section, dict) else {}


def _earlier(tree: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the recipe that the run was begun with; {} where it has not begun, or where that is the recipe itself."""
    out = tree.get("out")
    file = Path(out) / "recipe.yaml" if isinstance(out, str) else path
    if not file.is_file() or file.resolve() == path.resolve():
        return {}
    try:
        return load_yaml(file)
    except UserError:
        return {}


def _data(value: Any, commits: dict[str, str], fetch: bool) -> Any:
    """Return the folder of a data set that is named on the hub, or those of several; a path, and what is not to be
    fetched, as it is."""
    if isinstance(value, list):
        return [_data(element, commits, fetch) for element in value]
    if not isinstance(value, str) or hub_name(value) is None:
        return value
    folder = (find if fetch else find_here)(value, "dataset", commits)
    return str(folder) if folder else value


def _pin_inputs(tree: dict[str, Any], earlier: dict[str, Any], commits: dict[str, str]) -> None:
    """Give the data sets among the corpus' inputs their commits."""
    inputs = _section(tree, "corpus").get("inputs")
    old = _section(earlier, "corpus").get("inputs")
    known = {_path(entry) for entry in old} if isinstance(old, list) else set()
    if not isinstance(inputs, list):
        return
    for at, entry in enumerate(inputs):
        path = _path(entry)
        if path is None or (path in known and path.startswith(HUB)):
            continue
        pinned = _pinned_input(path, commits)
        if pinned != path:
            inputs[at] = {**entry, "path": pinned} if isinstance(entry, dict) else pinned


def _path(entry: Any) -> str | None:
    path = entry.get("path") if isinstance(entry, dict) else entry
    return path if isinstance(path, str) else None


def _pinned_input(path: str, commits: dict[str, str]) -> str:
    """Return the name of a data set with its commit; of one that begins with `hf:`, as it is where the hub is not
    reached, and any other path as it is.

    Raises:
        UserError: a name without `hf:` is neither a path here nor a data set on the hub.
    """
    if path.startswith(HUB):
        name, config, split, revision = split_name(path)
    elif suffix_of(path)[1:].isalpha() or path.endswith(COMPRESSED) or hub_name(path) is None:
        return path  # a file, a glob, or a file that is not here
    else:
        name, config, split, revision = split_name(f"{HUB}{path}")
    if COMMIT.fullmatch(revision or ""):
        return path
    hub = hub_name(f"{HUB}{name}" + (f"@{revision}" if revision else ""))
    assert hub is not None
    try:
        commit = commit_of(hub, "dataset", commits)
    except UserError:
        if not path.startswith(HUB):
            raise
        return path
    return f"{HUB}{name}" + (f"/{config}" if config else "") + f"@{split}@{commit}"
