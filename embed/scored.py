"""What is scored, as files have it: built-in sets by klue's readers, other tasks in one layout."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import IO, Annotated, Any, NamedTuple

from pydantic import AliasChoices, ConfigDict, Field, ValidationError, create_model

from common.bounded import json_lines
from common.compressed import COMPRESSED, decompression_errors
from common.errors import UserError
from common.files import open_bytes
from embed.settings import TASKS
from klue.examples import find_file, read_examples
from klue.tasks import TASKS as READERS
from klue.tasks import suite_folder
from klue.tasks.base import Example, Task
from klue.tasks.files import table_records
from klue.tasks.klue import ROWS as KLUE_ROWS
from klue.tasks.koelectra import ROWS as KOELECTRA_ROWS
from klue.tasks.koelectra.korquad import KorQuad
from klue.tasks.rows import build_task

Folders = Sequence[Path | str]
_Text = Annotated[str, Field(strict=True, min_length=1)]
_Name = Annotated[str, Field(coerce_numbers_to_str=True, min_length=1)]
_Names = Annotated[list[_Name], Field(min_length=1)]
COLUMNS: dict[str, Any] = {
    "id": Annotated[_Name, Field(validation_alias=AliasChoices("id", "_id"))], "query-id": _Name,
    "corpus-ids": _Names, "text": _Text, "category": _Name,
    "sentences": Annotated[list[_Text], Field(min_length=1)], "labels": _Names, "sentence1": _Text,
    "sentence2": _Text, "score": Annotated[float, Field(strict=True, allow_inf_nan=False)],
}  # fmt: skip
"""Column of a task's own files → what a cell holds."""


class Rounded(Task):
    """KLUE-STS by the rounded rating, which mteb scores against."""

    def read(self, record: Any, guid: str) -> list[Example]:
        rating = {"label": float(record["labels"]["label"])}
        return [replace(example, label=rating) for example in super().read(record, guid)]  # type: ignore[safe-super]


class Quoted(Task):
    """A table as mteb's copy of KorSTS has it: read with quotes, which breaks three of 1,379 rows; these are left
    out."""

    def records(self, stream: IO[bytes]) -> list[Any]:
        rows = csv.DictReader(io.StringIO(stream.read().decode("utf-8-sig"), newline=""), delimiter="\t")
        return [row for row in rows if None not in row.values()]


class TitledKorQuad(KorQuad):
    """KorQuAD as mteb's copy has it: a passage with the title of its article."""

    def read(self, record: Any, guid: str) -> list[Example]:
        return [replace(example, given=str(record["title"])) for example in super().read(record, guid)]


AS_SCORED: dict[str, Task] = {
    "klue-sts": build_task("klue-sts", KLUE_ROWS["klue-sts"], Rounded),
    "korsts": build_task("korsts", KOELECTRA_ROWS["korsts"], Quoted),
    "korquad": TitledKorQuad(),
}
"""Readers of sets that mteb's copies differ from."""


@dataclass(frozen=True)
class ScoredTask:
    """A task as `tasks.yaml` has it."""

    splits: dict[str, str]
    set: str = ""
    columns: Sequence[str] = ()
    labels: Sequence[str] = ()
    subsets: Sequence[str] = ("default",)
    reranking: bool = False
    large: bool = False

    @property
    def reader(self) -> Task:
        """Return the reader of the authors' files."""
        return AS_SCORED.get(self.set) or READERS[self.set]

    @property
    def files(self) -> list[str]:
        """Return the files of a task without a built-in set, below its folder."""
        kinds = [f"{split}.jsonl" for split in self.splits]
        if not self.columns:
            kinds = ["corpus.jsonl", "queries.jsonl", *(f"qrels/{split}.tsv" for split in self.splits)]
            kinds += ["top_ranked.jsonl"] if self.reranking else []
        return [f"{subset}/{kind}" if len(self.subsets) > 1 else kind for subset in self.subsets for kind in kinds]


SCORED = {name: ScoredTask(**task) for name, task in TASKS.items()}


class Retrieval(NamedTuple):
    """Queries and documents by id, and each query's relevant documents."""

    queries: dict[str, str]
    corpus: dict[str, tuple[str, str]]  # title, "" where there is none, and text
    relevant: dict[str, dict[str, int]]
    ranked: dict[str, list[str]] | None = None  # documents that a reranking task orders anew


def split_file(task: Task, folders: Folders, split: str) -> Path:
    """Return the file of a task's split, in one of some folders or in a folder within one; UserError for none."""
    for folder in map(Path, folders):
        within = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
        for place in (suite_folder(folder, task.name), folder, *within):
            if (file := find_file(task, place, split)) is not None:
                return file
    raise UserError(
        f"no {split} file of {task.title} in {', '.join(map(str, folders)) or 'no folder'}",
        f"the file has the authors' layout: {task.file(split) or 'this set has no such part'}",
        "name its folder in embed.sources (of a command --data), or take the set out",
    )


def read_lines(path: Path, columns: Sequence[str] = ()) -> Iterator[tuple[int, Any]]:
    """Yield (line, row) of a file of JSON Lines, plain or compressed, in which each row has some of `COLUMNS`.

    Raises:
        UserError: the file is missing, damaged or, with columns, empty, or a row lacks a column or has another kind of
            value in it.
    """
    if not path.is_file():
        raise UserError(f"{path} is missing", "it is a file of JSON Lines", "fix the path")
    named: dict[str, Any] = {name: (COLUMNS[name], ...) for name in columns}
    line = 0
    kind = create_model("Row", __config__=ConfigDict(extra="allow"), **named)
    for line, row in json_lines(path):
        if columns:
            try:
                row = kind.model_validate(row if isinstance(row, dict) else {}).model_dump()
            except ValidationError as error:
                what = "{loc[0]}: {msg}".format_map(dict(error.errors()[0]))
                rule = f"a row has {', '.join(columns)}"
                raise UserError(f"{path}, line {line}: {what}", rule, "fix the line") from None
        yield line, row
    if columns and not line:
        raise UserError(f"{path} holds no rows", f"a row has {', '.join(columns)}", "fetch the file again")


def scored_files(name: str, folders: Folders) -> dict[str, Path]:
    """Return a scored task's files: of a built-in set by split, else by place; UserError where one is missing."""
    task = SCORED[name]
    if task.set:
        return {split: split_file(task.reader, folders, own) for split, own in task.splits.items()}
    files = {}
    for file in task.files:
        places = (Path(folder, name, file + ending) for folder in folders for ending in ("", *COMPRESSED))
        if (path := next((path for path in places if path.is_file()), None)) is None:
            where = ", ".join(map(str, folders)) or "no folder"
            raise UserError(f"no {name}/{file} in {where}", fix="put the file there, or score with --hub")
        files[file] = path
    return files


def read_scored(name: str, folders: Folders) -> dict[tuple[str, str], Any]:
    """Return (subset, split) → rows of a task as the hub has them; of a task with queries its `Retrieval`.

    Raises:
        UserError: a file is missing or damaged, or no metric can be computed on its rows.
    """
    task, files = SCORED[name], scored_files(name, folders)
    splits: dict[tuple[str, str], Any] = {}
    for subset, split in product(task.subsets, task.splits):
        if task.set:
            as_hub: Any = _as_rows if task.columns else _as_retrieval
            read = as_hub(task, read_examples(task.reader, files[split]))
        elif task.columns:
            read = [row for _, row in read_lines(files[f"{split}.jsonl"], task.columns)]
        else:
            read = _own_retrieval(files, f"{subset}/" if len(task.subsets) > 1 else "", split)
        if fault := _unscorable(read, task.columns):
            where = " ".join([name, *([subset] if len(task.subsets) > 1 else []), split])
            raise UserError(f"{where} cannot be scored: {fault}", _RULE, "take such rows out, or fetch the files again")
        splits[subset, split] = read
    return splits


_RULE = "a query has a relevant document (a score above 0 in qrels); rows have different labels"


def _unscorable(read: Any, columns: Sequence[str]) -> str:
    """Return why a metric over rows would be no number, or count what nothing can find; "" where it is one."""
    if isinstance(read, Retrieval):
        lacking = [query for query, documents in read.relevant.items() if not any(documents.values())]
        unranked = [query for query in read.relevant if read.ranked is not None and query not in read.ranked]
        if lacking:
            return f"{len(lacking):,} queries have no relevant document, '{lacking[0]}' the first"
        if unranked:
            return f"{len(unranked):,} queries have no documents to rank, '{unranked[0]}' the first"
        return "" if read.relevant else "no query has a relevant document"
    cells = [row[columns[-1]] for row in read]
    labels = {str(label) for cell in cells for label in (cell if isinstance(cell, list) else [cell])}
    return "" if len(labels) > 1 else f"its {len(cells):,} rows have the same label: {next(iter(labels), 'none')}"


def _as_rows(task: ScoredTask, examples: list[Example]) -> list[dict[str, Any]]:
    labels = [task.labels.index(example.label) if task.labels else example.label for example in examples]
    return [
        dict(zip(task.columns, (*example.texts, label), strict=True))
        for example, label in zip(examples, labels, strict=True)
    ]


def _as_retrieval(task: ScoredTask, examples: list[Example]) -> Retrieval:
    """Return the questions that have an answer, and all passages, with their titles where the reader gives them."""
    titles = {example.texts[1]: example.given if isinstance(example.given, str) else "" for example in examples}
    ids = {text: f"d{number}" for number, text in enumerate(titles)}
    answered = [example for example in examples if example.label != []]
    return Retrieval(
        {example.guid: example.texts[0].strip() for example in answered},
        {key: (titles[text], text) for text, key in ids.items()},
        {example.guid: {ids[example.texts[1]]: 1} for example in answered},
    )


def _by_id(path: Path) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for line, row in read_lines(path, ("id", "text")):
        if rows.setdefault(row["id"], row) is not row:
            raise UserError(f"{path}, line {line}: id '{row['id']}' again", "an id is of one row", "rename one of them")
    return rows


def _own_retrieval(files: dict[str, Path], prefix: str, split: str) -> Retrieval:
    """Return a split of a task in the layout of BEIR; the hub's copies have the same columns."""
    rows = _by_id(files[f"{prefix}corpus.jsonl"])
    corpus = {key: (str(row.get("title") or ""), row["text"]) for key, row in rows.items()}
    queries = {key: row["text"] for key, row in _by_id(files[f"{prefix}queries.jsonl"]).items()}
    relevant: dict[str, dict[str, int]] = defaultdict(dict)
    path = files[f"{prefix}qrels/{split}.tsv"]
    try:
        with decompression_errors(path), open_bytes(path) as stream:
            for row in table_records(stream):
                if (score := int(row["score"])) < 0:
                    raise ValueError(f"score {score} of query '{row['query-id']}'")
                if relevant[row["query-id"]].setdefault(row["corpus-id"], score) != score:
                    raise ValueError(f"two scores of query '{row['query-id']}' and document '{row['corpus-id']}'")
    except (KeyError, ValueError) as error:
        rule = "its columns are query-id, corpus-id and score, a whole number from 0"
        raise UserError(f"{path} is no table of relevant documents: {error}", rule, "fix the file") from None
    ranked = None
    if (listed := files.get(f"{prefix}top_ranked.jsonl")) is not None:
        ranked = {row["query-id"]: row["corpus-ids"] for _, row in read_lines(listed, ("query-id", "corpus-ids"))}
    for file, documents_by_query in ((path, relevant), (listed, ranked or {})):
        for query, documents in documents_by_query.items():
            absent = [key for key in documents if key not in corpus]
            if query not in queries or absent:
                what = f"document '{absent[0]}' of query '{query}'" if absent else f"query '{query}'"
                rule = f"{prefix}corpus.jsonl and {prefix}queries.jsonl hold all that is named"
                raise UserError(f"{file}: {what} is absent", rule, "add it, or take the line out")
    return Retrieval({key: queries[key] for key in relevant}, corpus, dict(relevant), ranked)
