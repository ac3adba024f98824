"""The decontaminator: benchmark sentences in, index out, and for each corpus sentence the best hit or none.

An exact match is a benchmark sentence, whatever its blanks, punctuation and case.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from data.benchmark import BenchmarkSentence
from data.decontaminate.containment import build_containment_index, search_containment
from data.decontaminate.criteria import RULES, Criteria, Rule
from data.decontaminate.embedded import MIN_WORDS, build_embedded_index, search_embedded
from data.decontaminate.fragments import build_fragment_index, search_fragments
from data.decontaminate.hashtable import HashTable, build_hash_table, find_slot
from data.decontaminate.sources import Sources, distinct_sentences, fold_benchmark, fragment_sources
from data.decontaminate.terms import (
    FoldedText,
    count_syllables,
    fold_sentences,
    hash_bigrams,
    hash_sentences,
    hash_words,
)


class ExactIndex(NamedTuple):
    """Hashes of K distinct texts and the first benchmark sentence that has each."""

    texts: HashTable
    sentence_K: NDArray[np.int32]


def build_exact_index(text: FoldedText, min_characters: NDArray[np.integer]) -> ExactIndex:
    """Return the index of the benchmark sentences that have at least their own `min_characters` letters (≥ 1)."""
    eligible = np.flatnonzero(np.diff(text.first_letter_N) >= min_characters)
    keys, first = np.unique(hash_sentences(text)[eligible], return_index=True)
    return ExactIndex(build_hash_table(keys), eligible[first].astype(np.int32))


@njit(cache=True)
def search_exact(index, hashes):  # type: ignore[no-untyped-def]
    """Return the benchmark sentence with the same text, or -1, for each corpus sentence's hash."""
    best = np.full(len(hashes), -1, np.int32)
    for n in range(len(hashes)):
        slot = find_slot(index.texts, hashes[n])
        if slot >= 0:
            best[n] = index.sentence_K[slot]
    return best


BATCH = 16384
"""Sentences folded at a time: few enough that their letters stay in the cache, so many that each index does, too."""


Record = tuple[str, str, str]
"""Task and guid of a benchmark sentence, and the sentence as lists show it."""
Index = tuple[NDArray[np.int64], NDArray[np.int64], Any]
"""The first record of each text and the one after its last; and the index of the texts."""


class Hit(NamedTuple):
    """The benchmark text that a corpus sentence holds."""

    task: str
    guid: str
    score: float
    """Share found: of the benchmark sentence's BM25 weight, or for a fragment of the corpus sentence; 1 for a whole
    benchmark sentence, exact or embedded."""
    rule: Rule
    text: str
    """Benchmark text as lists show it: the sentence, for a fragment the whole passage."""

    def as_record(self) -> dict[str, Any]:
        """Return what lists of hits say, but for the texts."""
        return {"task": self.task, "benchmark_guid": self.guid, "score": round(self.score, 6), "rule": self.rule}


class Decontaminator:
    """Finds benchmark sentences among corpus sentences; holds arrays and records, so it pickles and forks cheaply."""

    def __init__(self, records: list[Record], indices: dict[Rule, Index]) -> None:
        self.records = records
        self.indices = indices

    @classmethod
    def build(
        cls, benchmark: list[BenchmarkSentence], criteria: Criteria = Criteria(), threads: int = 1
    ) -> Decontaminator:
        """Return a decontaminator for sentences, those of a passage in a row, by the rules of the criteria alone."""
        folded = fold_benchmark(benchmark)
        sources = distinct_sentences(folded)
        text, passage = sources.text, sources.passage_D
        phrase = np.diff(text.first_word_N) >= MIN_WORDS
        every = np.ones(len(phrase), bool)
        shortest = criteria.embedded_min_characters
        of_passage = criteria.exact_min_passage_characters
        spread = criteria.spread
        short = count_syllables(text) < criteria.short_syllables

        def build_fragments() -> tuple[Sources, Any]:
            pieces = fragment_sources(folded, criteria.fragment_scope)
            floors = criteria.fragment_min_characters, criteria.fragment_min_syllables
            return pieces, build_fragment_index(pieces.text, criteria.fragment_threshold, *floors)

        builders: dict[Rule, Callable[[], tuple[Sources, Any]]] = {  # the longest first
            "bigrams": lambda: (
                sources,
                build_containment_index(
                    hash_bigrams(text), phrase, short, criteria.bigram_threshold, criteria.min_bigrams, spread
                ),
            ),
            "fragment": build_fragments,
            "words": lambda: (
                sources,
                build_containment_index(hash_words(text), every, short, criteria.threshold, criteria.min_words, spread),
            ),
            "embedded": lambda: (
                sources,
                build_embedded_index(text, np.where(passage, max(of_passage, shortest), shortest)),
            ),
            "exact": lambda: (
                sources,
                build_exact_index(text, np.where(passage, of_passage, criteria.exact_min_characters)),
            ),
        }
        with ThreadPoolExecutor(threads) as pool:
            built = {rule: pool.submit(build) for rule, build in builders.items() if rule in criteria.rules}
        records = [(task, guid, listed or text) for task, guid, text, _, listed in folded.sentences]
        indices = {rule: built[rule].result() for rule in RULES if rule in built}
        return cls(records, {rule: (texts.first_D, texts.end_D, index) for rule, (texts, index) in indices.items()})

    def match(self, sentences: list[str]) -> list[Hit | None]:
        """Return the best hit of each sentence, or None.

        An exact match comes first; else the highest score, then the lowest task, guid and rule. Call it with
        thousands of sentences at once: a call costs as much as some hundred sentences.
        """
        hits: list[Hit | None] = []
        for start in range(0, len(sentences), BATCH):
            hits += self._match_batch(sentences[start : start + BATCH])
        return hits

    def _match_batch(self, sentences: list[str]) -> list[Hit | None]:
        text = fold_sentences(sentences)
        words = hash_words(text)
        searches: dict[Rule, Callable[[Any], Any]] = {
            "exact": lambda index: (search_exact(index, hash_sentences(text)), None),
            "embedded": lambda index: (search_embedded(index, words), None),
            "words": lambda index: search_containment(index, *words),
            "bigrams": lambda index: search_containment(index, *hash_bigrams(text)),
            "fragment": lambda index: search_fragments(index, text.letters_L, text.first_letter_N),
        }
        hits: list[Hit | None] = [None] * len(sentences)
        for rule, (first, end, index) in self.indices.items():
            best, score = searches[rule](index)
            for n in np.flatnonzero(best >= 0):
                records = self.records[first[best[n]] : end[best[n]]]
                listed = " ".join(record[2] for record in records)
                hit = Hit(*records[0][:2], 1.0 if score is None else float(score[n]), rule, listed)
                hits[n] = better(hits[n], hit)
        return hits


def better(best: Hit | None, hit: Hit) -> Hit:
    """Return the hit that is reported of two: exact first, then highest score, then lowest task, guid and rule."""
    return min(best, hit, key=_rank) if best is not None else hit


def _rank(hit: Hit) -> tuple[bool, float, str, str, int]:
    return hit.rule != "exact", -hit.score, hit.task, hit.guid, RULES.index(hit.rule)
