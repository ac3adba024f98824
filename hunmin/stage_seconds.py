"""About how long each stage of a recipe takes: the one estimate of `hunmin plan` and of the dry run."""

from __future__ import annotations

from pathlib import Path

from common.errors import UserError
from data.benchmark import benchmark_files
from data.plan import RATES
from hunmin.recipe import NOT_NAMED, Recipe

TEXT_RATES = {"corpus": RATES["unit"], "tokenizer": 1.5e6, "encode": 47e6}
"""Bytes of text a second and core of the stages before training: encoding by `scripts/bench_tokenizer.py` on one core
of an AMD EPYC (`docs/performance.md`); of the vocabulary's training assumed, and low."""
INDEX_RATE = 6e6
"""Bytes of benchmark files a second that are read and indexed to be looked for, by one core whatever the corpus: the 72
MB of KLUE in 12 seconds on an Intel Xeon, 2026-11-29."""
TEXT_START_SECONDS, START_SECONDS, SHORT_SECONDS = 5.0, 20.0, 10.0
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
