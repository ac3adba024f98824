"""The personal data that the detectors find in files, type by type, for a person who judges what would be replaced."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from data.nfc import nfc
from data.pii.detect import find_many
from data.readers.blocks import filled
from data.readers.formats import read_documents
from data.readers.records import InputFile

AROUND = 24
"""Characters of text shown on each side of a value."""
BATCH = 2000
"""Documents searched together."""
BLOCK_BYTES = 1 << 20
SEED = 42


@dataclass
class Listed:
    """The values of a type that were found."""

    files: Counter[str] = field(default_factory=Counter)
    """Label of a file → values in it."""
    distinct: set[str] = field(default_factory=set)
    examples: list[tuple[str, str, str, str]] = field(default_factory=list)
    """(label of the file, text before, value, text after), drawn with a seed from all that were found."""

    def as_json(self) -> dict[str, Any]:
        """Return the counts and examples as a JSON-like tree."""
        names = ("file", "before", "value", "after")
        examples = [dict(zip(names, example, strict=True)) for example in self.examples]
        counts = {"found": self.files.total(), "distinct": len(self.distinct), "files": dict(self.files)}
        return {**counts, "examples": examples}


def personal_data(files: Iterable[InputFile], examples: int) -> dict[str, Listed]:
    """Return type → what is found of it in the documents of files; types of which nothing is found are left out.

    Raises:
        HunminError: as `data.readers.read_documents`.
    """
    by_type: dict[str, Listed] = {}
    draw = random.Random(SEED)
    for file in files:
        read = (nfc(document.text) for document in read_documents(file, BLOCK_BYTES))
        for texts in filled(read, lambda _: 1, BATCH):
            for text, spans in zip(texts, find_many(texts), strict=True):
                for start, end, kind in spans:
                    of_type = by_type.setdefault(kind, Listed())
                    value = text[start:end]
                    of_type.files[file.label] += 1
                    of_type.distinct.add(value)
                    example = (file.label, text[max(start - AROUND, 0) : start], value, text[end : end + AROUND])
                    if len(of_type.examples) < examples:
                        of_type.examples.append(example)
                    elif (at := draw.randrange(of_type.files.total())) < examples:
                        of_type.examples[at] = example
    return dict(sorted(by_type.items()))
