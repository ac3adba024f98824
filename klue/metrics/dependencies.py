"""The metrics of KLUE-DP: F1 and accuracy of heads (UAS) and of heads with their labels (LAS), scores × 100."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from klue.metrics.pairs import f1_by_class, same_lengths
from klue.metrics.sentence import accuracy, macro_f1

OTHERS_FROM = 15
"""Labels from this place of the benchmark's order on (VP_CMP to NP_SVJ) are one class, `OTHERS`."""

OTHERS = "OTHERS"
WRONG_HEAD = "PAD"
"""The class, by the authors' name, of every word whose predicted head is wrong; gold has none of it."""


class Parse(NamedTuple):
    """A sentence's heads and labels, one each a word."""

    heads: Sequence[int]
    """Number of each word's head, from 1; 0 is the root."""
    labels: Sequence[str]
    """Each word's relation to its head."""


def uas_macro_f1(gold: Sequence[Parse], predicted: Sequence[Parse]) -> float:
    """Return the mean F1 × 100 over the head numbers that occur in gold or prediction: the number is the class.

    A number that is predicted but never gold (in Korean the first word is hardly ever a head) counts with F1 0.

    Args:
        gold: one parse a sentence; at least one word in all.
        predicted: as many words a sentence, same order.

    Raises:
        ValueError: the lengths differ, or nothing is there.
    """
    return macro_f1(*_heads(gold, predicted))


def uas_micro_f1(gold: Sequence[Parse], predicted: Sequence[Parse]) -> float:
    """Return the share × 100 of the words whose head is right.

    Args:
        gold: one parse a sentence; at least one word in all.
        predicted: as many words a sentence, same order.

    Raises:
        ValueError: the lengths differ, or nothing is there.
    """
    return accuracy(*_heads(gold, predicted))


def las_macro_f1(gold: Sequence[Parse], predicted: Sequence[Parse], labels: Sequence[str]) -> float:
    """Return the mean F1 × 100 over the classes that occur in gold or prediction, as the authors' code has it.

    A word's class is its label, or `OTHERS`, or in the prediction `WRONG_HEAD` where the head is not gold's. That
    last class counts in the mean with F1 0 as soon as one head is wrong, which the paper does not say: one wrong head
    in the benchmark's dev set costs some six points. `las_macro_f1_without_pad` has it out of the mean.

    Args:
        gold: one parse a sentence; at least one word in all.
        predicted: as many words a sentence, same order.
        labels: all labels in the benchmark's order.

    Raises:
        ValueError: the lengths differ, nothing is there, or a label is not in `labels`.
    """
    return macro_f1(*_classes(gold, predicted, labels))


def las_macro_f1_without_pad(gold: Sequence[Parse], predicted: Sequence[Parse], labels: Sequence[str]) -> float:
    """Return the mean F1 × 100 as `las_macro_f1` does, but over real classes only.

    A word with a wrong head still counts as missed in the class of its gold label.

    Args:
        gold: one parse a sentence; at least one word in all.
        predicted: as many words a sentence, same order.
        labels: all labels in the benchmark's order.

    Raises:
        ValueError: the lengths differ, nothing is there, or a label is not in `labels`.
    """
    scores = f1_by_class(*_classes(gold, predicted, labels))
    scores.pop(WRONG_HEAD, None)
    return 100.0 * sum(scores.values()) / len(scores)


def las_micro_f1(gold: Sequence[Parse], predicted: Sequence[Parse], labels: Sequence[str]) -> float:
    """Return the share × 100 of the words whose head is right and whose label is, the labels of `OTHERS` being one.

    Args:
        gold: one parse a sentence; at least one word in all.
        predicted: as many words a sentence, same order.
        labels: all labels in the benchmark's order.

    Raises:
        ValueError: the lengths differ, nothing is there, or a label is not in `labels`.
    """
    return accuracy(*_classes(gold, predicted, labels))


def _heads(gold: Sequence[Parse], predicted: Sequence[Parse]) -> tuple[list[int], list[int]]:
    gold_heads, predicted_heads = [parse.heads for parse in gold], [parse.heads for parse in predicted]
    same_lengths(gold_heads, predicted_heads)
    flat = [*chain(*gold_heads)], [*chain(*predicted_heads)]
    if not flat[0]:
        raise ValueError("no words to score")
    return flat


def _classes(gold: Sequence[Parse], predicted: Sequence[Parse], labels: Sequence[str]) -> tuple[list[str], list[str]]:
    gold_heads, predicted_heads = _heads(gold, predicted)
    for number, parse in enumerate([*gold, *predicted]):
        if len(parse.heads) != len(parse.labels):
            raise ValueError(f"example {number % len(gold)}: {len(parse.heads)} heads and {len(parse.labels)} labels")
    class_of = {label: label if place < OTHERS_FROM else OTHERS for place, label in enumerate(labels)}
    try:
        gold_classes = [class_of[label] for parse in gold for label in parse.labels]
        predicted_classes = [class_of[label] for parse in predicted for label in parse.labels]
    except KeyError as error:
        raise ValueError(f"{error} is not one of the labels") from None
    right = [g == p for g, p in zip(gold_heads, predicted_heads, strict=True)]
    return gold_classes, [kind if ok else WRONG_HEAD for kind, ok in zip(predicted_classes, right, strict=True)]
