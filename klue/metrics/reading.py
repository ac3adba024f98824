"""The metrics of reading, scores × 100: exact match and ROUGE-W of KLUE-MRC, exact match and F1 of KorQuAD 1.0.

Gold are each question's answers: none where it has no answer, and then only an empty prediction scores. A prediction is
one answer, "" for none.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher

import numpy as np

from data.nfc import composed
from klue.metrics.pairs import Weighted, same_length, weighted_sums

NONE = "∅"
"""KorQuAD: stands for no answer."""
_BLANKED = str.maketrans(dict.fromkeys("'\"《》<>〈〉()‘’", " "))
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def exact_match(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> float:
    """Return the share × 100 of the questions whose predicted answer equals a gold answer, both normalised."""
    return 100.0 * sum(best_scores(gold, predicted, same_text)) / len(gold)


def rouge_w(
    gold: Sequence[Sequence[str]], predicted: Sequence[str], overlap: Callable[[str, str], float] | None = None
) -> float:
    """Return the mean over the questions of the best overlap (None = `overlap_f1`) × 100 with a gold answer."""
    return 100.0 * sum(best_scores(gold, predicted, overlap or overlap_f1)) / len(gold)


def weighted_reading_scores(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[str],
    named: Mapping[str, Callable[[str, str], float]],
    written: Callable[[str], str] | None = None,
) -> Weighted:
    """Return the mean best scores × 100 by metric's name and how often each question counts; see `best_scores`."""
    columns = [best_scores(gold, predicted, score, written) for score in named.values()]

    def scores(sums: np.ndarray) -> dict[str, float]:
        count, *totals = sums.tolist()
        return {name: 100.0 * value / count for name, value in zip(named, totals, strict=True)}

    return weighted_sums(np.column_stack([np.ones(len(gold)), *columns]), scores)


def best_scores(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[str],
    score: Callable[[str, str], float],
    written: Callable[[str], str] | None = None,
) -> list[float]:
    """Return each question's best score with one of its gold answers.

    Args:
        score: of gold and prediction, 0 to 1.
        written: how both are normalised; None = `normalise`.
    """
    same_length(gold, predicted)
    clean = written or normalise
    return [
        max(score(clean(answer), prediction) for answer in answers or [""])
        for answers, prediction in zip(gold, map(clean, predicted), strict=True)
    ]


def same_text(answer: str, prediction: str) -> float:
    """Return 1 where two normalised texts are equal, else 0."""
    return float(answer == prediction)


def normalise(text: str) -> str:
    """Return the text in lower case, without ASCII punctuation, every run of white space one blank, none at the ends.
    The authors mean to take out 《》〈〉‘’ as well, but the pattern that should do so asks for five characters in a row
    ("《()‘’", say), which no answer has: these stay, as “ ” do, which it does not name, in all published numbers."""
    return " ".join(composed(text).lower().translate(_WITHOUT_PUNCTUATION).split())


def overlap_f1(gold: str, predicted: str) -> float:
    """Return the F1, 0 to 1, of the longest common run of characters: its share of the one text and of the other. 1
    where both are empty, 0 where one is. The paper's "ROUGE-W" is this, no weighted ROUGE."""
    return _f1_of_run(longest_common_run, gold, predicted)


def overlap_f1_as_published(gold: str, predicted: str) -> float:
    """Return `overlap_f1` with the authors' run, which for gold of 200 characters and more may not be the longest."""
    return _f1_of_run(lambda a, b: SequenceMatcher(None, b, a).find_longest_match().size, gold, predicted)


def _f1_of_run(run: Callable[[str, str], int], gold: str, predicted: str) -> float:
    if not gold or not predicted:
        return float(gold == predicted)
    return 2 * run(gold, predicted) / (len(gold) + len(predicted))


def longest_common_run(first: str, second: str) -> int:
    """Return the length of the longest substring, blanks included, that both texts have. Exact at every length. The
    authors' code uses Python's difflib with its heuristic for junk, which from 200 characters of gold answer on leaves
    frequent characters out of account and may find too little."""
    if len(first) > len(second):
        first, second = second, first
    best = 0
    for end in range(1, len(first) + 1):
        # the longest run that ends here is at most one longer than the longest before, so one look is enough
        if first[end - best - 1 : end] in second:
            best += 1
    return best


def weighted_korquad_scores(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> Weighted:
    """Return KorQuAD's scores as its own script counts them, by how often each question counts: `exact_match`, the
    share × 100 of the questions whose predicted answer equals a gold answer, and `f1`, the mean of the best F1 × 100 of
    characters, counted without order and blanks; both of answers as `normalise_korquad` writes them. Of a question
    without an answer, none is right."""
    same_length(gold, predicted)
    sides = [(g, p) if g else ([NONE], p or NONE) for g, p in zip(gold, predicted, strict=True)]
    gold, predicted = [side[0] for side in sides], [side[1] for side in sides]
    return weighted_reading_scores(gold, predicted, {"exact_match": same_text, "f1": _overlap}, normalise_korquad)


def normalise_korquad(text: str) -> str:
    """Return the text in lower case; quotes and brackets are blanks, other ASCII punctuation is taken out, every run of
    white space is one blank, and there is none at the ends."""
    return " ".join(composed(text).translate(_BLANKED).lower().translate(_WITHOUT_PUNCTUATION).split())


def _overlap(answer: str, prediction: str) -> float:
    gold_characters = Counter(answer.replace(" ", ""))
    predicted_characters = Counter(prediction.replace(" ", ""))
    same = sum((gold_characters & predicted_characters).values())
    return 2 * same / (gold_characters.total() + predicted_characters.total()) if same else 0.0
