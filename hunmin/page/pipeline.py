"""The stages of a run: their states, what came out of them, their times and the versions that made them."""

from __future__ import annotations

from typing import Any

from hunmin.page.facts import Facts
from hunmin.page.words import Words
from hunmin.pipeline.report import stage_line

STATES = {
    "done": "done",
    "outdated": "outdated, will run again",
    "under way": "running",
    "unfinished": "interrupted",
    "waiting": "not started",
}


def view(facts: Facts, words: Words) -> dict[str, Any]:
    """Return the values for the section's template."""
    ends = validation_ends(facts)
    return {
        "stages": [
            (stage, words(STATES[stage.state]), stage_line(stage.name, stage.counts, ends, words))
            for stage in facts.stages
        ],
        "longest": max((stage.seconds or 0.0 for stage in facts.stages), default=0.0) or 1.0,
        "versions": sorted(dict(item for stage in facts.stages for item in stage.versions.items()).items()),
    }


def validation_ends(facts: Facts) -> dict[str, Any]:
    """Return the first and the last validation as `hunmin.pipeline.report.collect` has them."""
    metrics = facts.training.metrics
    names = [name for name in metrics.curves if name.startswith("validation_")]
    values = {name: values_P for name in names if len(values_P := metrics.of_last_objective(name).values_P)}
    return {
        end: {name: float(values_P[at]) for name, values_P in values.items()}
        for end, at in (("first", 0), ("last", -1))
    }
