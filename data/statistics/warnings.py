"""What a finished corpus is to be looked at for: sources that left no document, and wiki markup in the text."""

from __future__ import annotations

from data.statistics.counts import Counters

EMPTIED, WIKI_MARKUP = "emptied", "wiki_markup"
"""Keys of `statistics.json`: source → rule → documents; source → documents looked at and, where they are most, with
wiki markup."""


def warnings_of(statistics: Counters) -> list[str]:
    """Return a sentence for each source that left no document, and each most of whose documents hold wiki markup."""
    lines = []
    for source, rules in sorted(statistics.get(EMPTIED, {}).items()):
        reasons = ", ".join(
            f"{rule}: {count:,}" for rule, count in sorted(rules.items(), key=lambda one: (-one[1], one[0]))
        )
        lines.append(f"no document is left of '{source}' ({reasons})")
    for source, counts in sorted(statistics.get(WIKI_MARKUP, {}).items()):
        lines.append(
            f"{counts['marked']:,} of {counts['documents']:,} documents of '{source}' that were looked at hold wiki "
            "markup, which is now in the corpus: set the source's markup to namuwiki or mediawiki"
        )
    return lines


def most_with_markup(counts: Counters) -> Counters:
    """Return each source most of whose documents hold wiki markup → how many were looked at, how many do.

    Args:
        counts: "markup": source → {"documents", "marked"}.
    """
    return {source: marked for source, marked in counts["markup"].items() if 2 * marked["marked"] > marked["documents"]}
