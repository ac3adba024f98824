"""Sources and inputs that leave no document, and the rules that took theirs: nothing vanishes without a word."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from common.secrets import masked_urls
from data.nfc import nfc
from data.readers import InputFile, SourceSettings
from data.statistics import Counters, merge

NO_RECORD = "no record in it"
"""Why an empty file leaves no document."""


class Inputs:
    """What was read of each entry of the recipe's inputs; those of one name are one."""

    def __init__(self, files: list[InputFile]) -> None:
        self._names = [_name(file.settings) for file in files]
        self._read: dict[str, int] = {}
        self._reasons: dict[str, Counters] = {}

    def add(self, number: int, documents: int, *reasons: Counters) -> None:
        """Note the documents that a part of a file holds, and why there were no more (reason → how often)."""
        name = self._names[number]
        self._read[name] = self._read.get(name, 0) + documents
        for counts in reasons:
            merge(self._reasons.setdefault(name, {}), counts)

    def without_document(self) -> Counters:
        """Return each entry of which no document was read → reason → how often."""
        empty = [name for name in dict.fromkeys(self._names) if not self._read.get(name)]
        return {name: self._reasons.get(name) or {NO_RECORD: 1} for name in empty}


def _name(entry: SourceSettings) -> str:
    """Return the name of an entry, else that of its file or folder; where it lies does not enter the corpus."""
    return nfc(entry.name or masked_urls(entry.path).rstrip("/").rsplit("/", 1)[-1])


def sources_without_document(counts: Counters, left: Counters, mixture: Counters | None) -> Counters:
    """Return each source of which documents were read and none is left → rule → documents that it took."""
    emptied: Counters = {}
    for source, read in counts["read"].items():
        if left.get(source, {}).get("documents"):
            continue
        rules: dict[str, int] = dict(counts["lost"].get(source, {}))
        for title, measures in counts["filters"].items():
            dropped = _documents(measures.values(), source)
            rules |= {f"filter {title}": dropped} if dropped else {}
        left_out = (mixture or {}).get(source, {}).get("left_out", {}).get("documents", 0)
        rules |= {"mixture": left_out} if left_out else {}
        copies = read["documents"] - sum(rules.values())
        emptied[source] = rules | ({"duplicates": copies} if copies > 0 else {})
    return emptied


def _documents(measures: Iterable[Any], source: str) -> int:
    return sum(by_source.get(source, {}).get("documents", 0) for by_source in measures)
