"""The authors' sets, through the readers of klue/: what is trained on, and what is scored."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from common.errors import UserError
from data.nfc import composed
from embed.settings import EmbedSettings
from klue.examples import find_file, read_examples
from klue.tasks import TASKS, get_task, suite_folder
from klue.tasks.base import Example, Task
from klue.tasks.klue.sts import Sts
from klue.tasks.koelectra.korquad import KorQuad
from klue.tasks.koelectra.korsts import KorSts


class RoundedSts(Sts):
    """KLUE-STS by the rounded rating, which mteb scores against."""

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return the pair with `labels.label`."""
        return [Example(one.guid, one.texts, float(record["labels"]["label"])) for one in super().read(record, guid)]


class QuotedSts(KorSts):
    """KorSTS as mteb's copy has it: read as CSV with quotes, which breaks three of 1,379 rows; these are left out."""

    def records(self, stream: IO[bytes]) -> list[Any]:
        """Return the rows that have all columns."""
        rows = csv.DictReader(io.StringIO(stream.read().decode("utf-8-sig"), newline=""), delimiter="\t")
        return [row for row in rows if None not in row.values()]


class TitledKorQuad(KorQuad):
    """KorQuAD as mteb's copy has it: a passage with the title of its article."""

    def read(self, record: Any, guid: str) -> list[Example]:
        """Return question and passage; `given` is the title."""
        return [Example(one.guid, one.texts, one.label, str(record["title"])) for one in super().read(record, guid)]


class Scored(NamedTuple):
    """A task that is scored: the sets' readers, and splits by mteb's name → the authors'."""

    task: Task
    splits: dict[str, str]
    shape: str
    """"pairs", "texts" or "retrieval"."""


SCORED: dict[str, Scored] = {
    "KLUE-TC": Scored(TASKS["ynat"], {"validation": "dev", "train": "train"}, "texts"),
    "KLUE-NLI": Scored(TASKS["klue-nli"], {"validation": "dev"}, "pairs"),
    "KLUE-STS": Scored(RoundedSts(), {"validation": "dev"}, "pairs"),
    "KorNLI": Scored(TASKS["kornli"], {"test": "test"}, "pairs"),
    "KorSTS": Scored(QuotedSts(), {"test": "test"}, "pairs"),
    "PawsXPairClassification": Scored(TASKS["paws-x"], {"test": "test", "validation": "dev"}, "pairs"),
    "SQuADKorV1Retrieval": Scored(TitledKorQuad(), {"test": "dev"}, "retrieval"),
    "HunminKlueMrcRetrieval": Scored(TASKS["klue-mrc"], {"validation": "dev"}, "retrieval"),
}
LICENCES = {"question-pair": "MIT", "korquad": "CC BY-ND 2.0 KR"}
"""Of built-in sets; all others are CC BY-SA 4.0."""
RANGE = (0.0, 5.0)
"""Ratings of KLUE-STS and KorSTS."""


def licence_of(use: str) -> str:
    """Return the licence of a built-in set."""
    return LICENCES.get(get_task(use).name, "CC BY-SA 4.0")


def find_split(task: Task, folders: Iterable[Path | str], split: str) -> Path | None:
    """Return the file of a task's split in one of some folders, or in a folder within one; None where there is none."""
    for folder in map(Path, folders):
        within = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
        for place in (suite_folder(folder, task.name), folder, *within):
            if (found := find_file(task, place, split)) is not None:
                return found
    return None


def examples_of(task: Task, folders: Sequence[Path | str], split: str) -> list[Example]:
    """Return a split's examples.

    Raises:
        UserError: there is no file of it, or it is damaged.
    """
    path = find_split(task, folders, split)
    if path is None:
        raise UserError(
            f"no {split} file of {task.title} in {', '.join(map(str, folders)) or 'no folder'}",
            f"the file has the authors' layout: {task.file(split) or 'this set has no such part'}",
            "name its folder in embed.sources (of a command --data), or take the set out",
        )  # fmt: skip
    return read_examples(task, path)


def set_files(settings: EmbedSettings) -> list[str]:
    """Return the files that a recipe trains on, and those that it is scored on, which training rows are held against.

    Raises:
        UserError: a built-in set is missing.
    """
    wanted: list[tuple[Task, str]] = [(TASKS[get_task(one.use).name], one.split) for one in settings.data if one.use]
    wanted += [(SCORED[name].task, split) for name in settings.score for split in SCORED[name].splits.values()]
    found = [one.path for one in settings.data if one.path]
    for task, split in wanted:
        path = find_split(task, settings.sources, split)
        if path is None:
            examples_of(task, settings.sources, split)  # says what is missing
        found.append(str(path))
    return list(dict.fromkeys(found))


def training_rows(use: str, folders: Sequence[Path | str], split: str = "train") -> list[dict[str, Any]]:
    """Return a built-in set as rows of JSON Lines: {query, positive, negatives} or {text_a, text_b, score}.

    Of NLI, a premise with what it entails and what contradicts it; of the question pairs those that mean the same; of
    reading sets the questions that have an answer, with their passages.

    Raises:
        UserError: as `examples_of`.
    """
    task = get_task(use)
    examples = examples_of(task, folders, split)
    if task.name in ("klue-sts", "korsts"):
        return [{"text_a": one.texts[0], "text_b": one.texts[1], "score": float(one.label)} for one in examples]
    if task.name in ("klue-nli", "kornli"):
        by_premise: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for one in examples:
            by_premise[one.texts[0]][one.label].append(one.texts[1])
        return [
            {"query": premise, "positive": positive, "negatives": [negative]}
            for premise, by_label in by_premise.items()
            for positive, negative in zip(by_label["entailment"], by_label["contradiction"], strict=False)
        ]
    same = [one for one in examples if one.label == "0"] if task.name == "question-pair" else examples
    return [{"query": one.texts[0], "positive": one.texts[1]} for one in same if one.label != []]


def scored_pairs(name: str, folders: Sequence[Path | str]) -> dict[str, list[tuple[str, str, Any]]]:
    """Return split → (first text, second text, label) of a task of pairs.

    Raises:
        UserError: as `examples_of`.
    """
    task, splits, _ = SCORED[name]
    return {
        split: [(one.texts[0], one.texts[1], one.label) for one in examples_of(task, folders, own)]
        for split, own in splits.items()
    }


def scored_texts(name: str, folders: Sequence[Path | str]) -> dict[str, list[tuple[str, str]]]:
    """Return split → (text, label) of a task of single texts."""
    task, splits, _ = SCORED[name]
    return {
        split: [(one.texts[0], one.label) for one in examples_of(task, folders, own)] for split, own in splits.items()
    }


class Retrieval(NamedTuple):
    """Questions and passages, by id, and the passages that answer a question."""

    queries: dict[str, str]
    corpus: dict[str, tuple[str, str]]
    """Title, "" where a set has none, and text."""
    relevant: dict[str, dict[str, int]]


def scored_retrieval(name: str, folders: Sequence[Path | str]) -> dict[str, Retrieval]:
    """Return split → questions that have an answer and all passages, a passage once."""
    task, splits, _ = SCORED[name]
    found = {}
    for split, own in splits.items():
        examples = examples_of(task, folders, own)
        titles = {one.texts[1]: one.given if isinstance(one.given, str) else "" for one in examples}
        ids = {text: f"d{number}" for number, text in enumerate(titles)}
        asked = [one for one in examples if one.label != []]
        found[split] = Retrieval(
            {one.guid: one.texts[0].strip() for one in asked},
            {key: (titles[text], text) for text, key in ids.items()},
            {one.guid: {ids[one.texts[1]]: 1} for one in asked},
        )
    return found


def plain(text: str) -> str:
    """Return a text as it is compared with others: composed, white space as one blank."""
    return " ".join(composed(text).split())


class Leaks:
    """The texts of tasks that are scored, and which of them stand together in a pair, or as query and document."""

    def __init__(self, names: Sequence[str], folders: Sequence[Path | str]) -> None:
        self.beside: dict[str, set[str]] = defaultdict(set)
        for name in names:
            if SCORED[name].shape == "texts":
                for text, _ in scored_texts(name, folders)["validation"]:
                    self.beside[plain(text)]  # a text by itself
            elif SCORED[name].shape == "pairs":
                pairs = (row[:2] for rows in scored_pairs(name, folders).values() for row in rows)
                self._add(pairs)
            else:
                for one in scored_retrieval(name, folders).values():
                    self._add((one.queries[q], one.corpus[d][1]) for q, docs in one.relevant.items() for d in docs)

    def _add(self, pairs: Iterable[Sequence[str]]) -> None:
        for first, second in pairs:
            a, b = plain(first), plain(second)
            self.beside[a].add(b)
            self.beside[b].add(a)

    def of(self, texts: Iterable[str]) -> str:
        """Return "pair" where two of a row's texts are a pair that is scored, "text" where one is in it, else ""."""
        row = {plain(text) for text in texts}
        shared = [text for text in row if text in self.beside]
        if any(self.beside[text] & (row - {text} if len(row) > 1 else row) for text in shared):
            return "pair"
        return "text" if shared else ""
