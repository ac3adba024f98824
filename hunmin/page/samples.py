"""Documents of the corpus for the page, only where they are asked for: pseudonymised text, as the run trains on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from common.stage_folders import folder_of
from data.shards import read_shard, row_groups, shard_paths
from hunmin.page.facts import Facts
from hunmin.page.words import Words
from tokenizer.show import show

SOURCES, SENTENCES = 20, 8
"""Sources that a document is shown of, and sentences of each."""


def view(facts: Facts, words: Words) -> dict[str, Any] | None:
    """Return the values for the section's template; None where no text is asked for."""
    return {"all": facts.text, "size": ""} if facts.text else None


def read_samples(run: Path) -> list[dict[str, Any]]:
    """Return {"source", "id", "sentences"} of a document of each source that is met at even places of the corpus.

    "sentences" is a list of (sentence, its words as lists of pieces); without a vocabulary the words are [].

    Args:
        run: run folder.
    """
    if not (folder_of(run, "corpus") / "manifest.json").is_file():
        return []
    whole = (folder_of(run, "tokenizer") / "tokenizer.json").is_file()
    places = [(path, group) for path in shard_paths(folder_of(run, "corpus")) for group in range(row_groups(path))]
    by_source: dict[str, dict[str, Any]] = {}
    for path, group in places[:: -(-len(places) // SOURCES)]:
        for batch in read_shard(path, ["id", "source", "sentences"], range(group, group + 1)):
            for row in batch.to_pylist():
                if row["source"] not in by_source and len(by_source) < SOURCES:
                    sentences = row["sentences"][:SENTENCES]
                    cuts = [
                        show([folder_of(run, "tokenizer")], sentence)[-1]["words"] if whole else []
                        for sentence in sentences
                    ]
                    by_source[row["source"]] = {**row, "sentences": list(zip(sentences, cuts, strict=True))}
    return list(by_source.values())
