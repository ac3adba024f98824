"""Memory that duplicates take in the process that ends the stage, and the refusal where there is too little."""

from __future__ import annotations

import os

from common.errors import UserError
from data.deduplicate.settings import DeduplicateSettings

BYTES_PER_DOCUMENT, BYTES_PER_JOINED = 2, 70
"""Memory of the one process that clusters near copies: for any document, and for one that is like another."""
JOINED = 0.5
"""Share of the documents that are taken for like another before it is known; crawled text seldom comes near it."""
BYTES_AT_WORK = 1_200_000_000
"""Memory of a task or a pass, whatever the number of documents."""
BYTES_PER_SENTENCE, TEXT_PER_SENTENCE = 4, 165
"""Memory of the masks of sentences, and text in one: what petitions have."""


def near_bytes(documents: float) -> float:
    """Return the bytes of memory of the process that clusters near copies among so many documents, about."""
    return BYTES_AT_WORK + (BYTES_PER_DOCUMENT + JOINED * BYTES_PER_JOINED) * documents


def sentence_bytes(text: float) -> float:
    """Return the bytes of memory that comparing all sentences or paragraphs of so many bytes of text takes, about."""
    return BYTES_AT_WORK + BYTES_PER_SENTENCE * text / TEXT_PER_SENTENCE


def memory_here() -> float:
    """Return the bytes of memory of this machine."""
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def refuse_beyond(settings: DeduplicateSettings, documents: float | None, text: float, memory: float) -> None:
    """Raise UserError where `memory` bytes are too few to compare `text` bytes; `documents`: None where not known."""
    source_by_source = "or build the corpus source by source"
    documents = documents or 0.0
    if settings.near and near_bytes(documents) > memory:
        raise UserError(
            f"near copies among about {documents:,.0f} documents take {near_bytes(documents) / 1e9:.1f} GB of "
            "memory, if half of them are like another",
            f"this machine has {memory / 1e9:.1f} GB, and one process clusters them",
            "end the stage on a machine with more memory; or set corpus.deduplicate.near=false; " + source_by_source,
        )
    needed = sentence_bytes(text)
    if (settings.sentences or settings.paragraphs) and needed > memory:
        kinds = [kind for kind in ("sentences", "paragraphs") if getattr(settings, kind)]
        raise UserError(
            f"comparing the {' and '.join(kinds)} of {text / 1e9:,.0f} GB of text takes {needed / 1e9:.1f} GB "
            "of memory",
            f"this machine has {memory / 1e9:.1f} GB, and one process compares them",
            "take a machine with more memory; or set "
            + " and ".join(f"corpus.deduplicate.{kind}=false" for kind in kinds)
            + f"; {source_by_source}",
        )
