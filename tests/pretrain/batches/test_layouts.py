"""Layouts: no token dropped or doubled, whatever the kind and the sizes; documents apart where they should be."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pretrain.batches.layouts import contiguous, doc_sentences, full_sentences
from pretrain.batches.packing import packed

DOCUMENTS = st.lists(st.lists(st.integers(1, 40), min_size=1, max_size=6), min_size=1, max_size=30)
"""Documents as the sizes of their sentences."""


def offsets(documents: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return sentence and document offsets of a shard; each document has a [SEP] behind its last sentence."""
    sizes = [[*document[:-1], document[-1] + 1] for document in documents]
    sentences = np.cumsum([0, *[size for document in sizes for size in document]])
    return sentences, np.cumsum([0, *map(sum, sizes)])


@settings(max_examples=200)
@given(DOCUMENTS, st.integers(8, 60))
def test_documents_apart_hold_every_token_once_and_fit(documents: list[list[int]], length: int) -> None:
    sentences, ends = offsets(documents)
    separators = set(ends[1:] - 1)
    for layout in (packed(ends, length), doc_sentences(sentences, ends, length)):
        seen: list[int] = []
        for sample in range(len(layout)):
            spans = layout.spans(sample)
            assert len(spans) and (spans[:, 1] - spans[:, 0] + 2).sum() <= length
            for start, end in spans:
                assert end > start and not separators & set(range(start, end))
                seen += range(start, end)
        assert sorted(seen) == sorted(set(range(ends[-1])) - separators)
        assert layout.lengths.sum() == len(seen) + 2 * sum(len(layout.spans(n)) for n in range(len(layout)))


@settings(max_examples=100)
@given(DOCUMENTS, st.integers(8, 60))
def test_only_what_is_longer_than_a_sample_is_cut(documents: list[list[int]], length: int) -> None:
    sentences, ends = offsets(documents)
    pieces = np.concatenate([packed(ends, length).spans(n) for n in range(len(packed(ends, length)))])
    inner = set(pieces[:, 0]) - set(ends)  # pieces that begin inside a document
    for start in inner:
        document = np.searchsorted(ends, start, side="right") - 1
        assert ends[document + 1] - 1 - ends[document] > length - 2
        assert (start - ends[document]) % (length - 2) == 0
    whole = np.concatenate([doc_sentences(sentences, ends, length).spans(n) for n in range(len(pieces))
                            if n < len(doc_sentences(sentences, ends, length))])  # fmt: skip
    for start in set(whole[:, 0]) - set(sentences):
        sentence = np.searchsorted(sentences, start, side="right") - 1
        assert sentences[sentence + 1] - sentences[sentence] > length - 2


def slow_best_fit(sizes: list[int], length: int) -> list[int]:
    """The oracle: longest first, each into the fullest sample that has room."""
    left: list[int] = []
    for size in sorted(sizes, reverse=True):
        fits = [n for n, room in enumerate(left) if room >= size]
        if not fits:
            left.append(length)
            fits = [len(left) - 1]
        best = min(fits, key=lambda n: left[n])
        left[best] -= size
    return left


@settings(max_examples=200)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(8, 40))
def test_packing_is_best_fit(sizes: list[int], length: int) -> None:
    _, ends = offsets([[size] for size in sizes])
    layout = packed(ends, length)
    pieces = [int(n) for n in layout.lengths]
    left = [length - int((layout.spans(n)[:, 1] - layout.spans(n)[:, 0] + 2).sum()) for n in range(len(layout))]
    assert sorted(left) == sorted(slow_best_fit(pieces, length))


@settings(max_examples=50)
@given(DOCUMENTS, st.integers(8, 60))
def test_running_text_is_held_once(documents: list[list[int]], length: int) -> None:
    sentences, ends = offsets(documents)
    for layout in (contiguous(int(ends[-1]), length), full_sentences(sentences, length)):
        spans = [layout.spans(n)[0] for n in range(len(layout))]
        assert spans[0][0] == 0 and spans[-1][1] == ends[-1]
        assert all(first[1] == second[0] for first, second in pairwise(spans))
        assert (layout.lengths <= length).all() and (layout.lengths > 2).all()
