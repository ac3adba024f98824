"""Documents of the corpus for the page, only where they are asked for: pseudonymised text, as the run trains on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup

from hunmin.page import markup
from hunmin.page.facts import Facts
from hunmin.page.vocabulary import cut

SOURCES, SENTENCES = 20, 8
"""Sources that a document is shown of, and sentences of each."""


def read_samples(run: Path) -> list[dict[str, Any]]:
    """Return {"source", "id", "sentences"} of the first document of each source in the first shard, cut into pieces.

    "sentences" is a list of lists of words, each a list of pieces; without a vocabulary a word is one piece.

    Args:
        run: run folder.
    """
    from data.shards import read_shards
    from tokenizer.show import show

    folder = run / "tokenizer"
    whole = (folder / "tokenizer.json").is_file()
    found: dict[str, dict[str, Any]] = {}
    if not (run / "corpus" / "manifest.json").is_file():
        return []
    for batch in read_shards(run / "corpus", ["id", "source", "sentences"]):
        for row in batch.to_pylist():
            if row["source"] in found or len(found) == SOURCES:
                continue
            cuts = [
                show([folder], sentence)[-1]["words"] if whole else [[word] for word in sentence.split()]
                for sentence in row["sentences"][:SENTENCES]
            ]
            found[row["source"]] = {"source": row["source"], "id": row["id"], "sentences": cuts}
        if len(found) == SOURCES:
            break
    return list(found.values())


def samples(facts: Facts) -> Markup:
    """Return the section with the documents, or nothing where there are none."""
    if not facts.text:
        return Markup()
    blocks = [
        markup.block(
            f"{one['source']}: the beginning of {one['id']}",
            *(Markup('<p class="sentence">{}</p>').format(cut(words)) for words in one["sentences"]),
        )
        for one in facts.text
    ]
    return markup.section("text", "Text of the corpus, as the vocabulary cuts it", *blocks)
