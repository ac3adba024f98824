"""Of a model card: the corpus with its mixture and what was taken out of it, and the vocabulary."""

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
    """Return the table of the sources, and below it their mixture and what was taken out or replaced; nothing without
    a corpus."""
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
    parts = ["\n".join(lines), _mixture(facts, say), say["removed"], pairs(_removed(facts, say))]
    return "\n\n".join(part for part in parts if part)


def _mixture(facts: Facts, say: Mapping[str, Any]) -> str:
    """Return how often the text of each source was trained on, and what was held out; nothing without a mixture."""
    sources = facts.statistics.get("mixture")
    if not sources:
        return ""
    epochs = _epochs(facts)
    found, trained = (sum(of[kind]["bytes"] for of in sources.values()) for kind in ("before", "pass"))
    head = [say["source"], say["share_found"], say["share_trained"], say["times"]]
    head += [say["times_in_all"]] if epochs is not None else []
    head += [say["documents_held_out"], say["documents_left_out"]]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    for name, of in sources.items():
        times = [f"{of['rate']:.2f}"] + ([f"{of['rate'] * epochs:,.2f}"] if epochs is not None else [])
        cells = [text(name), _share(of["before"]["bytes"], found), _share(of["pass"]["bytes"], trained), *times]
        cells += [f"{of[kind]['documents']:,}" for kind in ("held_out", "left_out")]
        lines.append(f"| {' | '.join(cells)} |")
    sums = [f"{sum(of[kind]['documents'] for of in sources.values()):,}" for kind in ("held_out", "left_out")]
    all_, blank = say["all"], [""] * (len(head) - 3)  # shares and times have no sum that says anything
    lines.append(f"| {' | '.join([f'**{all_}**', *blank, *sums])} |")
    return f"{say['mixture']}\n\n" + "\n".join(lines)


def _epochs(facts: Facts) -> float | None:
    """Return how often the training went through the mixed corpus: known at its end, and not of pairs of sentences,
    whose second texts are drawn from all of it."""
    counts = facts.counts["pretrain"]
    if facts.step != counts.get("steps") or facts.recipe.pretrain.samples == "sentence-pairs":
        return None
    return float(counts["epochs"])


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else ""


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
        (say["benchmark"], benchmark if settings.decontaminate.applies else say["decontamination_off"]),
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
