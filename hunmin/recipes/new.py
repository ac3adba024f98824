"""The recipe that `hunmin init` writes: a built-in one's training, one's own text, and comments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from common.destinations import OutputFile
from common.errors import UserError
from common.files import HUB, human_size, is_remote
from common.settings import load_yaml
from data.readers.paths import list_files
from data.readers.proposal import yaml_entry
from data.readers.settings import SourceSettings
from hunmin.recipes.builtin import Size, builtin_recipes
from hunmin.recipes.inputs import Ask, new_inputs
from hunmin.recipes.recipe import load_recipe
from pretrain.cost.epochs import EPOCHS, fitting_steps
from tokenizer.fitting import fitting_character_count, fitting_size

BUILTIN: dict[Size, str] = {"small": "local-small", "base": "klue-roberta-base"}
"""Size → the built-in recipe whose training and fine-tuning a new one has."""
MOST_STEPS = 100_000
"""Steps of a new recipe at most; fewer where its built-in one has fewer, and for little text."""
CHECKPOINT_EVERY = 1000
"""Steps between its checkpoints at most: a kill loses no more."""
SEEDS: dict[Size, int | list[int]] = {"small": 1, "base": [42]}
"""Size → seeds of fine-tuning; 42 is the authors'."""


def new_recipe(
    out: OutputFile,
    text: list[str],
    name: str,
    size: Size,
    klue: str | None,
    ask: Ask,
    own: Sequence[Mapping[str, Any]] = (),
) -> list[str]:
    """Write a recipe, with a vocabulary and steps that suit the text, after it was read as `hunmin run` would.

    Args:
        out: file to write.
        text: inputs of the corpus.
        size: of model and training.
        klue: folder with KLUE's files; None leaves the model unscored, but for `own`.
        ask: names the columns with text of a file that does not show them.
        own: entries of `klue.own`.

    Returns:
        A line for each input that is not read as it is, and a warning where there is no file.

    Raises:
        UserError: an answer is not a valid value.
    """
    inputs = new_inputs(text, ask)
    known, missing = _text_bytes(inputs)
    if klue and not Path(klue).is_dir() and not klue.startswith(HUB):
        missing.append(f"warning: --klue {klue}: no such folder here")
    builtin = load_yaml(builtin_recipes()[BUILTIN[size]])
    pretrain = builtin["pretrain"]
    optimizer = pretrain["optimizer"]
    most = min(pretrain["steps"], MOST_STEPS)
    steps = fitting_steps(known or inf, pretrain["global_batch"] * pretrain["max_seq_len"], most)
    warmup = optimizer["warmup_steps"] * steps // pretrain["steps"]
    values = {
        "file": out.path,
        "name": name,
        "out": f"runs/{name}",
        "inputs": [_entry(source) for source in inputs],
        "vocab_size": fitting_size(known or inf),
        "text_size": human_size(known) if known else "",
        "rare": fitting_character_count(known or inf),
        "builtin": BUILTIN[size],
        "pretrain": {
            **pretrain,
            "steps": steps,
            "optimizer": {**optimizer, "warmup_steps": warmup},
            "checkpoint_every": min(pretrain["checkpoint_every"], CHECKPOINT_EVERY),
        },
        "epochs": EPOCHS if steps < most else 0,
        "klue": klue,
        "own": own,
        "seeds": SEEDS[size],
        "training": builtin["klue"].get("training"),  # own tasks have values by their examples
    }
    with out.open() as stream:
        stream.write(_template().render(values))
        stream.flush()
        load_recipe(stream.name)
    return [*(f"corpus.inputs: {_entry(source)}" for source in inputs if not isinstance(source, str)), *missing]


def _template() -> Any:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["flow"] = _flow
    return environment.get_template("new.yaml.jinja")


def _entry(source: str | SourceSettings) -> str:
    return _flow(source) if isinstance(source, str) else yaml_entry(source)


def _flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=inf)
    return text.removesuffix("\n").removesuffix("\n...")


def _text_bytes(inputs: list[str | SourceSettings]) -> tuple[float | None, list[str]]:
    """Return about how many bytes of text the inputs hold, None where they are not all here, and what is missing."""
    from data.units.survey import estimated_text

    paths = [source if isinstance(source, str) else source.path for source in inputs]
    if any(is_remote(path) or path.startswith(HUB) for path in paths):
        return None, []
    try:
        return estimated_text(list_files(inputs)), []
    except UserError as error:
        return None, [f"warning: {error.problem}; steps and vocabulary are those for much text"]
