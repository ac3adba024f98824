"""The recipe that `hunmin init` writes: a built-in one's values, one's own text, and a comment beside each choice."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

import yaml

from common.compressed import decompression_errors
from common.destinations import OutputFile
from common.errors import UserError
from common.files import HUB, human_size, is_remote, open_bytes, suffix_of
from data.readers.paths import list_files
from data.readers.proposal import columns_of, proposed, text_columns, yaml_entry
from data.readers.records import InputFile
from data.readers.settings import SourceSettings
from hunmin.recipes.builtin import Size
from hunmin.recipes.recipe import load_recipe
from klue.tasks.own_files import SUFFIXES, form_of, read_rows
from pretrain.cost.epochs import EPOCHS, fitting_steps
from tokenizer.fitting import fitting_character_count, fitting_size

SAMPLED_FILES = 5
"""Files of an ending that are looked into."""
MOST_ENTRIES = 50
"""Files of one input that get entries of their own."""

Ask = Callable[[str, Sequence[str]], list[str]]
"""(path, its columns) → those with text; none where that is not known."""

HEAD = """\
# Recipe of {name}. Check it:  hunmin run {file} --dry-run
# Run it, and resume it:       hunmin run {file}
# All settings: docs/recipe.md. Any of them can be given on the command line: pretrain.steps=2000
name: {quoted}
out: {out}   # run folder
seed: 42

corpus:
  # files, folders, globs, URLs, or hf:OWNER/NAME; text, JSON Lines, CSV, Parquet, .gz, .zst
  # a file of columns or fields names its text: {path: a.csv, text_field: [title, body]}
  inputs:
{inputs}
  pii:
    enabled: true            # replaces phone numbers, e-mail addresses and 14 more types with a secret key:
                             #   [ -s ~/.hunmin-pii-key ] || (umask 077; openssl rand -hex 32 > ~/.hunmin-pii-key)
                             #   export HUNMIN_PII_KEY=$(cat ~/.hunmin-pii-key)
                             # names of people stay; `types: [default, NAME]` replaces some of them:
                             #   docs/privacy.md, "Names and nicknames"
"""

SIZES = {
    "small": """\
tokenizer:
  vocab_size: {vocab_size}   # entries{sized}
  min_character_count: {rare}   # words with a character that is seen less often become [UNK]

pretrain:
  model: {layers: 3, hidden: 192, heads: 3, dropout: 0.0, initializer_range: 0.05, initialisation: local}
  masking: {rate: 0.3}       # a small model in a short run learns more at 0.3 than at 0.15
  packing: contiguous        # no padding
  max_seq_len: 64            # tokens
  steps: {steps}   # {epochs}global_batch × max_seq_len × steps = tokens: hunmin plan {file} shows them
  global_batch: 64
  micro_batch: 64            # lower it when memory runs out
  validation_samples: 512
  optimizer: {learning_rate: 2.0e-3, warmup_steps: {warmup}}
  checkpoint_every: 400
  validate_every: 1000
  log_every: 50
""",
    "base": """\
tokenizer:
  vocab_size: {vocab_size}   # entries{sized}
  min_character_count: {rare}   # words with a character that is seen less often become [UNK]

pretrain:
  model: {type: roberta, layers: 12, hidden: 768, heads: 12}
  packing: full-sentences
  max_seq_len: 512           # tokens
  steps: {steps}   # {epochs}global_batch × max_seq_len × steps = tokens: hunmin plan {file} --device H100 shows them
  global_batch: 2048
  micro_batch: 64            # lower it when memory runs out
  validation_samples: 4096
  optimizer: {learning_rate: 1.0e-4, warmup_steps: {warmup}}
  checkpoint_every: 1000
  validate_every: 5000
  log_every: 100
""",
}

STEPS = {"small": (4500, 200, 64 * 64), "base": (100_000, 6000, 2048 * 512)}
"""Steps, warm-up steps and tokens per step; fewer steps for little text."""

SCORED = {
    "small": """\
klue:
{tasks}
  seeds: 1                   # 3 give mean and standard deviation, in three times the time
  baseline_random: false     # true: also from random weights, to show what pretraining gave, in twice the time
  training: {learning_rate: 3.0e-4, max_seq_len: 64, max_train_examples: 10000, evaluations_per_epoch: 1}
""",
    "base": """\
klue:
{tasks}
  seeds: [42]                # the authors' seed and settings
""",
}

NOT_SCORED = """\
# klue:                      # without this section the model is not scored
#   data: klue-benchmark     # folder with KLUE's files: hf download klue/klue --repo-type dataset --local-dir DIR
# or on your own labelled examples: hunmin init --labelled complaints.csv --label category
"""


def new_recipe(
    out: OutputFile, text: list[str], name: str, size: Size, klue: str | None, ask: Ask,
    own: Sequence[Mapping[str, Any]] = (),
) -> list[str]:  # fmt: skip
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
    full, warmup, tokens = STEPS[size]
    steps = fitting_steps(known or inf, tokens, full)
    values = {
        "file": str(out.path),
        "name": name,
        "vocab_size": str(fitting_size(known or inf)),
        "sized": f", for {human_size(known)} of text" if known else "; less text fills fewer: docs/tokenizer.md",
        "steps": str(steps),
        "epochs": f"about {EPOCHS} epochs of this text; " if steps < full else "",
        "warmup": str(warmup * steps // full),
        "rare": str(fitting_character_count(known or inf)),
    }
    written = {"quoted": name, "out": f"runs/{name}", "klue": klue}
    values |= {key: json.dumps(value, ensure_ascii=False) for key, value in written.items()}
    values["inputs"] = "\n".join(f"    - {_entry(source)}" for source in inputs)
    tasks = ["  data: {klue}" if klue else "  suites: [own]              # KLUE, too: `data` in place of this line"]
    tasks += ["  own:                       # your own tasks", *(f"    - {_flow(row)}" for row in own)] if own else []
    values = {"tasks": "\n".join(tasks), **values}
    scored = SCORED[size] if klue or own else NOT_SCORED
    if not klue:  # own tasks have values by their examples
        scored = re.sub(r"\n  training:.*", "", scored)
    recipe = "\n".join([HEAD, SIZES[size], scored])
    for key, value in values.items():
        recipe = recipe.replace(f"{{{key}}}", value)
    with out.open() as stream:
        stream.write(recipe)
        stream.flush()
        load_recipe(stream.name)
    return [*(f"corpus.inputs: {_entry(source)}" for source in inputs if not isinstance(source, str)), *missing]


def _entry(source: str | SourceSettings) -> str:
    return json.dumps(source, ensure_ascii=False) if isinstance(source, str) else yaml_entry(source)


def _flow(row: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(row), default_flow_style=True, allow_unicode=True, sort_keys=False, width=inf).strip()


def own_name(path: str) -> str:
    """Return the name of an own task after its file."""
    return re.sub(r"[^a-z0-9가-힣_-]", "-", Path(path).name.split(".")[0].lower()).strip("-_")[:40] or "own"


def labelled_task(path: str, label: str, ask: Ask) -> dict[str, Any]:
    """Return the entry of `klue.own` for a file of labelled examples; its texts are the columns that show Korean text,
    or tokens.

    Args:
        label: column with the label.
        ask: called where no column shows text, or more than two.

    Raises:
        UserError: the file has no column of that name, or the texts are not known.
    """
    try:
        with decompression_errors(Path(path)), open_bytes(Path(path)) as stream:
            rows = read_rows(stream, form_of(Path(path)) or ".csv")
    except ValueError as error:
        raise UserError(f"{path}: {error}", f"labelled examples stand in a file of {', '.join(SUFFIXES)}") from None
    columns = list(rows[0]) if rows else []
    if label not in columns:
        raise UserError(f"{path} has no column '{label}'", f"its columns are {', '.join(columns)}", "--label COLUMN")
    named = {"name": own_name(path), "train": path}
    if isinstance(rows[0].get("tokens"), list):
        return {**named, "kind": "tagging", "label": label}
    others = [name for name in columns if name != label]
    texts = others if len(others) == 1 else text_columns(list_files([path])[0], others)
    if not 1 <= len(texts) <= 2 and not (texts := ask(path, others)):
        raise UserError(f"the texts in {path} are not known", fix="name them in a YAML file: --task-file")
    return {**named, "text": texts, "label": label}


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


def new_inputs(text: list[str], ask: Ask) -> list[str | SourceSettings]:
    """Return the entries of `corpus.inputs` for text that a user names.

    Args:
        text: files, folders, globs, URLs; what is not here, or is read as it is, stays a plain path.
        ask: called for a file whose columns show no text.
    """
    return [entry for path in text for entry in _entries(path, ask)]


def _entries(path: str, ask: Ask) -> list[str | SourceSettings]:
    if path.startswith(HUB) or is_remote(path):
        return [path]
    try:
        files = list_files([path])
    except UserError:  # told by the run
        return [path]
    kinds: dict[str, list[InputFile]] = {}
    for file in files:
        kinds.setdefault(suffix_of(file.path), []).append(file)
    known = {suffix: _settings(alike[:SAMPLED_FILES], ask) for suffix, alike in kinds.items()}
    [first, *others] = known.values()
    if all(settings == first for settings in others):
        return [first or path]
    if len(files) > MOST_ENTRIES:  # the dry run names those that do not fit
        return [path]
    own_settings = [(file.path, known[suffix_of(file.path)]) for file in files]
    return [settings.model_copy(update={"path": own}) if settings else own for own, settings in own_settings]


def _settings(files: Sequence[InputFile], ask: Ask) -> SourceSettings | None:
    for file in files:
        if settings := proposed(file):
            return settings
    columns = columns_of(files[0])
    names = ask(files[0].path, columns) if columns else []
    return (
        files[0].settings.model_copy(update={"text_field": names[0] if len(names) == 1 else names}) if names else None
    )
