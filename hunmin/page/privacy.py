"""Personal data that was replaced in the corpus, and benchmark sentences that were removed from it. Counts alone."""

from __future__ import annotations

from typing import Any

from hunmin.page.facts import Facts
from hunmin.page.tables import by_count
from hunmin.page.words import Words
from klue.tasks import TASKS


def view(facts: Facts, words: Words) -> dict[str, Any] | None:
    """Return the values for the section's template; None where there is no corpus yet."""
    statistics = facts.statistics
    corpus = facts.recipe.get("corpus") or {}
    if statistics is None:
        return None
    pii = corpus.get("pii") or {}
    decontaminate = corpus.get("decontaminate")
    tasks = {
        words(TASKS[name].title) if name in TASKS else name: rules
        for name, rules in statistics["decontamination"].items()
    }
    sums = {name: sum(rules.values()) for name, rules in tasks.items()}
    own = (facts.recipe.get("klue") or {}).get("own")
    applies = decontaminate is None or (decontaminate.get("enabled", True) and (decontaminate.get("benchmark") or own))
    return {
        "personal": by_count(statistics["pii"]),
        "words": statistics["total"]["read"].get("words"),
        "pii_off": not pii.get("enabled", True),
        "rules": sorted({rule for rules in tasks.values() for rule in rules}),
        "tasks": [(name, tasks[name]) for name, _ in by_count(sums)],
        "not_decontaminated": not applies,
    }
