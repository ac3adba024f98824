"""The metrics of KLUE-DP: F1 and accuracy of heads (UAS) and of heads with their labels (LAS), scores × 100."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from klue.metrics.pairs import Weighted, hits_and_sides, mean_f1, same_lengths, weighted_sums

OTHERS_FROM = 15
"""Labels from this place of the benchmark's order on (VP_CMP to NP_SVJ) are one class, `OTHERS`."""

OTHERS = "OTHERS"
WRONG_HEAD = "PAD"
"""The class, by the authors' name, of every word whose predicted head is wrong; gold has none of it."""


def weighted_dependency_scores(
    gold: Sequence[Mapping[str, Any]], predicted: Sequence[Mapping[str, Any]], labels: Sequence[str]
) -> Weighted:
    """Return the scores × 100 of parses, {"heads": numbers from 1, 0 the root; "labels": relations to them}, by how
    often each sentence counts.

    - `uas_macro_f1`: mean F1 over the head numbers that occur in gold or prediction: the number is the class. One that
      is predicted but never gold (in Korean the first word is hardly ever a head) counts with F1 0.
    - `las_macro_f1`: mean F1 over the classes that occur, as the authors' code has it. A word's class is its label, or
      `OTHERS`, or in the prediction `WRONG_HEAD` where the head is not gold's. That last class counts with F1 0 as soon
      as one head is wrong, which the paper does not say: in the benchmark's dev set this costs some six points.
    - `uas_micro_f1`, `las_micro_f1`: share of the words whose head is right, and whose class is.
    - `las_macro_f1_without_pad`: mean F1 over real classes only; a word with a wrong head still counts as missed in the
      class of its gold label.

    Args:
        labels: all labels in the benchmark's order.

    Raises:
        KeyError: a label is not in `labels`.
    """
    heads = [[parse["heads"] for parse in side] for side in (gold, predicted)]
    same_lengths(*heads)
    if not any(heads[0]):
        raise ValueError("no words to score")
    class_of = {label: label if place < OTHERS_FROM else OTHERS for place, label in enumerate(labels)}
    gold_classes, predicted_classes = (
        [[class_of[label] for label in parse["labels"]] for parse in side] for side in (gold, predicted)
    )
    predicted_classes = [
        [kind if g == p else WRONG_HEAD for kind, g, p in zip(kinds, *both, strict=True)]
        for kinds, *both in zip(predicted_classes, *heads, strict=True)
    ]
    kinds = [*dict.fromkeys(class_of.values()), WRONG_HEAD]
    numbers = sorted({head for side in heads for parse in side for head in parse})

    def scores(sums: np.ndarray) -> dict[str, float]:
        of_heads = sums[: 3 * len(numbers)]
        of_classes = sums[3 * len(numbers) :].reshape(3, -1)
        hits, words = of_heads.reshape(3, -1)[:2].sum(axis=1).tolist()
        return {
            "uas_macro_f1": mean_f1(of_heads),
            "las_macro_f1": mean_f1(of_classes),
            "uas_micro_f1": 100.0 * hits / words,
            "las_micro_f1": 100.0 * float(of_classes[0].sum()) / words,
            "las_macro_f1_without_pad": mean_f1(of_classes[:, :-1]),
        }

    return weighted_sums(
        np.hstack(
            [hits_and_sides(heads[0], heads[1], numbers), hits_and_sides(gold_classes, predicted_classes, kinds)]
        ),
        scores,
    )
