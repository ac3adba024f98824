"""Functions that the task files name: for their rows and the scores of answers. lm-eval loads this file by its path."""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

from leaderboard.ifeval import follows, follows_loosely
from leaderboard.suites import load_rows


def dataset(rows: str = "", data: str = "", **options: Any) -> dict[str, Dataset]:
    """Return the rows of a task to score, and its shots, uncached; arguments are metadata, as for `load_rows`."""
    test, shots = load_rows(rows, Path(data) if data else None, options)
    return {"test": Dataset.from_list(test), "fewshot": Dataset.from_list(shots)}


def macro_f1(items: Sequence[tuple[int, int]]) -> float:
    """Return the macro F1 over the labels that occur in (gold, prediction): the mean of 2 hits / (gold + predicted)."""
    labels, coded = np.unique(np.array(list(items)), return_inverse=True)
    gold, answers = coded.reshape(-1, 2).T
    counts = (np.bincount(side, minlength=len(labels)) for side in (gold[gold == answers], gold, answers))
    hits, of_gold, of_answers = counts
    return float(np.mean(2 * hits / (of_gold + of_answers)))


def f1_of_yes(items: Sequence[tuple[int, int]]) -> float:
    """Return the F1 of label 1, 0 where it does not occur; lm-eval's own command would draw 100,000 samples of what it
    calls f1."""
    gold, answers = np.array(list(items)).T == 1
    return 2 * float(np.sum(gold & answers)) / max(float(np.sum(gold) + np.sum(answers)), 1.0)


def social(doc: dict[str, Any], results: Any) -> dict[str, float]:
    """Return the merged share (A-SVA) and the plain share (SVA) of the surveyed that agree with the model's choice."""
    chosen = int(np.argmax([chance for chance, _ in results]))
    return {"a_sva": doc["merged"][chosen], "sva": doc["shares"][chosen]}


def eqbench_score(answer: str, names: Sequence[str], reference: Sequence[float]) -> float | None:
    """Return EQ-Bench v2's score, 100 at most; None for an answer that scores other emotions than the reference. As
    lm-eval, a score has no blank before its colon and one behind it ("기쁨: 9"); unlike it, names may hold blanks."""
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    theirs = {name: int(digits) for name, digits in re.findall(rf"({known}|\w+):\s+(\d+)", answer)}
    if set(theirs) != set(names):
        return None
    off = [abs(theirs[name] - score) for name, score in zip(names, reference, strict=True)]
    return 10 * (10 - 0.7477 * sum((6.5 / (1 + math.exp(-1.2 * (d - 4))) if d <= 5 else d) for d in off if d))


def eqbench(doc: dict[str, Any], results: Any) -> dict[str, float]:
    """Return EQ-Bench's score and whether the answer has one, in percent."""
    score = eqbench_score(results[0], doc["names"], doc["scores"])
    return {"eqbench": score or 0.0, "percent_parseable": 0.0 if score is None else 100.0}


def ifeval(doc: dict[str, Any], results: Any) -> dict[str, Any]:
    """Return whether the answer follows each rule, strictly and loosely, by prompt and by instruction."""
    rules = list(zip(doc["rules"], json.loads(doc["given"]), strict=True))
    strict = [follows(rule, arguments, results[0]) for rule, arguments in rules]
    loose = [follows_loosely(rule, arguments, results[0]) for rule, arguments in rules]
    return {
        "ifeval": strict,
        "prompt_level_strict_acc": float(all(strict)),
        "inst_level_strict_acc": strict,
        "prompt_level_loose_acc": float(all(loose)),
        "inst_level_loose_acc": loose,
    }


def by_instruction(items: Sequence[list[bool]]) -> float:
    """Return the share of the instructions that are followed."""
    return float(np.mean([followed for prompt in items for followed in prompt]))


def by_prompt_and_instruction(items: Sequence[list[bool]]) -> float:
    """Return the mean of the share of the prompts and that of the instructions that are followed."""
    return (float(np.mean([all(prompt) for prompt in items])) + by_instruction(items)) / 2


def written(doc: dict[str, Any], results: Any) -> dict[str, Any]:
    """Return whether an answer is the output, and the (output, answer) pair for chrF."""
    answer, output = results[0].strip(), doc["output"].strip()
    return {"exact_match": float(answer == output), "chrf": (output, answer)}
