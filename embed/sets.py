"""Built-in sets as rows to train on, and which rows would leak what is scored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from data.decontaminate.normalise import text_key
from embed.scored import SCORED, Folders, Retrieval, read_scored, scored_files, split_file
from embed.settings import EmbedSettings
from klue.examples import read_examples
from klue.tasks import get_task

LICENCES = {"question_pair": "MIT", "korquad": "CC BY-ND 2.0 KR"}
"""Licences of built-in sets; all others are CC BY-SA 4.0."""
RANGE = (0.0, 5.0)
"""Ratings of KLUE-STS and KorSTS."""


def set_files(settings: EmbedSettings) -> list[str]:
    """Return the files that a recipe trains on, and of its scored tasks, for `Leaks`; UserError for a missing one."""
    files = [
        dataset.path or str(split_file(get_task(str(dataset.use)), settings.sources, dataset.split))
        for dataset in settings.data
    ]
    files += [str(path) for name in settings.score for path in scored_files(name, settings.sources).values()]
    return list(dict.fromkeys(files))


def training_rows(use: str, folders: Folders, split: str = "train") -> list[dict[str, Any]]:
    """Return a built-in set as rows of JSON Lines: {query, positive, negatives} or {text_a, text_b, score}.

    NLI gives a premise with an entailed and a contradicting hypothesis, question pairs those of the same meaning,
    reading sets the questions that have an answer, with their passages.

    Raises:
        UserError: a file is missing or damaged.
    """
    task = get_task(use)
    examples = read_examples(task, split_file(task, folders, split))
    if task.name in ("klue-sts", "korsts"):
        names = ("text_a", "text_b", "score")
        return [dict(zip(names, (*example.texts, float(example.label)), strict=True)) for example in examples]
    if task.name in ("klue-nli", "kornli"):
        by_premise: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for example in examples:
            by_premise[example.texts[0]][example.label].append(example.texts[1])
        return [
            {"query": premise, "positive": positive, "negatives": [negative]}
            for premise, by_label in by_premise.items()
            for positive, negative in zip(by_label["entailment"], by_label["contradiction"], strict=False)
        ]
    same = [example for example in examples if example.label == "0"] if task.name == "question-pair" else examples
    return [{"query": example.texts[0], "positive": example.texts[1]} for example in same if example.label != []]


class Leaks:
    """The texts of tasks that are scored, and which of them stand together in a pair, or as query and document."""

    def __init__(self, names: Iterable[str], folders: Folders) -> None:
        self.beside: dict[str, set[str]] = defaultdict(set)
        for name in names:
            for group in _groups(name, folders):
                texts = [text_key(text) for text in group]
                for place, text in enumerate(texts):
                    self.beside[text].update(texts[:place] + texts[place + 1 :])

    def of(self, texts: Iterable[str]) -> str:
        """Return "pair" where two of a row's texts are a pair that is scored, "text" where one is in it, else ""."""
        row = {text_key(text) for text in texts} if self.beside else set()
        shared = [text for text in row if text in self.beside]
        if any(self.beside[text] & (row - {text} if len(row) > 1 else row) for text in shared):
            return "pair"
        return "text" if shared else ""


def _groups(name: str, folders: Folders) -> Iterator[Sequence[str]]:
    """Yield what must not be in one training row: pairs, queries with documents; or single texts."""
    columns = SCORED[name].columns[:-1]
    for (_, split), read in read_scored(name, folders).items():
        if isinstance(read, Retrieval):
            for query, documents in read.relevant.items():
                yield from ((read.queries[query], read.corpus[document][1]) for document in documents)
        elif (name, split) != ("KLUE-TC", "train"):  # its examples are not scored
            for row in read:
                texts = [row[column] for column in columns]
                yield from zip(*texts, strict=True) if isinstance(texts[0], list) else [texts]
