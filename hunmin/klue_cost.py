"""About how long the stage `klue` takes: FLOPs of its fine-tunings by the sizes of the tasks' data."""

from __future__ import annotations

from collections.abc import Sequence

from common.errors import UserError
from hunmin.recipe import NOT_NAMED, Recipe
from klue.examples import load_splits
from klue.search import tried_values
from klue.tasks import get_task
from klue.tasks.base import Example
from pretrain.cost.step import flops_per_token

CHARACTERS_PER_TOKEN = 1.8
"""Of Korean text in a vocabulary of 32,000 entries."""
SHARE = 0.5
"""Speed of a fine-tuning by that of pretraining: smaller batches, a head, texts of different lengths."""


JOB_SECONDS = 2
"""Of a fine-tuning, whatever its data: its process, its model."""


def klue_seconds(recipe: Recipe, flops_per_second: float) -> float | None:
    """Return about how many seconds the stage takes; None where it is left out, or its data is not on this machine.

    Args:
        flops_per_second: that pretraining reaches on the devices.
    """
    klue, p = recipe.klue, recipe.pretrain
    if klue is None or klue.data == NOT_NAMED:
        return None
    per_token = flops_per_token(p, recipe.tokenizer.vocab_size, head=False)
    flops, jobs, runs = 0.0, 0, len(klue.seed_list) * (2 if klue.baseline_random else 1)
    for name in klue.tasks:
        task = get_task(name)
        try:
            most, source = klue.training.max_train_examples, klue.source_of(name)
            splits = load_splits(task, klue.folder_of(name), most, source, tell=False)
        except UserError:
            return None
        for values in tried_values(klue, task, p.model.hidden):
            train, dev = (_tokens(examples, values.max_seq_len) for examples in (splits.train, splits.dev))
            jobs += runs
            looks = values.evaluations_per_epoch / 3  # forward alone is a third of a training step
            flops += runs * values.epochs * (train + looks * dev) * per_token
    return flops / (SHARE * flops_per_second) + jobs * JOB_SECONDS


def _tokens(examples: Sequence[Example], longest: int) -> float:
    return sum(min(longest, 3 + sum(map(len, example.texts)) / CHARACTERS_PER_TOKEN) for example in examples)
