"""EQ-Bench v2: how far four emotions' scores in an answer are from the reference."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

WHOLE, FACTOR = 10.0, 0.7477
"""A perfect score, and what the sum of the distances is multiplied by."""


def eqbench_score(answer: str, names: Sequence[str], reference: Sequence[float]) -> float | None:
    """Return the score of an answer, 100 at most, below 0 for one worse than chance; None for one without a score of
    each emotion, or with other names.

    Args:
        answer: a model's text.
        names: the four emotions.
        reference: their scores.

    >>> eqbench_score("기쁨: 3\\n분노: 0\\n슬픔: 5\\n놀람: 2", ["기쁨", "분노", "슬픔", "놀람"], [3, 0, 5, 2])
    100.0
    """
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    theirs = {name: int(digits) for name, digits in re.findall(rf"({known}|\w+)\s*:\s*(\d+)", answer)}
    if set(theirs) != set(names):
        return None
    off = math.fsum(_weighed(abs(theirs[name] - wanted)) for name, wanted in zip(names, reference, strict=True))
    return 10 * (WHOLE - FACTOR * off)


def _weighed(distance: float) -> float:
    if distance == 0:
        return 0.0
    return 6.5 / (1 + math.exp(-1.2 * (distance - 4))) if distance <= 5 else distance
