"""How many documents near copies can be looked for among: what it takes in memory, and the refusal beforehand."""

from __future__ import annotations

import os

from common.errors import UserError
from data.deduplicate.cluster import PARTITION
from data.deduplicate.settings import DeduplicateSettings

BYTES_PER_DOCUMENT = 32 + 25
"""Memory of the search (`data.deduplicate.cluster`), and of the pairs, if every document had one."""
BYTES_AT_WORK = 1_200_000_000
"""Memory of a pass, whatever the number of documents."""
BYTES_PER_SENTENCE, TEXT_PER_SENTENCE = 4, 165
"""Memory of the masks of sentences, and text in one: what petitions have."""
SECONDS_PER_DOCUMENT = 7.7e-6
"""Measured on one core of an AMD EPYC by `scripts/bench_deduplicate.py --documents 1000000`, 2026-11-25."""
SECONDS_PER_OPENING = 1.5e-4
"""Of a small file of keys on a local disk; more over a network."""
MOST_DOCUMENTS = 400_000_000
"""More take days in the one process that looks for near copies."""


def near_bytes(documents: float) -> float:
    """Return the bytes of memory that looking for near copies among so many documents takes, about."""
    return BYTES_AT_WORK + BYTES_PER_DOCUMENT * documents


def near_seconds(documents: float, parts: int, bands: int) -> float:
    """Return the seconds that one process looks for near copies, about: every range of keys opens the parts again."""
    ranges = max(1.0, documents / PARTITION)
    return SECONDS_PER_DOCUMENT * documents + SECONDS_PER_OPENING * parts * bands * ranges


def sentence_bytes(text: float) -> float:
    """Return the bytes of memory that comparing all sentences or paragraphs of so many bytes of text takes, about."""
    return BYTES_AT_WORK + BYTES_PER_SENTENCE * text / TEXT_PER_SENTENCE


def memory_here() -> float:
    """Return the bytes of memory of this machine."""
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def refuse_beyond(settings: DeduplicateSettings, documents: float | None, text: float, memory: float) -> None:
    """Refuse comparisons that this machine cannot end.

    Args:
        settings: which duplicates go.
        documents: how many there are, about; None where that is not known.
        text: bytes of text.
        memory: bytes.

    Raises:
        UserError: there are too many for the memory, or for one process.
    """
    if settings.near:
        refuse_too_many(documents or 0.0, memory)
    needed = sentence_bytes(text)
    if (settings.sentences or settings.paragraphs) and needed > memory:
        kinds = [kind for kind in ("sentences", "paragraphs") if getattr(settings, kind)]
        raise UserError(
            f"comparing the {' and '.join(kinds)} of {text / 1e9:,.0f} GB of text takes {needed / 1e9:.1f} GB "
            "of memory",
            f"this machine has {memory / 1e9:.1f} GB, and one process compares them",
            "take a machine with more memory; or set "
            + " and ".join(f"corpus.deduplicate.{kind}=false" for kind in kinds)
            + "; or build the corpus source by source",
        )


def refuse_too_many(documents: float, memory: float) -> None:
    """Refuse a search for near copies that this machine cannot end.

    Args:
        documents: how many there are, about.
        memory: bytes.

    Raises:
        UserError: they are too many for the memory, or for one process.
    """
    remedy = (
        "set corpus.deduplicate.near=false here, and find near copies with an engine that many machines share "
        '(docs/corpus.md, "Near copies of a terabyte"); or build the corpus source by source'
    )
    if documents > MOST_DOCUMENTS:
        raise UserError(
            f"about {documents:,.0f} documents to look for near copies among",
            f"one process looks for them; with more than {MOST_DOCUMENTS:,} it would take too long",
            remedy,
        )
    if near_bytes(documents) > memory:
        raise UserError(
            f"near copies among about {documents:,.0f} documents take {near_bytes(documents) / 1e9:.1f} GB of memory",
            f"this machine has {memory / 1e9:.1f} GB, and one process looks for them",
            f"take a machine with more memory; or {remedy}",
        )
