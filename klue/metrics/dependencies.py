"""The metrics of KLUE-DP: F1 and accuracy of heads (UAS) and of heads with their labels (LAS), scores × 100."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from klue.metrics.pairs import f1_by_class, mean, same_lengths
from klue.metrics.sentence import accuracy, macro_f1

OTHERS_FROM = 15
"""Labels from this place of the benchmark's order on (VP_CMP to NP_SVJ) are one class, `OTHERS`."""

OTHERS = "OTHERS"
WRONG_HEAD = "PAD"
"""The class, by the authors' name, of every word whose predicted head is wrong; gold has none of it."""


def dependency_scores(
    gold: Sequence[Mapping[str, Any]], predicted: Sequence[Mapping[str, Any]], labels: Sequence[str]
) -> dict[str, float]:
    """Return the scores × 100 of parses, {"heads": numbers from 1, 0 the root; "labels": relations to them}.

    - `uas_macro_f1`: mean F1 over the head numbers that occur in gold or prediction: the number is the class. One that
      is predicted but never gold (in Korean the first word is hardly ever a head) counts with F1 0.
    - `las_macro_f1`: mean F1 over the classes that occur, as the authors' code has it. A word's class is its label, or
      `OTHERS`, or in the prediction `WRONG_HEAD` where the head is not gold's. That last class counts with F1 0 as soon
      as one head is wrong, which the paper does not say: in the benchmark's dev set this costs some six points.
    - `uas_micro_f1`, `las_micro_f1`: share of the words whose head is right, and whose class is.
    - `las_macro_f1_without_pad`: mean F1 over real classes only; a word with a wrong head still counts as missed in the
      class of its gold label.

    Args:
        gold: one parse a sentence; at least one word in all.
        predicted: as many words a sentence.
        labels: all labels in the benchmark's order.

    Raises:
        KeyError: a label is not in `labels`.
    """
    gold_heads, found_heads = [parse["heads"] for parse in gold], [parse["heads"] for parse in predicted]
    same_lengths(gold_heads, found_heads)
    heads = [*chain(*gold_heads)], [*chain(*found_heads)]
    if not heads[0]:
        raise ValueError("no words to score")
    class_of = {label: label if place < OTHERS_FROM else OTHERS for place, label in enumerate(labels)}
    gold_classes, found_classes = ([class_of[x] for p in side for x in p["labels"]] for side in (gold, predicted))
    right = [g == p for g, p in zip(*heads, strict=True)]
    classes = gold_classes, [kind if ok else WRONG_HEAD for kind, ok in zip(found_classes, right, strict=True)]
    real = f1_by_class(*classes)
    real.pop(WRONG_HEAD, None)
    return {
        "uas_macro_f1": macro_f1(*heads),
        "las_macro_f1": macro_f1(*classes),
        "uas_micro_f1": accuracy(*heads),
        "las_micro_f1": accuracy(*classes),
        "las_macro_f1_without_pad": mean(real.values()),
    }
