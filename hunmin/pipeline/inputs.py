"""Inputs from outside a run, with labels that stay when files move: their content counts, not their path."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from common.facts import ORDER
from common.files import HUB, is_remote, stem
from common.globs import expand
from common.names import Part, find, hub_name, with_prefix
from common.secrets import masked_urls
from data.benchmark import benchmark_files
from data.corpus import corpus_files
from data.nfc import nfc
from data.units.work import read_as
from hunmin.recipes.preflight import parent_of
from hunmin.recipes.recipe import Recipe
from klue.examples import TEXT_FIELDS, task_files
from klue.tasks import TASKS
from pretrain.callbacks.checkpoint_metadata import METADATA
from tokenizer.save import read_tokenizer

READ_SUFFIXES = (".json", ".txt", ".model", ".safetensors", ".bin")
"""Suffixes of the files that are read of a model's or tokenizer's folder: weights, configuration, vocabulary."""


class Input(NamedTuple):
    """A file, URL or data set of the hub that a stage reads from outside its run."""

    label: str
    """Name without the folder, so that it stays when the file moves; a URL or data set of the hub labels itself."""
    path: str
    """File, URL or data set of the hub; "" where nothing but `read_as` counts."""
    read_as: Any = None
    """Settings that also decide what is read from it."""


def labelled(label: str, paths: Iterable[str | Path], place: str | Path | None = None) -> list[Input]:
    """Return files as inputs whose labels begin with `label`, followed by their path below `place`, else their name."""
    root = Path(place).expanduser() if place else None
    below = root if root and root.is_dir() else None
    return [
        Input(nfc(f"{label}/{os.path.relpath(path, below) if below else Path(path).name}"), str(path)) for path in paths
    ]


def corpus_inputs(recipe: Recipe) -> list[Input]:
    """Return the files of the corpus, each with its source's settings, their order, and those of benchmarks
    and own tasks.

    Raises:
        UserError: inputs stand for no file.
    """
    corpus = recipe.corpus
    files = []
    for file in corpus_files(corpus):
        label = file.path if is_remote(file.path) or file.path.startswith(HUB) else _named(file.path, file.label)
        files.append(Input(label, file.path, read_as(file) or None))
    order = [Input(ORDER, "", [masked_urls(entry.label) for entry in files])] if len(files) > 1 else []
    places = here(corpus.decontaminate.benchmarks if corpus.decontaminate.enabled else [])
    benchmarks = [
        entry
        for number, place in enumerate(places, 1)
        for entry in labelled("benchmark" if len(places) == 1 else f"benchmark {number}", benchmark_files(place), place)
    ]
    own = [
        Input(entry.label, entry.path, row.model_dump(include=set(TEXT_FIELDS)))
        for row in recipe.kept_out
        for entry in labelled(f"benchmark {row.name}", filter(None, row.places.values()))
    ]
    return [*files, *order, *benchmarks, *own]


def _named(path: str, label: str) -> str:
    """Return a file's name, after its label where that says more: files of several folders may be called alike."""
    name = nfc(masked_urls(path).rsplit("/", 1)[-1])
    return name if stem(name) == label else f"{label}: {name}"


def here(names: list[str]) -> list[str]:
    """Return the names that are local paths, not repositories of the hub."""
    return [name for name in names if hub_name(name) is None]


def model_inputs(setting: str, name: str | None, part: Part) -> list[Input]:
    """Return the inputs for a model or tokenizer that a setting names: its files, or its commit on the hub. Raises
    UserError where a local tokenizer does not load."""
    if name is None:
        return []
    if hub_name(with_prefix(name)) is not None:
        return [Input(setting, "", name)]
    folder = find(name, part)
    files = labelled(setting, (path for path in expand(str(folder)) if Path(path).suffix in READ_SUFFIXES), folder)
    if part == "tokenizer":
        read_tokenizer(folder)
    return files


def training_inputs(recipe: Recipe) -> list[Input]:
    """Return the model that pretraining begins from, and the description of the checkpoint that it branches from."""
    settings = recipe.pretrain
    inputs = model_inputs("pretrain.init_from", settings.init_from, "model")
    if parent := parent_of(settings.branch_from, Path(recipe.out)):
        inputs.append(Input("pretrain.branch_from", str(Path(parent) / METADATA)))
    return inputs


def klue_inputs(recipe: Recipe) -> list[Input]:
    """Return the files of the tasks that are scored.

    Raises:
        UserError: a folder is not there.
    """
    klue = recipe.klue
    if klue is None:
        return []
    for folder in here(klue.inputs):
        expand(folder)  # says where there is nothing
    files = {name: task_files(TASKS[name], klue.folder_of(name), klue.source_of(name)) for name in klue.tasks}
    return [entry for name, paths in files.items() for entry in labelled(name, paths)]
