"""The metrics of KorQuAD 1.0, as its own script counts them: exact match and F1 over characters, scores × 100."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence

import numpy as np

from data.nfc import composed
from klue.metrics.pairs import Weighted, same_length
from klue.metrics.reading import same_text, weighted_reading_scores

NONE = "∅"
"""Stands for no answer."""
_BLANKED = str.maketrans(dict.fromkeys("'\"《》<>〈〉()‘’", " "))
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def korquad_scores(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> dict[str, float]:
    """Return `exact_match`, the share × 100 of the questions whose predicted answer equals a gold answer, and `f1`, the
    mean of the best F1 × 100 of characters, counted without order and blanks; both of normalised answers."""
    return weighted_korquad_scores(gold, predicted)(np.ones(len(gold)))


def weighted_korquad_scores(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> Weighted:
    """Return `korquad_scores` by how often each question counts. Of a question without an answer, none is right."""
    same_length(gold, predicted)
    sides = [(g, p) if g else ([NONE], p or NONE) for g, p in zip(gold, predicted, strict=True)]
    gold, predicted = [side[0] for side in sides], [side[1] for side in sides]
    return weighted_reading_scores(gold, predicted, {"exact_match": same_text, "f1": _overlap}, normalise)


def normalise(text: str) -> str:
    """Return the text in lower case; quotes and brackets are blanks, other ASCII punctuation is taken out, every run of
    white space is one blank, and there is none at the ends."""
    return " ".join(composed(text).translate(_BLANKED).lower().translate(_WITHOUT_PUNCTUATION).split())


def _overlap(answer: str, prediction: str) -> float:
    gold_characters = Counter(answer.replace(" ", ""))
    predicted_characters = Counter(prediction.replace(" ", ""))
    same = sum((gold_characters & predicted_characters).values())
    return 2 * same / (gold_characters.total() + predicted_characters.total()) if same else 0.0
