"""About how long each stage of a recipe takes: the one estimate of `hunmin plan` and of the dry run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from common.errors import UserError
from data.benchmark import benchmark_files
from data.estimate import RATES
from hunmin.recipes.recipe import NOT_NAMED, Recipe
from klue.examples import load_splits
from klue.plan import counts_of
from klue.tasks import get_task
from klue.tasks.base import Example
from klue.training import tried_values
from pretrain.cost.step import flops_per_token

TEXT_RATES = {"corpus": RATES["unit"], "tokenizer": 1.5e6, "encode": 47e6}
"""Bytes of text a second and core of the stages before training: encoding by `scripts/bench_tokenizer.py` on one core
of an AMD EPYC (`docs/performance.md`); of the vocabulary's training assumed, and low."""
INDEX_RATE = 6e6
"""Bytes of benchmark files a second that are read and indexed to be looked for, by one core whatever the corpus: the 72
MB of KLUE in 9.7 to 12.4 seconds on an Intel Xeon under other load, by `scripts/bench_beside.py`, 2026-11-30. With the
index in the cache it takes half of that or less."""
TEXT_START_SECONDS = 5.0
START_SECONDS = 20.0
SHORT_SECONDS = 10.0
"""Of a stage before training, and of training or fine-tuning, whatever it does: processes start, torch is imported; of
export and report, all of it."""


def stage_seconds(
    recipe: Recipe, text: float | None, cores: int, training: float | None = None, klue: float | None = None
) -> dict[str, float | None]:
    """Return stage → seconds with its start, rounded to tenths; None where that is not known.

    Args:
        text: bytes of text in the recipe's inputs; None where they are not here.
        cores: that share the stages before training.
        training: seconds of all steps of pretraining.
        klue: seconds of the fine-tunings; None where they are not known, or there are none.
    """
    seconds_by_stage: dict[str, float | None] = {
        stage: None if text is None else text / rate / cores + TEXT_START_SECONDS for stage, rate in TEXT_RATES.items()
    }
    if seconds_by_stage["corpus"] is not None:
        seconds_by_stage["corpus"] += benchmark_bytes(recipe) / INDEX_RATE
    seconds_by_stage["pretrain"] = None if training is None else training + START_SECONDS
    seconds_by_stage["klue"] = 0.0 if recipe.klue is None else None if klue is None else klue + START_SECONDS
    seconds_by_stage |= {"embed": None, "export": SHORT_SECONDS, "report": SHORT_SECONDS}
    return {stage: None if seconds is None else round(seconds, 1) for stage, seconds in seconds_by_stage.items()}


def benchmark_bytes(recipe: Recipe) -> int:
    """Return the size of the benchmark files that the corpus is compared with; 0 where there are none here."""
    settings = recipe.corpus.decontaminate
    if not settings.applies or NOT_NAMED in settings.benchmarks:
        return 0
    try:
        files = [Path(file) for place in settings.benchmarks for file in benchmark_files(str(place))]
    except UserError:  # told by the run
        return 0
    return sum(file.stat().st_size for file in files if file.is_file())


CHARACTERS_PER_TOKEN = 1.8
"""Characters per token of Korean text in a vocabulary of 32,000 entries."""
SHARE = 0.5
"""Speed of a fine-tuning by that of pretraining: smaller batches, a head, texts of different lengths."""


JOB_SECONDS = 2
"""Seconds of a fine-tuning job beside its data: for its process and its model."""


def klue_seconds(recipe: Recipe, flops_per_second: float) -> float | None:
    """Return about how many seconds the stage takes; None where it is left out, or its data is not on this machine.

    Args:
        flops_per_second: that pretraining reaches on the devices.
    """
    klue, p = recipe.klue, recipe.pretrain
    if klue is None or klue.data == NOT_NAMED:
        return None
    per_token = flops_per_token(p, recipe.tokenizer.vocab_size, head=False)
    flops = 0.0
    jobs = 0
    runs = len(klue.seed_list) * (2 if klue.baseline_random else 1)
    for name in klue.tasks:
        task = get_task(name)
        try:
            most = klue.training.max_train_examples
            source = klue.source_of(name)
            splits = load_splits(task, klue.folder_of(name), most, source, tell=False)
        except UserError:
            return None
        for values in tried_values(klue, task, p.model.hidden, counts_of(splits.train)):
            train, dev = (_tokens(examples, values.max_seq_len) for examples in (splits.train, splits.dev))
            jobs += runs
            looks = values.evaluations_per_epoch / 3  # forward alone is a third of a training step
            flops += runs * values.epochs * (train + looks * dev) * per_token
    return flops / (SHARE * flops_per_second) + jobs * JOB_SECONDS


def _tokens(examples: Sequence[Example], longest: int) -> float:
    return sum(min(longest, 3 + sum(map(len, example.texts)) / CHARACTERS_PER_TOKEN) for example in examples)
