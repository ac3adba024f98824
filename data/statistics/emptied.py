"""Sources and inputs that leave no document, and the rules that took theirs: nothing vanishes without a word."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from common.secrets import masked_urls
from data.nfc import nfc
from data.readers import InputFile, SourceSettings
from data.statistics import Counters, merge

NO_RECORD = "no record in it"
"""Why an empty file leaves no document."""


@dataclass
class Inputs:
    """What was read of each entry of the recipe's inputs.

    Args:
        files: all inputs, in order.
    """

    files: list[InputFile]
    _read: dict[int, int] = field(default_factory=dict)
    _reasons: dict[int, Counters] = field(default_factory=dict)

    def add(self, number: int, documents: int, *reasons: Counters) -> None:
        """Note what a part of a file holds.

        Args:
            number: of the file.
            documents: how many documents were read.
            reasons: why there were no more → how often.
        """
        key = id(self.files[number].settings)
        self._read[key] = self._read.get(key, 0) + documents
        for one in reasons:
            merge(self._reasons.setdefault(key, {}), one)

    def without_document(self) -> Counters:
        """Return name or path of each entry of which no document was read → reason → how often."""
        entries = {id(file.settings): file.settings for file in self.files}
        empty = {key: entry for key, entry in entries.items() if not self._read.get(key)}
        return {_name(entry): self._reasons.get(key) or {NO_RECORD: 1} for key, entry in empty.items()}


def _name(entry: SourceSettings) -> str:
    return nfc(entry.name or masked_urls(entry.path))


def sources_without_document(counts: Counters, kept: Counters, mixture: Counters | None) -> Counters:
    """Return each source of which documents were read and none is left → rule → documents that it took.

    Args:
        counts: of all units.
        kept: source → counts of what is in the shards.
        mixture: source → what the mixture made of it, where there is one.
    """
    found: Counters = {}
    for source, read in counts["read"].items():
        if kept.get(source, {}).get("documents"):
            continue
        rules: dict[str, int] = dict(counts["lost"].get(source, {}))
        for title, measures in counts["filters"].items():
            dropped = _documents(measures.values(), source)
            rules |= {f"filter {title}": dropped} if dropped else {}
        left_out = (mixture or {}).get(source, {}).get("left_out", {}).get("documents", 0)
        rules |= {"mixture": left_out} if left_out else {}
        copies = read["documents"] - sum(rules.values())
        found[source] = rules | ({"duplicates": copies} if copies > 0 else {})
    return found


def _documents(measures: Iterable[Any], source: str) -> int:
    return sum(by_source.get(source, {}).get("documents", 0) for by_source in measures)
