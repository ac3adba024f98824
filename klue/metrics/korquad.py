"""The metrics of KorQuAD 1.0, as its own script counts them: exact match and F1 over characters, scores × 100."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Callable, Sequence

from data.nfc import composed
from klue.metrics.pairs import same_length

_BLANKED = str.maketrans(dict.fromkeys("'\"《》<>〈〉()‘’", " "))
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def exact_match(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> float:
    """Return the share × 100 of the questions whose predicted answer equals a gold answer, both normalised.

    Args:
        gold: each question's answers, one or more.
        predicted: one answer a question, same order.

    Raises:
        ValueError: the lengths differ, or nothing is there.
    """
    return _mean_of_best(gold, predicted, lambda answer, found: float(answer == found))


def character_f1(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> float:
    """Return the mean over the questions of the best F1 × 100 of characters, counted without order and blanks.

    Args:
        gold: each question's answers, one or more.
        predicted: one answer a question, same order.

    Raises:
        ValueError: the lengths differ, or nothing is there.
    """
    return _mean_of_best(gold, predicted, _overlap)


def normalise(text: str) -> str:
    """Return the text in lower case; quotes and brackets are blanks, other ASCII punctuation is taken out, every run of
    white space is one blank, and there is none at the ends."""
    return " ".join(composed(text).translate(_BLANKED).lower().translate(_WITHOUT_PUNCTUATION).split())


def _overlap(answer: str, found: str) -> float:
    wanted, there = Counter(answer.replace(" ", "")), Counter(found.replace(" ", ""))
    same = sum((wanted & there).values())
    return 2 * same / (wanted.total() + there.total()) if same else 0.0


def _mean_of_best(gold: Sequence[Sequence[str]], predicted: Sequence[str], score: Callable[[str, str], float]) -> float:
    same_length(gold, predicted)
    total = 0.0
    for answers, prediction in zip(gold, predicted, strict=True):
        found = normalise(prediction)
        total += max(score(normalise(answer), found) for answer in answers)
    return 100.0 * total / len(gold)
