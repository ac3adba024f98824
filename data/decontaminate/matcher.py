"""The decontaminator: benchmark sentences in, index out, and for each corpus sentence the best hit or none."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from data.benchmark import BenchmarkSentence
from data.decontaminate.containment import ContainmentIndex, build_containment_index, search_containment
from data.decontaminate.embedded import MIN_WORDS, EmbeddedIndex, build_embedded_index, search_embedded
from data.decontaminate.exact import ExactIndex, build_exact_index, search_exact
from data.decontaminate.fragments import FragmentIndex, build_fragment_index, search_fragments
from data.decontaminate.settings import RULES, DecontaminateSettings, Rule
from data.decontaminate.terms import fold_sentences, hash_bigrams, hash_lines, hash_sentences, hash_words

BATCH = 1024
"""Sentences folded at a time: their letters stay in the cache."""


class Hit(NamedTuple):
    """What a corpus sentence was found to hold."""

    task: str
    guid: str
    score: float
    """Share found: of the benchmark sentence's BM25 weight, or for a fragment of the corpus sentence; 1 for a whole
    benchmark sentence, exact or embedded."""
    rule: Rule


class Source(NamedTuple):
    """A distinct text of the benchmark, with the name of the first record that has it."""

    task: str
    guid: str
    text: str
    passage: bool
    """Whether it occurs in passages only."""


def distinct_sentences(benchmark: list[BenchmarkSentence]) -> list[Source]:
    """Return the benchmark's distinct sentences (same words: same sentence), by task, guid and place.

    Sentences without a letter are left out.
    """
    return _distinct([Source(*sentence) for sentence in benchmark])


def fragment_sources(benchmark: list[BenchmarkSentence], scope: str) -> list[Source]:
    """Return the texts a corpus sentence may be a piece of: passages joined again; for scope "all" sentences too."""
    sources = []
    for (task, guid, passage), run in groupby(benchmark, key=lambda s: (s.task, s.guid, s.passage)):
        if passage:
            sources.append(Source(task, guid, " ".join(sentence.text for sentence in run), True))
        elif scope == "all":
            sources += [Source(*sentence) for sentence in run]
    return _distinct(sources)


def _distinct(sources: list[Source]) -> list[Source]:
    sources = sorted(sources, key=lambda source: (source.task, source.guid))
    text = fold_sentences([source.text for source in sources])
    lines = hash_lines(text)
    single = set(lines[[n for n, source in enumerate(sources) if not source.passage]].tolist())
    _, first = np.unique(lines, return_index=True)
    letters = np.diff(text.first_letter_N)
    found = []
    for n in sorted(first.tolist()):
        if letters[n] > 0:
            source = sources[n]
            found.append(source._replace(passage=False) if source.passage and int(lines[n]) in single else source)
    return found


class Decontaminator:
    """Finds benchmark sentences among corpus sentences; holds arrays only, so it pickles and forks cheaply."""

    def __init__(
        self,
        names: list[tuple[str, str]],
        fragment_names: list[tuple[str, str]],
        exact: ExactIndex | None,
        embedded: EmbeddedIndex | None,
        words: ContainmentIndex | None,
        bigrams: ContainmentIndex | None,
        fragments: FragmentIndex | None,
    ) -> None:
        self._names, self._fragment_names = names, fragment_names
        self._exact, self._embedded = exact, embedded
        self._words, self._bigrams, self._fragments = words, bigrams, fragments

    @classmethod
    def build(cls, benchmark: list[BenchmarkSentence], settings: DecontaminateSettings) -> Decontaminator:
        """Return a decontaminator for the benchmark's sentences; rules that are not in the settings are not indexed."""
        sources = distinct_sentences(benchmark)
        pieces = fragment_sources(benchmark, settings.fragment_scope) if "fragment" in settings.rules else []
        text = fold_sentences([source.text for source in sources])
        exact = embedded = words = bigrams = fragments = None
        passage = np.array([source.passage for source in sources], bool)
        of_passage = settings.exact_min_passage_characters
        if "exact" in settings.rules:
            exact = build_exact_index(text, np.where(passage, of_passage, settings.exact_min_characters))
        if "embedded" in settings.rules:
            shortest = settings.embedded_min_characters
            embedded = build_embedded_index(text, np.where(passage, max(of_passage, shortest), shortest))
        if "words" in settings.rules:
            every = np.ones(len(sources), bool)
            words = build_containment_index(
                hash_words(text), every, settings.threshold, settings.min_words, settings.spread
            )
        if "bigrams" in settings.rules:
            phrase = np.diff(text.first_word_N) >= MIN_WORDS
            bigrams = build_containment_index(
                hash_bigrams(text), phrase, settings.bigram_threshold, settings.min_bigrams, settings.spread
            )
        if pieces:
            folded = fold_sentences([piece.text for piece in pieces])
            fragments = build_fragment_index(folded, settings.fragment_threshold, settings.fragment_min_characters)
        names = [(source.task, source.guid) for source in sources]
        return cls(names, [(piece.task, piece.guid) for piece in pieces], exact, embedded, words, bigrams, fragments)

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
        found: list[tuple[Rule, NDArray[np.int32], NDArray[np.float64] | None, list[tuple[str, str]]]] = []
        if self._exact is not None:
            found.append(("exact", search_exact(self._exact, hash_sentences(text)), None, self._names))
        words = hash_words(text)
        if self._embedded is not None:
            found.append(("embedded", search_embedded(self._embedded, words), None, self._names))
        if self._words is not None:
            found.append(("words", *search_containment(self._words, *words), self._names))
        if self._bigrams is not None:
            found.append(("bigrams", *search_containment(self._bigrams, *hash_bigrams(text)), self._names))
        if self._fragments is not None:
            runs = search_fragments(self._fragments, text.letters_L, text.first_letter_N)
            found.append(("fragment", *runs, self._fragment_names))
        hits: list[Hit | None] = [None] * len(sentences)
        for rule, best, score, names in found:
            for n in np.flatnonzero(best >= 0):
                task, guid = names[best[n]]
                hit = Hit(task, guid, 1.0 if score is None else float(score[n]), rule)
                hits[n] = better(hits[n], hit)
        return hits


def better(one: Hit | None, other: Hit) -> Hit:
    """Return the hit that is reported of two: exact first, then highest score, then lowest task, guid and rule."""
    return min(one, other, key=_rank) if one is not None else other


def _rank(hit: Hit) -> tuple[bool, float, str, str, int]:
    return hit.rule != "exact", -hit.score, hit.task, hit.guid, RULES.index(hit.rule)
