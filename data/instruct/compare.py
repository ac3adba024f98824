"""Items and rows that hold sentences of test sets, or texts of held-out rows, by the corpus stage's rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from data.benchmark import BenchmarkSentence
from data.decontaminate import DecontaminateSettings, Decontaminator, Hit
from data.decontaminate.matcher import better
from data.decontaminate.settings import Rule
from data.splitting import split_sentences

BATCH = 4096
WHOLE: list[Rule] = ["exact", "embedded"]
"""Rules by which a text is told to be one of a held-out row: the same words, alone or inside a longer text."""


def searchers(tests: Mapping[str, Sequence[BenchmarkSentence]]) -> dict[str, Decontaminator]:
    """Return what finds the test sentences of each suite; suites without one are left out.

    Args:
        tests: suite → its sentences.
    """
    return {
        suite: Decontaminator.build(list(sentences), DecontaminateSettings())
        for suite, sentences in tests.items()
        if sentences
    }


def held_out_searcher(texts: Sequence[str]) -> Decontaminator | None:
    """Return what finds texts of held-out rows, None where there are none."""
    pieces = [(n, split_sentences(text)) for n, text in enumerate(texts)]
    found = [BenchmarkSentence("", str(n), piece, len(cut) > 1) for n, cut in pieces for piece in cut]
    return Decontaminator.build(found, DecontaminateSettings(rules=WHOLE)) if found else None


def hits_of(searcher: Decontaminator, texts: Sequence[Sequence[str]]) -> list[Hit | None]:
    """Return the best hit of each entry, whose sentences are given; None where there is none.

    Args:
        searcher: of a suite's sentences, or of held-out texts.
        texts: the sentences of each entry.
    """
    found: list[Hit | None] = []
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        owners = [n for n, sentences in enumerate(batch) for _ in sentences]
        best: list[Hit | None] = [None] * len(batch)
        hits = searcher.match([sentence for sentences in batch for sentence in sentences])
        for owner, hit in zip(owners, hits, strict=True):
            if hit is not None:
                best[owner] = better(best[owner], hit)
        found += best
    return found
