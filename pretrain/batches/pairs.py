"""Sentence pairs for next-sentence prediction, planned once as in the original BERT and kept on disk.

A pair is two texts of whole sentences, A and B. In half of the pairs B is what follows A; in the others it is from
another document, and what would have followed A goes into the next pair (Devlin et al. 2019, appendix A.2; the
procedure is that of the published code). Where that code cuts what is too long, this one ends the pair a sentence
earlier, and halves a sentence that would fill a sample: no token is left out of a copy of the corpus.

Shapes: D documents of a shard, N pairs.
"""

from __future__ import annotations

import json
from pathlib import Path

import numba
import numpy as np

from common.arrays import map_array, save_array
from common.files import atomic_write
from pretrain.batches.layouts import Parts, sums_of
from pretrain.batches.random_numbers import GOLDEN, below, key_of, mix, next_bits, unit
from tokenizer.shards import TokenShards

RANDOM_SHARE = 0.5
"""Share of pairs with a random second text; pairs of which nothing follows the first come on top."""
SHORT_SHARE = 0.1
"""Share of pairs of a random shorter length, so that fine-tuning meets no length for the first time."""
MOST_HELD_OUT = 0.1
"""Share of the documents that can be held out."""
OWN_SHARE = 0.5
"""Share of a sample, about, that is text of the document it is made for: a random second text is another's."""


class Pairs:
    """The pairs of a shard in one copy of the corpus; `plan_N4` has first token and end of A, then of B, int64."""

    apart = False

    def __init__(self, plan_N4: np.ndarray, sums: tuple[int, int]) -> None:
        self._plan, self.sums = plan_N4, sums

    def __len__(self) -> int:
        return len(self._plan)

    def spans(self, sample: int) -> np.ndarray:
        return np.asarray(self._plan[sample]).reshape(2, 2)

    def every_span(self) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(self._plan).reshape(-1, 2), np.arange(0, 2 * len(self) + 1, 2)


def plan_pairs(shards: TokenShards, folder: Path, length: int, copies: int, held_out: float, seed: int) -> None:
    """Write the pairs of a run into `folder`, a function of these arguments; files that are there already stay.

    `held_out` is about the number of validation pairs; they are of a tenth of the documents at most. Where the corpus
    holds out shards, they are the pairs of these shards, and `held_out` does not count.
    """
    folder.mkdir(parents=True, exist_ok=True)
    share = min(MOST_HELD_OUT, held_out * length * OWN_SHARE / max(1, shards.total_tokens))
    apart = not all(shards.copies(shard) for shard in range(len(shards.shards)))
    for shard in range(len(shards.shards)):
        sentences = np.asarray(shards.sentences(shard))
        documents = np.asarray(shards.documents(shard))
        if apart:
            held_D = np.full(len(documents) - 1, shards.copies(shard) == 0)
        else:
            held_D = _held_out(len(documents) - 1, key_of(seed, 5, shard), share)
        for copy in range(copies):
            key = key_of(seed, 6, copy, shard)
            _write(folder / _name("training", copy, shard), sentences, documents, ~held_D, length, key)
        _write(folder / _name("validation", 0, shard), sentences, documents, held_D, length, key_of(seed, 7, shard))


def read_pairs(shards: TokenShards, folder: Path, copies: int) -> tuple[Parts, Parts]:
    """Return the pairs of training and of validation that `plan_pairs` wrote, mapped into memory: `SampleSet` parts."""
    every = range(len(shards.shards))
    training: Parts = [
        (shard, _read(folder / _name("training", copy, shard))) for copy in range(copies) for shard in every
    ]
    return training, [(shard, _read(folder / _name("validation", 0, shard))) for shard in every]


def _name(part: str, copy: int, shard: int) -> str:
    return f"{part}-{copy:03d}-{shard:05d}.npy"


def _held_out(documents: int, key: int, share: float) -> np.ndarray:
    """Return which documents are held out, (D,) bool: each by its own draw."""
    with np.errstate(over="ignore"):
        draws = mix(np.uint64(key) + np.arange(documents, dtype=np.uint64) * GOLDEN)
    return draws < np.uint64(share * 2.0**63) * np.uint64(2)


def _write(
    path: Path, sentences: np.ndarray, documents: np.ndarray, selected_D: np.ndarray, length: int, key: int
) -> None:
    if not path.exists():
        plan_N4 = draw_pairs(sentences, documents, selected_D, length - 3, np.uint64(key), RANDOM_SHARE, SHORT_SHARE)
        lengths_N = plan_N4[:, 1] - plan_N4[:, 0] + plan_N4[:, 3] - plan_N4[:, 2] + 3  # [CLS] A [SEP] B [SEP]
        with atomic_write(path.with_suffix(".json")) as text:  # so that a run that resumes need not read the plan
            json.dump(sums_of(lengths_N), text)
        save_array(path, plan_N4)


def _read(path: Path) -> Pairs:
    positions, squares = json.loads(path.with_suffix(".json").read_bytes())
    return Pairs(map_array(path), (positions, squares))


@numba.njit(cache=True)
def _segments(sentences, first_sentence, start, end, longest):  # type: ignore[no-untyped-def]
    """Return the sentences of a document as offsets, its end last; long ones in even parts of at most `longest`."""
    offsets = np.empty(1 + (end - start), np.int64)
    offsets[0] = start
    count = 1
    sentence = first_sentence
    while offsets[count - 1] < end:
        sentence += 1
        stop = min(sentences[sentence], end)
        begin = offsets[count - 1]
        parts = (stop - begin + longest - 1) // longest
        for part in range(1, parts + 1):
            offsets[count] = begin + (stop - begin) * part // parts
            count += 1
    return offsets[:count]


@numba.njit(cache=True)
def draw_pairs(sentences, documents, selected_D, room, key, random_share, short_share):  # type: ignore[no-untyped-def]
    """Return the pairs of the selected documents of a shard, int64 (N, 4): first token and end of A, and of B.

    Sentences and documents are int64 offsets of first tokens, and the end; each document ends with its [SEP]. `room` is
    the most tokens of a pair, at least 2; `short_share` the share of pairs that end at a random smaller size.
    """
    selected = np.flatnonzero(selected_D & (np.diff(documents) > 1))  # [SEP] alone is no text
    first_sentences = np.searchsorted(sentences, documents[:-1])
    pairs = np.empty((1024, 4), np.int64)
    count = 0
    state = key
    for place in range(len(selected)):
        document = selected[place]
        offsets = _segments(
            sentences, first_sentences[document], documents[document], documents[document + 1] - 1, room // 2
        )
        here = 0
        while here < len(offsets) - 1:
            target = room
            state, bits = next_bits(state)
            if unit(bits) < short_share:
                state, bits = next_bits(state)
                target = 2 + below(bits, room - 1)
            after = here + 1
            while (
                after < len(offsets) - 1
                and offsets[after] - offsets[here] < target
                and offsets[after + 1] - offsets[here] <= room
            ):
                after += 1
            middle = here + 1
            if after - here > 2:
                state, bits = next_bits(state)
                middle = here + 1 + below(bits, after - here - 1)
            if count == len(pairs):
                grown = np.empty((2 * count, 4), np.int64)
                grown[:count] = pairs
                pairs = grown
            pairs[count, 0] = offsets[here]
            pairs[count, 1] = offsets[middle]
            state, bits = next_bits(state)
            if after - here > 1 and unit(bits) >= random_share:
                pairs[count, 2] = offsets[middle]
                pairs[count, 3] = offsets[after]
                here = after
            else:
                second = place
                if len(selected) > 1:  # else there is no other document, and B is from this one
                    state, bits = next_bits(state)
                    second = below(bits, len(selected) - 1)
                    second += second >= place
                second_document = selected[second]
                begin = documents[second_document]
                end = documents[second_document + 1] - 1
                most = room - (offsets[middle] - offsets[here])
                least = target - (offsets[middle] - offsets[here])
                first = first_sentences[second_document]
                last = np.searchsorted(sentences, end)  # the sentences of a document lie before its end
                state, bits = next_bits(state)
                sentence = first + below(bits, last - first)
                begin = sentences[sentence]
                stop = min(sentences[sentence + 1], end)
                while stop < end and stop - begin < least:
                    sentence += 1
                    stop = min(sentences[sentence + 1], end)
                pairs[count, 2] = begin
                pairs[count, 3] = min(stop, begin + most)
                here = middle
            count += 1
    return pairs[:count].copy()
