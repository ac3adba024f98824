"""The compiled folding says what the definitions in `normalise` say, for any text."""

from itertools import pairwise
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from data.decontaminate.normalise import folded_words
from data.decontaminate.terms import (
    fold_sentences,
    hash_bigrams,
    hash_lines,
    hash_sentences,
    hash_words,
    take_sentences,
)
from tests.data.decontaminate.oracle import word_bigrams

TEXTS = st.lists(st.one_of(st.text(max_size=30), st.text("가나ab .,\n\t각é́𠀀😀", max_size=20)), max_size=8)


def words_of(text, n: int) -> list[str]:  # type: ignore[no-untyped-def]
    starts = text.word_start_W[text.first_word_N[n] : text.first_word_N[n + 1] + 1]
    return ["".join(map(chr, text.letters_L[a:b])) for a, b in pairwise(starts)]


@settings(max_examples=300)
@given(TEXTS)
def test_words_equal_the_definition(sentences: list[str]) -> None:
    text = fold_sentences(sentences)
    assert len(text.first_letter_N) == len(sentences) + 1
    for n, sentence in enumerate(sentences):
        assert words_of(text, n) == folded_words(sentence)


@settings(max_examples=200)
@given(TEXTS)
def test_hashes_are_equal_where_the_terms_are(sentences: list[str]) -> None:
    text = fold_sentences(sentences)
    words = [folded_words(sentence) for sentence in sentences]
    for terms, strings in ((hash_words(text), words), (hash_bigrams(text), [word_bigrams(w) for w in words])):
        assert np.diff(terms.first_term_N).tolist() == [len(s) for s in strings]
        flat = [term for sentence in strings for term in sentence]
        assert (
            len(set(zip(flat, terms.hash_T.tolist(), strict=True))) == len(set(flat)) == len(set(terms.hash_T.tolist()))
        )
    for hashes, keys in (
        (hash_sentences(text), ["".join(w) for w in words]),
        (hash_lines(text), [" ".join(w) for w in words]),
    ):
        assert len(set(zip(keys, hashes.tolist(), strict=True))) == len(set(keys)) == len(set(hashes.tolist()))


@settings(max_examples=200)
@given(TEXTS, st.randoms(use_true_random=False))
def test_taken_sentences_are_as_if_folded_alone(sentences: list[str], random: Random) -> None:
    chosen = np.array([random.random() < 0.5 for _ in sentences], bool)
    alone = fold_sentences([sentence for sentence, take in zip(sentences, chosen, strict=True) if take])
    for ours, theirs in zip(take_sentences(fold_sentences(sentences), chosen), alone, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.tolist() == theirs.tolist()
