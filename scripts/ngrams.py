"""What character n-grams and a linear model score on benchmarks: the row that a stranger asks for first.

    python -m scripts.ngrams --data DIR [--benchmarks DIR] [--task ynat …] [--examples 3000]

Of each text TF-IDF of its 1- to 4-grams within words; a pair is both texts, what both have, and how they differ.
scikit-learn's logistic regression or ridge with its default strength, trained on the first train examples by hash, as
`max_train_examples` takes them. It prints a Markdown table: the task's metrics × 100 on dev.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge

from klue.examples import load_splits, sample_by_hash
from klue.settings import KlueSettings
from klue.tasks import get_task
from klue.tasks.base import Example
from klue.tasks.sentences import Choice, Classification, Regression

TASKS = ("ynat", "klue-nli", "klue-sts", "boolq", "korsts", "question-pair", "hate-speech")


def vectors(weights: TfidfVectorizer, examples: Sequence[Example]) -> csr_matrix:
    """Return the features of examples of one text or two, a row each."""
    sides = [weights.transform(texts) for texts in zip(*(example.texts for example in examples), strict=True)]
    if len(sides) == 1:
        return sides[0]
    first, second = sides
    return hstack([first, second, first.multiply(second), abs(first - second)]).tocsr()


def scores(name: str, settings: KlueSettings, examples: int) -> tuple[int, dict[str, float]]:
    """Return how many examples were trained on, and the task's metrics × 100 on dev."""
    task = get_task(name)
    assert isinstance(task, Classification | Regression) and not isinstance(task, Choice)
    splits = load_splits(task, settings.folder_of(task.name), source=settings.source_of(task.name), tell=False)
    train = sample_by_hash(splits.train, examples)
    weights = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 4), min_df=2, sublinear_tf=True)
    weights.fit([text for example in train for text in example.texts])
    model: Any = Ridge() if isinstance(task, Regression) else LogisticRegression(max_iter=1000)
    model.fit(vectors(weights, train), [example.label for example in train])
    predictions = model.predict(vectors(weights, splits.dev)).tolist()
    return len(train), task.score([example.label for example in splits.dev], predictions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--benchmarks")
    parser.add_argument("--task", nargs="+", default=TASKS)
    parser.add_argument("--examples", type=int, default=3000)
    options = parser.parse_args()
    settings = KlueSettings(data=options.data, benchmarks=options.benchmarks, suites=["klue", "kobest", "koelectra"])
    print("| task | train | metrics, dev |\n|---|---:|---|")
    for name in options.task:
        count, metrics = scores(name, settings, options.examples)
        shown = ", ".join(f"{metric} {value:.2f}" for metric, value in metrics.items())
        print(f"| {get_task(name).title} | {count:,} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
