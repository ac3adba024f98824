"""The recipe that `hunmin init` writes: a built-in one's values, one's own text, and a comment beside each choice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from common.files import atomic_write

Size = Literal["small", "base"]

HEAD = """\
# Recipe of {name}. Check it:  hunmin run {file} --dry-run
# Run it, and resume it:       hunmin run {file}
# All settings: docs/recipe.md. Any of them can be given on the command line: pretrain.steps=2000
name: {quoted}
out: {out}   # run folder
seed: 42

corpus:
  inputs: {text}   # files, folders, globs, URLs, or hf:OWNER/NAME; text, JSON Lines, CSV, Parquet, archives
  pii:
    enabled: true            # replaces phone numbers, e-mail addresses and 14 more types with a secret key:
                             #   (umask 077; openssl rand -hex 32 > ~/.hunmin-pii-key)
                             #   export HUNMIN_PII_KEY=$(cat ~/.hunmin-pii-key)
"""

SIZES = {
    "small": """\
tokenizer:
  vocab_size: 32000          # entries; lower it for less than some 100 MB of text

pretrain:
  model: {layers: 3, hidden: 192, heads: 3, dropout: 0.0, initializer_range: 0.05, initialisation: local}
  masking: {rate: 0.3}       # a small model that sees each text once or twice learns more at 0.3 than at 0.15
  packing: contiguous        # no padding
  max_seq_len: 64            # tokens
  steps: 4500                # global_batch × max_seq_len × steps = tokens: hunmin plan {file} shows them
  global_batch: 64
  micro_batch: 64            # lower it when memory runs out
  validation_samples: 512
  optimizer: {learning_rate: 2.0e-3, warmup_steps: 200}
  checkpoint_every: 400
  validate_every: 1000
  log_every: 50
""",
    "base": """\
tokenizer:
  vocab_size: 32000          # entries

pretrain:
  model: {type: roberta, layers: 12, hidden: 768, heads: 12}
  packing: full-sentences
  max_seq_len: 512           # tokens
  steps: 100000              # global_batch × max_seq_len × steps = tokens: hunmin plan {file} --device H100 shows them
  global_batch: 2048
  micro_batch: 64            # lower it when memory runs out
  validation_samples: 4096
  optimizer: {learning_rate: 1.0e-4, warmup_steps: 6000}
  checkpoint_every: 1000
  validate_every: 5000
  log_every: 100
""",
}

SCORED = {
    "small": """\
klue:
  data: {klue}
  baseline_random: true      # the same architecture from random weights: shows what pretraining gave
  seeds: 3
  training: {learning_rate: 3.0e-4, max_seq_len: 64, max_train_examples: 10000, evaluations_per_epoch: 1}
""",
    "base": """\
klue:
  data: {klue}
  seeds: [42]                # the authors' seed and settings
""",
}

NOT_SCORED = """\
# klue:                      # without this section the model is not scored
#   data: klue-benchmark     # folder with KLUE's files: hf download klue/klue --repo-type dataset --local-dir DIR
"""


def new_recipe(path: Path, text: list[str], name: str, size: Size, klue: str | None) -> None:
    """Write a recipe, after it was read as `hunmin run` would.

    Args:
        path: file to write.
        text: inputs of the corpus.
        size: of model and training.
        klue: folder with KLUE's files; None leaves the model unscored.

    Raises:
        UserError: an answer is not a valid value.
    """
    from hunmin.recipe import load_recipe  # loads pydantic, which completion does without

    values = {"file": str(path), "name": name}
    written = {"quoted": name, "out": f"runs/{name}", "text": text, "klue": klue}
    values |= {key: json.dumps(value, ensure_ascii=False) for key, value in written.items()}
    scored = SCORED[size] if klue else NOT_SCORED
    recipe = "\n".join([HEAD, SIZES[size], scored])
    for key, value in values.items():
        recipe = recipe.replace(f"{{{key}}}", value)
    with atomic_write(path) as stream:
        stream.write(recipe)
        stream.flush()
        load_recipe(stream.name)
