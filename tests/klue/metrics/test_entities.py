import warnings
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score as seqeval_f1
from seqeval.scheme import IOB2, Tokens
from sklearn.metrics import f1_score

from klue.metrics.entities import LABELS, entity_spans, weighted_entity_scores
from tests.klue.once import once

# few labels, so that entities agree now and then
FEW = ("B-PS", "I-PS", "B-LC", "I-LC", "O")


def sentence_pairs(labels):
    def pair(length):
        sentence = st.lists(st.sampled_from(labels), min_size=length, max_size=length)
        return st.tuples(sentence, sentence)

    return st.lists(st.integers(0, 8).flatmap(pair), min_size=1, max_size=5)


def with_boundaries(sentences):
    return [*chain.from_iterable(["O", *sentence, "O"] for sentence in sentences)]


@settings(max_examples=40)
@given(st.lists(st.sampled_from(FEW), max_size=12))
def test_entity_spans_equal_seqeval(labels):
    expected = [(entity.start, entity.end, entity.tag) for entity in Tokens(labels, IOB2).entities]
    assert entity_spans(labels) == expected


def scored(*sides):
    return once(weighted_entity_scores)(*([sentence.split() for sentence in side] for side in sides))


@settings(max_examples=40)
@given(st.one_of(sentence_pairs(FEW), sentence_pairs(LABELS)))
def test_scores_equal_those_of_seqeval_and_sklearn(pairs):
    """The authors read all sentences as one, with an O on each side of every sentence."""
    gold, found = zip(*pairs, strict=True)
    flat, inner = (with_boundaries(gold), with_boundaries(found)), ([*chain(*gold)], [*chain(*found)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = {
            "entity_macro_f1": seqeval_f1(*([side] for side in flat), average="macro", mode="strict", scheme=IOB2),
            "character_macro_f1": f1_score(*flat, labels=LABELS, average="macro", zero_division=True),
            "character_macro_f1_without_o": inner[0]
            and f1_score(*inner, labels=LABELS[:-1], average="macro", zero_division=0),
        }
    wanted = {name: 100 * (value or 0) for name, value in wanted.items()}
    assert once(weighted_entity_scores)(gold, found) == pytest.approx(wanted, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize(
    ("gold", "found", "message"),
    [
        (["O", "O O"], ["O", "O"], "example 1: 2 gold values and 1 predicted"),
        (["O"], ["B-XX"], "'B-XX' is not a label"),
    ],
)
def test_wrong_input(gold, found, message):
    with pytest.raises(ValueError, match=message):
        scored(gold, found)
