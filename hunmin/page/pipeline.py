"""The stages of a run: their states, what came out of them, their times and the versions that made them."""

from __future__ import annotations

from typing import Any

from hunmin.page.facts import Facts
from hunmin.page.tables import Table
from hunmin.page.words import Words
from hunmin.report import stage_line

STATES = {
    "done": "done",
    "outdated": "outdated, will run again",
    "under way": "running",
    "unfinished": "interrupted; the same command resumes it",
    "waiting": "not started",
}


def view(facts: Facts, words: Words) -> dict[str, Any]:
    """Return what the template of the section shows."""
    longest = max((stage.seconds or 0.0 for stage in facts.stages), default=0.0)
    stages = []
    for stage in facts.stages:
        at_work = stage.state in ("under way", "unfinished")  # what its folder tells is of an earlier time
        seconds = None if at_work else stage.seconds
        said = stage_line(stage.name, stage.counts, validation_ends(facts), words)
        stages.append(
            {
                "key": stage.name,
                "name": words.name(f"stage {stage.name}"),
                "state": stage.state.replace(" ", "-"),
                "told": words(STATES[stage.state]),
                "time": "" if seconds is None else words.duration(seconds),
                "share": (seconds or 0.0) / longest if longest else 0.0,
                "said": said if stage.counts and not at_work else "",
            }
        )
    versions = dict(item for stage in facts.stages for item in stage.versions.items())
    head = [words("package"), words("version")]
    return {"stages": stages, "versions": Table(words("Versions"), head, sorted(versions.items()), words=(1,))}


def validation_ends(facts: Facts) -> dict[str, Any]:
    """Return the first and the last validation as `hunmin.report.collect` has them."""
    metrics = facts.training.metrics
    names = [name for name in metrics.curves if name.startswith("validation_")]
    values = {name: values_P for name in names if len(values_P := metrics.of_last_objective(name).values_P)}
    return {
        end: {name: float(values_P[at]) for name, values_P in values.items()}
        for end, at in (("first", 0), ("last", -1))
    }
