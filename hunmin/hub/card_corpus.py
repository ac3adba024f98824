"""Of a model card: the corpus with what was taken out of it, and the vocabulary."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from common.files import human_size
from hunmin.hub.facts import Facts
from hunmin.hub.markdown import pairs, text


def vocabulary(facts: Facts, say: Mapping[str, Any]) -> str:
    """Return the tables of the tokenizer's own card, without its title and settings; in another language than its own
    the figures alone, by their names there."""
    card = re.sub(r"```yaml\n.*?```", "", facts.vocabulary, flags=re.DOTALL)
    names = say["vocabulary_names"]
    if not names:
        return "\n".join(card.splitlines()[2:])
    held_out = re.search(r"^On ([\d,]+) bytes of documents that were held out:$", card, re.MULTILINE)
    parts = [card[: held_out.start()], card[held_out.end() :]] if held_out else [card]
    tables = []
    for part in parts:
        rows = re.findall(r"^\| ([^|\n]*[^|\s][^|\n]*) \| ([^|\n]+) \|$", part, re.MULTILINE)
        if rows:
            tables.append(pairs((names.get(name, name), value) for name, value in rows))
    if held_out and len(tables) > 1:
        tables.insert(1, say["held_out"].format(size=held_out[1]))
    return "\n\n".join(tables)


def corpus(facts: Facts, say: Mapping[str, Any]) -> str:
    """Return the table of the sources, and below it what was taken out or replaced; nothing without a corpus."""
    counts = facts.counts["corpus"]
    if not counts:
        return ""
    licenses = facts.recipe.hub.source_licenses
    lines = [f"| {say['source']} | {say['documents']} | {say['sentences']} | {say['size']} | {say['license']} |"]
    lines.append("|---|---:|---:|---:|---|")
    for name, of in facts.statistics.get("sources", {}).items():
        kept = of["kept"]
        lines.append(
            f"| {text(name)} | {kept.get('documents', 0):,} | {kept.get('sentences', 0):,} | "
            f"{human_size(kept.get('bytes', 0))} | {text(licenses.get(name, say['not_stated']))} |"
        )
    size = human_size(counts["bytes"])
    lines.append(f"| **{say['all']}** | {counts['documents']:,} | {counts['sentences']:,} | {size} | |")
    return "\n".join(lines) + f"\n\n{say['removed']}\n\n{pairs(_removed(facts, say))}"


def _removed(facts: Facts, say: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what was taken out of the corpus, or replaced in it."""
    counts, statistics, settings = facts.counts["corpus"], facts.statistics, facts.recipe.corpus
    cleaned = {rule: one["characters"] for rule, one in statistics.get("cleaning", {}).items()}
    filters = {
        title: sum(one["documents"] for sources in measures.values() for one in sources.values())
        for title, measures in statistics.get("filters", {}).items()
    }
    personal, benchmark = _listed(statistics.get("pii", {})), _listed(facts.contamination)
    return [
        (say["personal"], personal if settings.pii.enabled else say["pii_off"]),
        (say["benchmark"], benchmark if settings.decontaminate.enabled else say["decontamination_off"]),
        (say["cleaned"], _listed(cleaned)),
        (say["filtered"], _listed(filters)),
        (say["dropped"], _sum(statistics.get("dropped", {}))),
        (say["duplicates"], _listed(counts.get("duplicates", {}))),
        (say["skipped"], _sum(statistics.get("skipped", {}))),
        (say["rejects"], f"{counts.get('rejects', 0):,}"),
        (say["damaged"], _sum(statistics.get("damaged", {}))),
    ]


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{text(name)} {n:,}" for name, n in counts.items() if n)


def _sum(counts: Mapping[str, int]) -> str:
    return f"{sum(counts.values()):,}" if any(counts.values()) else ""
