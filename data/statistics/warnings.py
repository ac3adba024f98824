"""What a finished corpus is to be looked at for: sources that left no document, and wiki markup in the text."""

from __future__ import annotations

from data.statistics.counts import Counters

EMPTIED, WIKI_MARKUP = "emptied", "wiki_markup"
"""Keys of `statistics.json`: source → rule → documents; source → documents with wiki markup, where most have it."""


def warnings_of(statistics: Counters) -> list[str]:
    """Return a sentence for each source that left no document, and each most of whose documents hold wiki markup.

    Args:
        statistics: the content of `statistics.json`.
    """
    lines = []
    for source, rules in sorted(statistics.get(EMPTIED, {}).items()):
        told = ", ".join(
            f"{rule}: {count:,}" for rule, count in sorted(rules.items(), key=lambda one: (-one[1], one[0]))
        )
        lines.append(f"no document is left of '{source}' ({told})")
    for source, count in sorted(statistics.get(WIKI_MARKUP, {}).items()):
        read = statistics["sources"][source]["read"]["documents"]
        lines.append(
            f"{count:,} of {read:,} documents of '{source}' hold wiki markup, which is now in the corpus: set the "
            "source's markup to namuwiki or mediawiki"
        )
    return lines


def most_with_markup(counts: Counters) -> dict[str, int]:
    """Return each source most of whose documents hold wiki markup → how many do.

    Args:
        counts: "read": source → counts; "markup": source → documents with wiki markup.
    """
    return {
        source: count for source, count in counts["markup"].items() if 2 * count > counts["read"][source]["documents"]
    }
