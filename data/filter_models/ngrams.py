"""Training of the character model: interpolated Kneser-Ney smoothing over packed n-grams, by sorting alone.

P_n(w | h) = max(a(hw) − D_n, 0) / a(h·) + γ(h) · P_{n−1}(w | h'), where a is how often hw was seen at the highest order
and before how many different symbols it was seen below it (Kneser and Ney 1995; Chen and Goodman 1999, section 4.1.6),
D_n = n1 / (n1 + 2 · n2), and γ(h) is what the discounts, and n-grams too rare to be kept, leave. P_0 is uniform.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.errors import UserError
from data.filters.batch import Batch
from data.filters.ngram_model import CONTEXT, KIND_SHIFT, NgramModel, made_ready
from data.filters.symbol_table import BITS, FIRST, MOST_CHARACTERS, SPACE, folded, symbol_table
from data.readers.records import Document

ORDER = 5
KEPT_FROM = (1, 1, 2, 2, 2)
"""How often n-grams of order 1, 2, … must have been seen to be kept; what is dropped is left to the orders below."""
HELD_OUT_EVERY = 20
"""Every such document is not trained on: what its perplexity is shows what the model gives texts of its kind."""
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999)
LEAST = 50
"""Symbols of a document from which its perplexity means something."""
FEWEST_DOCUMENTS = 100


class Estimated(NamedTuple):
    """What a model file holds."""

    facts: dict[str, Any]
    vocabulary: NDArray[np.uint32]
    keys: NDArray[np.uint64]
    values: NDArray[np.float32]

    def ready(self) -> NgramModel:
        """Return the model, ready to score."""
        return made_ready(*self)


def train_ngrams(texts: list[str]) -> Estimated:
    """Return a model of cleaned texts; its facts hold the quantiles of the perplexity of documents held out.

    Raises:
        UserError: there are too few.
    """
    if len(texts) < FEWEST_DOCUMENTS:
        raise UserError(
            f"{len(texts)} documents are too few to train a model",
            f"it takes {FEWEST_DOCUMENTS} at least, and some megabytes of text to be of use",
            "give more texts",
        )
    training = [text for number, text in enumerate(texts) if number % HELD_OUT_EVERY]
    held_out = texts[::HELD_OUT_EVERY]
    found = estimate(training)
    batch = Batch([Document("", "", "", "")] * len(held_out), held_out)
    values = found.ready().perplexities(batch.codes, batch.borders, LEAST)
    values = values[~np.isnan(values)]
    quantiles = {str(q): round(float(np.quantile(values, q)), 3) for q in QUANTILES} if len(values) else {}
    facts = {**found.facts, "held_out": len(values), "quantiles": quantiles}
    return found._replace(facts=facts)


def estimate(texts: list[str], order: int = ORDER, kept_from: tuple[int, ...] = KEPT_FROM) -> Estimated:
    """Return a model of all of these texts, of order 1 to 5.

    `kept_from` is never falling, so that what an n-gram is made of is kept with it.
    """
    codes = [_single_blanks(folded(_codes(text))) for text in texts]
    codes = [one for one in codes if len(one)]
    whole = np.concatenate(codes) if codes else np.zeros(0, np.uint32)
    vocabulary = _vocabulary(whole)
    symbols = symbol_table(vocabulary)[whole].astype(np.uint64)
    starts = np.concatenate(([0], np.cumsum([len(one) for one in codes])))[:-1]
    keys, counts = np.unique(_packed(symbols, starts, order), return_counts=True)
    levels = _levels(keys, counts.astype(np.int64), order)
    every = 1 / (len(vocabulary) + FIRST - 1)  # and the unknown one
    lower, parts = _Lower(np.zeros(1, np.uint64), np.array([every])), []
    for n in range(1, order + 1):
        lower, level_parts = _probabilities(levels[n], lower, n, kept_from[n - 1])
        parts += level_parts
    found = np.concatenate([part[0] for part in parts])
    order_of_keys = np.argsort(found)
    values = np.concatenate([part[1] for part in parts]).astype(np.float32)
    facts = {"order": order, "documents": len(codes), "characters": len(whole), "vocabulary": len(vocabulary)}
    return Estimated(facts, vocabulary, found[order_of_keys], values[order_of_keys])


class _Level(NamedTuple):
    """The n-grams of one order, sorted."""

    keys: NDArray[np.uint64]
    raw: NDArray[np.int64]
    """How often each was seen."""
    adjusted: NDArray[np.int64]
    """What is estimated from; see the top of the file."""


class _Lower(NamedTuple):
    """Probabilities of the order below."""

    keys: NDArray[np.uint64]
    values: NDArray[np.float64]


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _single_blanks(codes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return codes with one space for a run of them, and none at the ends."""
    blank = codes == SPACE
    kept = codes[~(blank & np.concatenate(([True], blank[:-1])))] if len(codes) else codes
    return kept[:-1] if len(kept) and kept[-1] == SPACE else kept


def _vocabulary(codes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the most frequent characters, the more frequent first; the space is always one of them."""
    found, counts = np.unique(codes, return_counts=True)
    counts[found == SPACE] = len(codes) + 1
    if SPACE not in found:
        found, counts = np.append(found, np.uint32(SPACE)), np.append(counts, len(codes) + 1)
    return found[np.lexsort((found, -counts))][:MOST_CHARACTERS].astype(np.uint32)


def _packed(symbols: NDArray[np.uint64], starts: NDArray[np.int64], order: int) -> NDArray[np.uint64]:
    """Return for each symbol the key of the `order` symbols that end with it; before a document stands BEGIN (0)."""
    keys = symbols.copy()
    since = np.arange(len(symbols)) - np.repeat(starts, np.diff(np.append(starts, len(symbols))))
    for back in range(1, order):
        before = np.zeros(len(symbols), np.uint64)
        before[back:] = symbols[: max(len(symbols) - back, 0)]
        before[since < back] = 0
        keys |= before << np.uint64(BITS * back)
    return keys


def _levels(keys: NDArray[np.uint64], counts: NDArray[np.int64], order: int) -> dict[int, _Level]:
    levels = {order: _Level(keys, counts, counts)}
    for n in range(order - 1, 0, -1):
        above = levels[n + 1]
        suffixes = above.keys & np.uint64((1 << BITS * n) - 1)
        found, place = np.unique(suffixes, return_inverse=True)
        different = np.bincount(place, minlength=len(found))
        raw = np.bincount(place, above.raw, len(found)).astype(np.int64)
        # nothing stands before the beginning of a document, so how often is all there is to count
        begins = found >> np.uint64(BITS * (n - 1)) == 0
        levels[n] = _Level(found, raw, np.where(begins, raw, different))
    return levels


def _probabilities(
    level: _Level, lower: _Lower, n: int, kept_from: int
) -> tuple[_Lower, list[tuple[NDArray[np.uint64], NDArray[np.float64]]]]:
    """Return the probabilities of an order, and its entries of the table: n-grams and contexts."""
    ones, twos = int((level.adjusted == 1).sum()), int((level.adjusted == 2).sum())
    discount = ones / (ones + 2 * twos) if ones and twos else 0.5
    contexts, place = np.unique(level.keys >> np.uint64(BITS), return_inverse=True)
    sums = np.bincount(place, level.adjusted, len(contexts))
    kept = level.raw >= kept_from
    share = np.where(kept, (level.adjusted - discount) / sums[place], 0)
    weights = 1 - np.bincount(place, share, len(contexts))
    shorter = level.keys[kept] & np.uint64((1 << BITS * (n - 1)) - 1)
    below = lower.values[np.searchsorted(lower.keys, shorter)]
    values = share[kept] + weights[place[kept]] * below
    entries = (level.keys[kept] | np.uint64(n << KIND_SHIFT), np.log(values))
    used = np.bincount(place[kept], minlength=len(contexts)) > 0
    backoff = np.log(weights[used]) + (np.log(lower.values[0]) if n == 1 else 0)
    context_entries = (contexts[used] | np.uint64(CONTEXT + n - 1 << KIND_SHIFT), backoff)
    return _Lower(level.keys[kept], values), [entries, context_entries]
