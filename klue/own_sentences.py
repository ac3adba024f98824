"""The texts of one's own tasks as a corpus is cleaned of them: sentence by sentence, as those of benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from data.benchmark import BenchmarkSentence
from data.splitting.scan import split_sentences
from klue.examples import read_examples
from klue.tasks import get_task
from klue.tasks.own import OwnTask

TEXT_FIELDS = ("kind", "text", "label", "choices")
"""Fields of a row that decide which texts of its files are read, and which records have none."""


def own_sentences(rows: Sequence[OwnTask]) -> Iterator[BenchmarkSentence]:
    """Yield the sentences of all texts in the files of own tasks, train, dev and test, each text once a task.

    Args:
        rows: in the register of tasks.

    Raises:
        UserError: a file is missing, or not as its row says.
    """
    for row in rows:
        task = get_task(row.name)
        known: set[str] = set()
        for path in filter(None, row.places.values()):
            for example in read_examples(task, Path(path), tell=False):
                for text in dict.fromkeys(example.texts):
                    if text in known:  # the passage of many questions
                        continue
                    known.add(text)
                    pieces = [piece.strip() for piece in split_sentences(text) if piece.strip()]
                    for piece in pieces:
                        yield BenchmarkSentence(row.name, example.guid, piece, len(pieces) > 1)
