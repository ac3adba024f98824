"""The distinct texts of a benchmark: its sentences, and the longer texts that a corpus sentence may be a piece of.

A benchmark is folded once; the letters of a passage are those of its sentences, one after the other.
Legend: N sentences of the benchmark, D distinct texts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from data.benchmark import BenchmarkSentence
from data.decontaminate.criteria import Scope
from data.decontaminate.terms import FoldedText, fold_sentences, hash_lines, take_sentences


class FoldedBenchmark(NamedTuple):
    """A benchmark's sentences by task, guid and place, and their letters."""

    sentences: list[BenchmarkSentence]
    passage_N: NDArray[np.bool_]
    continues_N: NDArray[np.bool_]
    """Whether a sentence continues the passage of the one before it."""
    text: FoldedText


class Sources(NamedTuple):
    """Distinct texts (same words: same text) in the order of their first records; texts without a letter are none."""

    first_D: NDArray[np.int64]
    """Number of the first record's first sentence."""
    end_D: NDArray[np.int64]
    """The number after that of its last sentence."""
    passage_D: NDArray[np.bool_]
    """Whether all records of the text are passages."""
    text: FoldedText


def fold_benchmark(benchmark: list[BenchmarkSentence]) -> FoldedBenchmark:
    """Return the sentences, those of a passage in a row, in order and folded."""
    names = [sentence[:2] for sentence in benchmark]
    passage = np.array([sentence.passage for sentence in benchmark], bool)
    continues = np.zeros(len(benchmark), bool)
    for n in (np.flatnonzero(passage[1:] & passage[:-1]) + 1).tolist():
        continues[n] = names[n] == names[n - 1]
    order = sorted(range(len(benchmark)), key=names.__getitem__)
    sentences = [benchmark[n] for n in order]
    text = fold_sentences([sentence.text for sentence in sentences])
    return FoldedBenchmark(sentences, passage[order], continues[order], text)


def distinct_sentences(benchmark: FoldedBenchmark) -> Sources:
    """Return the benchmark's distinct sentences."""
    return _distinct(benchmark, np.arange(len(benchmark.sentences)), np.ones(len(benchmark.sentences), bool))


def fragment_sources(benchmark: FoldedBenchmark, scope: Scope) -> Sources:
    """Return the texts a corpus sentence may be a piece of: passages joined again; for scope "all" sentences too."""
    first = np.flatnonzero(~benchmark.continues_N)
    return _distinct(benchmark, first, benchmark.passage_N[first] | (scope == "all"))


def _distinct(benchmark: FoldedBenchmark, first: NDArray[np.int64], eligible: NDArray[np.bool_]) -> Sources:
    """Return the distinct ones of the eligible texts, of which each ends where the next begins."""
    bounds = np.append(first, len(benchmark.sentences))
    letters, words = benchmark.text.first_letter_N[bounds], benchmark.text.first_word_N[bounds]
    text = benchmark.text._replace(first_letter_N=letters, first_word_N=words)
    lines = hash_lines(text)
    passage = benchmark.passage_N[first]
    numbers = np.flatnonzero(eligible & (np.diff(letters) > 0))
    chosen = np.zeros(len(first), bool)
    chosen[numbers[np.unique(lines[numbers], return_index=True)[1]]] = True
    in_passages = passage & ~np.isin(lines, lines[~passage])
    return Sources(first[chosen], bounds[1:][chosen], in_passages[chosen], take_sentences(text, chosen))
