"""The decontaminator: benchmark sentences in, index out, and for each corpus sentence the best hit or none.

An exact match is a benchmark sentence, whatever its blanks, punctuation and case.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from data.benchmark import BenchmarkSentence
from data.decontaminate.containment import build_containment_index, search_containment
from data.decontaminate.criteria import RULES, Criteria, Rule, Scope
from data.decontaminate.embedded import MIN_WORDS, build_embedded_index, search_embedded
from data.decontaminate.fragments import build_fragment_index, search_fragments
from data.decontaminate.hashtable import HashTable, build_hash_table, find_slot
from data.decontaminate.terms import (
    FoldedText,
    count_syllables,
    fold_sentences,
    hash_bigrams,
    hash_lines,
    hash_sentences,
    hash_words,
    take_sentences,
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


Names = list[tuple[str, str, str]]
"""Task and guid of each text of an index, and the text as lists show it."""


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


def distinct_sentences(benchmark: list[BenchmarkSentence]) -> tuple[list[BenchmarkSentence], FoldedText]:
    """Return the benchmark's distinct sentences (same words: same sentence) and their letters.

    They come by task, guid and place; each has the name of its first record, and is of a passage when all its records
    are. Sentences without a letter are left out.
    """
    ordered = sorted(benchmark, key=itemgetter(0, 1))
    text = fold_sentences([sentence.text for sentence in ordered])
    lines = hash_lines(text)
    passage = np.array([sentence.passage for sentence in ordered], bool)
    chosen = np.zeros(len(ordered), bool)
    chosen[np.unique(lines, return_index=True)[1]] = True
    chosen &= np.diff(text.first_letter_N) > 0
    single = chosen & passage & np.isin(lines, lines[~passage])
    unique = [ordered[n]._replace(passage=False) if single[n] else ordered[n] for n in np.flatnonzero(chosen).tolist()]
    return unique, take_sentences(text, chosen)


def fragment_sources(benchmark: list[BenchmarkSentence], scope: Scope) -> tuple[list[BenchmarkSentence], FoldedText]:
    """Return the texts a corpus sentence may be a piece of: passages joined again; for scope "all" sentences too."""
    sources = []
    for (task, guid, passage), run in groupby(benchmark, key=itemgetter(0, 1, 3)):
        if passage:
            texts, listed = zip(*((sentence.text, sentence.listed or sentence.text) for sentence in run), strict=True)
            sources.append(BenchmarkSentence(task, guid, " ".join(texts), True, " ".join(listed)))
        elif scope == "all":
            sources += run
    return distinct_sentences(sources)


def _names(sentences: list[BenchmarkSentence]) -> Names:
    return [(sentence.task, sentence.guid, sentence.listed or sentence.text) for sentence in sentences]


class Decontaminator:
    """Finds benchmark sentences among corpus sentences; holds arrays and names, so it pickles and forks cheaply."""

    def __init__(self, indices: dict[Rule, tuple[Names, Any]]) -> None:
        self._indices = indices

    @classmethod
    def build(
        cls, benchmark: list[BenchmarkSentence], criteria: Criteria = Criteria(), threads: int = 1
    ) -> Decontaminator:
        """Return a decontaminator for sentences, those of a passage in a row, by the rules of the criteria alone."""
        sources, text = distinct_sentences(benchmark)
        passage = np.array([source.passage for source in sources], bool)
        phrase = np.diff(text.first_word_N) >= MIN_WORDS
        every = np.ones(len(sources), bool)
        shortest = criteria.embedded_min_characters
        of_passage = criteria.exact_min_passage_characters
        spread = criteria.spread
        short = count_syllables(text) < criteria.short_syllables
        names = _names(sources)

        def build_fragments() -> tuple[Names, Any]:
            pieces, letters = fragment_sources(benchmark, criteria.fragment_scope)
            floors = criteria.fragment_min_characters, criteria.fragment_min_syllables
            index = build_fragment_index(letters, criteria.fragment_threshold, *floors)
            return _names(pieces), index

        builders: dict[Rule, Callable[[], tuple[Names, Any]]] = {  # the longest first
            "bigrams": lambda: (
                names,
                build_containment_index(
                    hash_bigrams(text), phrase, short, criteria.bigram_threshold, criteria.min_bigrams, spread
                ),
            ),
            "fragment": build_fragments,
            "words": lambda: (
                names,
                build_containment_index(hash_words(text), every, short, criteria.threshold, criteria.min_words, spread),
            ),
            "embedded": lambda: (
                names,
                build_embedded_index(text, np.where(passage, max(of_passage, shortest), shortest)),
            ),
            "exact": lambda: (
                names,
                build_exact_index(text, np.where(passage, of_passage, criteria.exact_min_characters)),
            ),
        }
        with ThreadPoolExecutor(threads) as pool:
            built = {rule: pool.submit(build) for rule, build in builders.items() if rule in criteria.rules}
        return cls({rule: built[rule].result() for rule in RULES if rule in built})

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
        for rule, (names, index) in self._indices.items():
            best, score = searches[rule](index)
            for n in np.flatnonzero(best >= 0):
                task, guid, listed = names[best[n]]
                hit = Hit(task, guid, 1.0 if score is None else float(score[n]), rule, listed)
                hits[n] = better(hits[n], hit)
        return hits


def better(best: Hit | None, hit: Hit) -> Hit:
    """Return the hit that is reported of two: exact first, then highest score, then lowest task, guid and rule."""
    return min(best, hit, key=_rank) if best is not None else hit


def _rank(hit: Hit) -> tuple[bool, float, str, str, int]:
    return hit.rule != "exact", -hit.score, hit.task, hit.guid, RULES.index(hit.rule)
