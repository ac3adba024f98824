"""A character n-gram model as a file and as a table that compiled code reads: the perplexity of documents.

The file is safetensors: `vocabulary` (folded code points), `keys` and `values`, with facts in its metadata. A key holds
up to five symbols of 12 bits, the last one lowest, and above them what it stands for: 1 to 5 an n-gram of that order,
whose value is the natural logarithm of its probability; 8 to 12 a context of 0 to 4 symbols, whose value is the
logarithm of the weight of the next lower order. Keys are sorted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from common.errors import UserError
from common.files import atomic_write
from data.filters.batch import mix
from data.filters.symbol_table import BEGIN, BITS, SPACE, symbol_table

KIND = "hunmin perplexity 1"
KIND_SHIFT, CONTEXT = 60, 8
LOAD = 0.6
"""Share of the table's places that are taken."""


@dataclass(frozen=True)
class NgramModel:
    """A model, ready to score.

    Args:
        facts: order, documents and characters it was trained on, quantiles of held-out documents.
        symbols: uint16 [0x110000], see `symbol_table`.
        keys: uint64, a power of two of places: key + 1, or 0 where a place is empty.
        values: float32, of the same places.
    """

    facts: dict[str, Any]
    symbols: NDArray[np.uint16]
    keys: NDArray[np.uint64]
    values: NDArray[np.float32]

    def perplexities(self, codes: NDArray[np.uint32], borders: NDArray[np.int64], least: int) -> NDArray[np.float64]:
        """Return the perplexity of a character of each document [D]; NaN of those with fewer than `least` symbols.

        `codes` [C] are code points, `borders` [D + 1] where documents begin; a run of blanks is one symbol.
        """
        space = self.symbols[SPACE]
        return _perplexities(
            codes, borders, self.symbols, space, self.keys, self.values, int(self.facts["order"]), least
        )


def save_ngrams(
    path: Path,
    facts: dict[str, Any],
    vocabulary: NDArray[np.uint32],
    keys: NDArray[np.uint64],
    values: NDArray[np.float32],
) -> None:
    """Write a model file, atomically; equal arguments give equal bytes."""
    arrays: dict[str, NDArray[Any]] = {"vocabulary": vocabulary, "keys": keys, "values": values}
    write_model(path, KIND, facts, arrays)


def load_ngrams(path: Path) -> NgramModel:
    """Return the model of a file.

    Raises:
        UserError: it is missing, or no such model.
    """
    facts, arrays = read_model(path, KIND, "hunmin corpus train-perplexity")
    return made_ready(facts, arrays["vocabulary"], arrays["keys"], arrays["values"])


def write_model(path: Path, kind: str, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write a model file of a kind, atomically; equal arguments give equal bytes."""
    from safetensors.numpy import save

    # one entry: several would stand in any order
    metadata = {"model": json.dumps({"kind": kind, "facts": facts}, sort_keys=True)}
    with atomic_write(path, "wb") as stream:
        stream.write(save(arrays, metadata))


def read_model(path: Path, kind: str, command: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the facts and the arrays of a model file of a kind.

    Raises:
        UserError: it is missing, damaged, or of another kind.
    """
    from safetensors import SafetensorError, safe_open

    rule = f"a model is a file that `{command}` has written"
    if not path.is_file():
        raise UserError(f"there is no model at {path}", rule, "train it, or mend the path in corpus.filters")
    try:
        with safe_open(str(path), "np") as opened:
            model = json.loads((opened.metadata() or {})["model"])
            if model["kind"] != kind:
                raise UserError(f"{path} is no model of this filter but '{model['kind']}'", rule, "name the other one")
            names = opened.keys()
            return model["facts"], {name: opened.get_tensor(name) for name in names}
    except (SafetensorError, ValueError, KeyError) as error:
        raise UserError(f"{path} is damaged, or no model: {error}", rule, "train it again") from None


def made_ready(
    facts: dict[str, Any], vocabulary: NDArray[np.uint32], keys: NDArray[np.uint64], values: NDArray[np.float32]
) -> NgramModel:
    """Return a model from what its file holds."""
    places = 1 << int(len(keys) / LOAD).bit_length()
    table, found = np.zeros(places, np.uint64), np.zeros(places, np.float32)
    _fill(table, found, keys, values)
    return NgramModel(facts, symbol_table(vocabulary), table, found)


@njit(cache=True, nogil=True)
def _fill(table, found, keys, values):  # type: ignore[no-untyped-def]
    mask = np.uint64(len(table) - 1)
    for number in range(len(keys)):
        key = keys[number] + np.uint64(1)
        place = mix(key) & mask
        while table[place]:
            place = (place + np.uint64(1)) & mask
        table[place] = key
        found[place] = values[number]


@njit(cache=True, nogil=True, inline="always")
def _place_of(key: np.uint64, table: NDArray[np.uint64], mask: np.uint64) -> np.int64:
    """Return the place of a key, −1 where it is not there."""
    key = key + np.uint64(1)
    place = mix(key) & mask
    while table[place]:
        if table[place] == key:
            return np.int64(place)
        place = (place + np.uint64(1)) & mask
    return np.int64(-1)


@njit(cache=True, nogil=True)
def _log_probability(history: np.uint64, table: NDArray[np.uint64], values: NDArray[np.float32], order: int) -> float:
    """Return log P(last symbol | those before it) of the packed symbols of a history, by backing off."""
    mask = np.uint64(len(table) - 1)
    found = 0.0
    for n in range(order, 0, -1):
        symbols = history & ((np.uint64(1) << np.uint64(BITS * n)) - np.uint64(1))
        place = _place_of((np.uint64(n) << np.uint64(KIND_SHIFT)) | symbols, table, mask)
        if place >= 0:
            return found + values[place]
        context = (np.uint64(CONTEXT + n - 1) << np.uint64(KIND_SHIFT)) | (symbols >> np.uint64(BITS))
        place = _place_of(context, table, mask)
        if place >= 0:
            found += values[place]
    return found  # the context of no symbols has the weight of a character never seen


@njit(cache=True, nogil=True)
def _perplexities(codes, borders, symbols, space, table, values, order, least):  # type: ignore[no-untyped-def]
    result = np.full(len(borders) - 1, np.nan)
    whole = (np.uint64(1) << np.uint64(BITS * order)) - np.uint64(1)
    for document in range(len(borders) - 1):
        history = np.uint64(BEGIN)
        total, count, blank = 0.0, 0, True  # blanks before the first character count for nothing
        for place in range(borders[document], borders[document + 1]):
            symbol = symbols[codes[place]]
            if symbol == space:
                blank = True
                continue
            if blank and count:
                history = ((history << np.uint64(BITS)) | np.uint64(space)) & whole
                total += _log_probability(history, table, values, order)
                count += 1
            blank = False
            history = ((history << np.uint64(BITS)) | np.uint64(symbol)) & whole
            total += _log_probability(history, table, values, order)
            count += 1
        if count >= max(least, 1):
            result[document] = np.exp(-total / count)
    return result
