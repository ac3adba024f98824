import math
import warnings
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score as seqeval_f1
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import IOB2, Tokens
from sklearn.metrics import f1_score

from klue.metrics.entities import (
    LABELS,
    character_macro_f1,
    character_macro_f1_without_o,
    entity_macro_f1,
    entity_spans,
)

METRICS = (entity_macro_f1, character_macro_f1, character_macro_f1_without_o)
# few labels, so that entities agree now and then
FEW = ("B-PS", "I-PS", "B-LC", "I-LC", "O")


def sentence_pairs(labels):
    def pair(length):
        sentence = st.lists(st.sampled_from(labels), min_size=length, max_size=length)
        return st.tuples(sentence, sentence)

    return st.lists(st.integers(0, 8).flatmap(pair), min_size=1, max_size=5)


def with_boundaries(sentences):
    return [*chain.from_iterable(["O", *sentence, "O"] for sentence in sentences)]


@pytest.mark.parametrize(
    ("labels", "spans"),
    [
        ("", []),
        ("O O", []),
        ("B-PS I-PS O B-LC", [(0, 2, "PS"), (3, 4, "LC")]),
        ("B-PS B-PS I-PS", [(0, 1, "PS"), (1, 3, "PS")]),
        # ill-formed: I without B starts nothing, I of another type ends the entity and does not let it go on
        ("I-PS I-PS O", []),
        ("O I-PS B-PS", [(2, 3, "PS")]),
        ("B-PS I-LC I-PS", [(0, 1, "PS")]),
        ("B-PS O I-PS", [(0, 1, "PS")]),
    ],
)
def test_entity_spans(labels, spans):
    assert entity_spans(labels.split()) == spans


@settings(deadline=None)
@given(st.lists(st.sampled_from(FEW), max_size=12))
def test_entity_spans_equal_seqeval(labels):
    expected = [(entity.start, entity.end, entity.tag) for entity in Tokens(labels, IOB2).entities]
    assert entity_spans(labels) == expected


def test_entity_macro_f1_by_hand():
    gold = [["B-PS", "I-PS", "O", "B-LC"], ["O", "B-PS", "O"]]
    found = [["B-PS", "I-PS", "O", "B-OG"], ["B-PS", "I-PS", "O"]]
    # PS: 2 gold, 2 predicted, 1 right: 1/2; LC in gold only: 0; OG in the prediction only: 0
    assert entity_macro_f1(gold, found) == pytest.approx(100 * 0.5 / 3)
    assert entity_macro_f1(gold, gold) == 100.0


def test_an_entity_ends_with_its_sentence():
    gold = [["O", "B-PS"], ["O", "O"]]
    # the I at the start of the second sentence neither carries the entity on nor starts one
    assert entity_macro_f1(gold, [["O", "B-PS"], ["I-PS", "O"]]) == 100.0
    assert entity_macro_f1([["O", "B-PS", "I-PS"]], [["O", "B-PS", "O"]]) == 0.0


def test_entity_macro_f1_without_entities_is_undefined():
    assert math.isnan(entity_macro_f1([["O"]], [["I-PS"]]))
    assert entity_macro_f1([["O"]], [["B-PS"]]) == 0.0


@settings(deadline=None)
@given(sentence_pairs(FEW))
def test_entity_macro_f1_equals_seqeval_on_one_flat_sequence(pairs):
    gold, found = zip(*pairs, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = 100 * seqeval_f1(
            [with_boundaries(gold)], [with_boundaries(found)], average="macro", mode="strict", scheme=IOB2
        )
    assert entity_macro_f1(gold, found) == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_strict_reading_differs_from_the_lenient_one():
    # the lenient reading, seqeval's default, would start an entity at the I
    assert get_entities(["O", "I-PS"]) and not entity_spans(["O", "I-PS"])


def test_character_macro_f1_by_hand():
    gold, found = [["B-PS", "I-PS", "O"]], [["B-PS", "O", "O"]]
    # B-PS 1; I-PS 0; O with the two boundaries: 3 right, 3 in gold, 4 predicted: 6/7; the other ten are nowhere: 1
    assert character_macro_f1(gold, found) == pytest.approx(100 * (1 + 0 + 6 / 7 + 10) / 13)
    # B-PS 1, the other eleven 0
    assert character_macro_f1_without_o(gold, found) == pytest.approx(100 / 12)


def test_boundaries_of_every_sentence_count():
    gold, found = [["O"], ["O"]], [["O"], ["B-PS"]]
    # O: 1 + 4 right, 6 in gold, 5 predicted: 10/11; B-PS 0; eleven nowhere
    assert character_macro_f1(gold, found) == pytest.approx(100 * (10 / 11 + 11) / 13)


@settings(deadline=None)
@given(sentence_pairs(LABELS))
def test_character_macro_f1_equals_sklearn(pairs):
    gold, found = zip(*pairs, strict=True)
    flat = with_boundaries(gold), with_boundaries(found)
    expected = f1_score(*flat, labels=LABELS, average="macro", zero_division=True)
    assert character_macro_f1(gold, found) == pytest.approx(100 * expected, abs=1e-9)
    inner = [*chain(*gold)], [*chain(*found)]
    if inner[0]:
        expected = f1_score(*inner, labels=LABELS[:-1], average="macro", zero_division=0)
        assert character_macro_f1_without_o(gold, found) == pytest.approx(100 * expected, abs=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_wrong_input(metric):
    with pytest.raises(ValueError, match="one prediction an example"):
        metric([["O"]], [])
    with pytest.raises(ValueError, match="example 1: 2 gold values and 1 predicted"):
        metric([["O"], ["O", "O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match="no examples"):
        metric([], [])
    with pytest.raises(ValueError, match="'B-XX' is not a label"):
        metric([["O"]], [["B-XX"]])
