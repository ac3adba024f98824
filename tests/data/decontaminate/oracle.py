"""The slow oracle: the same decisions as the matcher, from the definitions, with strings and plain loops.

It shares with the matcher the folding of a character, the rounding of a weight and the order of hits, and nothing
else: no hashes, no index, no filter. Cost: corpus sentences × benchmark sentences.
"""

from collections import Counter
from itertools import groupby
from math import ceil

import numpy as np

from data.benchmark import BenchmarkSentence
from data.decontaminate.bm25 import bm25_weights, inverse_frequency
from data.decontaminate.criteria import Criteria, Rule
from data.decontaminate.matcher import Hit, better
from data.decontaminate.normalise import folded_words


class Oracle:
    """Finds the best hit of a corpus sentence by comparing it with every benchmark sentence."""

    def __init__(self, benchmark: list[BenchmarkSentence], criteria: Criteria) -> None:
        self._criteria = criteria
        self._records: dict[tuple[str, ...], list[BenchmarkSentence]] = {}
        for sentence in sorted(benchmark, key=lambda sentence: sentence[:2]):
            words = tuple(folded_words(sentence.text))
            if words:
                self._records.setdefault(words, []).append(sentence)
        self._words = weigh_sentences([list(words) for words in self._records])
        self._bigrams = weigh_sentences([word_bigrams(list(words)) for words in self._records])
        pieces: list[tuple[str, str, str]] = []
        for (task, guid, passage), run in groupby(benchmark, key=lambda s: (s.task, s.guid, s.passage)):
            texts = [sentence.text for sentence in run]
            if passage or criteria.fragment_scope == "all":
                pieces += [(task, guid, text) for text in ([" ".join(texts)] if passage else texts)]
        self._pieces: dict[str, tuple[str, str, str]] = {}
        for name in sorted(pieces, key=lambda name: name[:2]):
            self._pieces.setdefault("".join(folded_words(name[2])), name)

    def match(self, sentences: list[str]) -> list[Hit | None]:
        """Return the best hit of each sentence, or None."""
        return [self._match(folded_words(sentence)) for sentence in sentences]

    def _match(self, words: list[str]) -> Hit | None:
        criteria, best = self._criteria, None
        bigrams = word_bigrams(words)
        for number, (text, records) in enumerate(self._records.items()):
            task, guid, written = records[0][:3]
            scores: list[tuple[Rule, float]] = []
            if self._is_exact("".join(words), "".join(text), records):
                scores.append(("exact", 1.0))
            if self._is_embedded(words, list(text), records):
                scores.append(("embedded", 1.0))
            short = syllables("".join(text)) < criteria.short_syllables
            weights = self._words[number]
            if len(weights) >= criteria.min_words:
                window = ceil(round(criteria.spread * 1000) * len(text) / 1000)
                if not short or explained(words, weights, criteria.threshold, window):
                    scores.append(("words", contained_share(words, weights, criteria.threshold, window)))
            weights = self._bigrams[number]
            if len(weights) >= criteria.min_bigrams and len(text) >= 2:
                window = ceil(round(criteria.spread * 1000) * len(word_bigrams(list(text))) / 1000)
                if not short or explained(bigrams, weights, criteria.bigram_threshold, window):
                    scores.append(("bigrams", contained_share(bigrams, weights, criteria.bigram_threshold, window)))
            for rule, score in scores:
                if score > 0 and rule in criteria.rules:
                    best = better(best, Hit(task, guid, score, rule, written))
        if "fragment" in criteria.rules:
            for piece, (task, guid, written) in self._pieces.items():
                score = fragment_share("".join(words), piece, criteria)
                if score > 0:
                    best = better(best, Hit(task, guid, score, "fragment", written))
        return best

    def _is_exact(self, query: str, text: str, records: list[BenchmarkSentence]) -> bool:
        criteria = self._criteria
        only_passages = all(record.passage for record in records)
        shortest = criteria.exact_min_passage_characters if only_passages else criteria.exact_min_characters
        return query == text and len(text) >= shortest

    def _is_embedded(self, query: list[str], text: list[str], records: list[BenchmarkSentence]) -> bool:
        criteria = self._criteria
        shortest = criteria.embedded_min_characters
        if all(record.passage for record in records):
            shortest = max(shortest, criteria.exact_min_passage_characters)
        starts = range(len(query) - len(text) + 1)
        long_enough = len(text) >= 2 and len("".join(text)) >= shortest
        return long_enough and any(query[i : i + len(text)] == text for i in starts)


def weigh_sentences(sentences: list[list[str]]) -> list[dict[str, int]]:
    """Return term → integer BM25 weight for each sentence."""
    frequency = Counter(term for sentence in sentences for term in set(sentence))
    mean = sum(map(len, sentences)) / len(sentences) if sentences else 1.0
    weighed = []
    for sentence in sentences:
        counts = Counter(sentence)
        weights = bm25_weights(
            np.array(list(counts.values()), np.int64),
            inverse_frequency(np.array([frequency[term] for term in counts], np.int64), len(sentences)),
            np.full(len(counts), len(sentence), np.int64),
            mean,
        )
        weighed.append(dict(zip(counts, weights.tolist(), strict=True)))
    return weighed


def least_of(total: int, threshold: float) -> int:
    return max(-(-round(threshold * 1_000_000) * total // 1_000_000), 1)


def contained_share(terms: list[str], weights: dict[str, int], threshold: float, window: int) -> float:
    """Return the greatest share of the weights inside one window of the terms, or 0 when it is below the threshold."""
    total = sum(weights.values())
    if sum(weights[term] for term in weights.keys() & set(terms)) < least_of(total, threshold):
        return 0.0
    windows = (set(terms[i : i + window]) for i in range(max(len(terms) - window, 0) + 1))
    contained = max(sum(weights[term] for term in weights.keys() & inside) for inside in windows)
    return contained / total if contained >= least_of(total, threshold) else 0.0


def syllables(text: str) -> float:
    """Return the length of a text in which a letter that is no syllable counts a third."""
    return sum(3 if ord(letter) >= 0x3400 else 1 for letter in text) // 3


def explained(terms: list[str], weights: dict[str, int], threshold: float, window: int) -> bool:
    """Return whether the terms fit into the window and the threshold's share of them is among those with a weight."""
    shared = sum(term in weights for term in terms)
    return len(terms) <= window and shared * 1_000_000 >= round(threshold * 1_000_000) * len(terms)


def fragment_share(query: str, text: str, criteria: Criteria) -> float:
    """Return the share of `query` in its longest run common with `text`, or 0 when too short."""
    need = max(criteria.fragment_min_characters, least_of(len(query), criteria.fragment_threshold))
    longest = 0
    for start in range(len(query) - need + 1):
        length = max(need, longest + 1)
        while start + length <= len(query) and query[start : start + length] in text:
            if distinct_syllables(query[start : start + length]) >= criteria.fragment_min_syllables:
                longest = length
            length += 1
    return longest / len(query) if longest else 0.0


def distinct_syllables(run: str) -> float:
    """Return the length of a run in which each pair of letters counts once, by what its second letter is."""
    pairs = {run[i : i + 2] for i in range(len(run) - 1)}
    return sum(3 if ord(pair[1]) >= 0x3400 else 1 for pair in pairs) / 3


def word_bigrams(words: list[str]) -> list[str]:
    """Return the pairs of neighbouring characters inside words, with repetitions, in order."""
    return [word[i : i + 2] for word in words for i in range(len(word) - 1)]
