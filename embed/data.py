"""Rows to train on: read, checked, held against what is scored, and counted."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Strict, ValidationError, model_validator

from common.errors import UserError, nearest
from common.files import atomic_write
from common.settings import Settings
from data.decontaminate.normalise import text_key
from embed.scored import read_lines
from embed.sets import LICENCES, RANGE, Leaks, training_rows
from embed.settings import EmbedDataSettings, EmbedSettings

SHAPES = "a row is {query, positive, negatives?, scores?} or {text_a, text_b, score}"


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("the text is empty")
    return text


Text = Annotated[str, AfterValidator(_filled)]
Number = Annotated[float, Strict()]


class RankedRow(Settings):
    """A query, what answers it and what does not; with a teacher's scores of the positive, then each negative."""

    query: Text
    positive: Text
    negatives: list[Text] | None = None
    scores: list[Number] | None = None
    origins: list[str] | None = None
    """Built-in sets that a mined or taught row comes from."""

    @model_validator(mode="after")
    def _fits(self) -> RankedRow:
        negatives = self.negatives or []
        right = {text_key(self.query), text_key(self.positive)}
        if self.query == self.positive:
            raise ValueError(f"query and positive are the same: {self.query[:40]!r}")
        if len(right.union(map(text_key, negatives))) < len(right) + len(negatives):
            raise ValueError("a negative is the query, the positive or another negative")
        if self.scores is not None and len(self.scores) != 1 + len(negatives):
            mismatch = f"{len(self.scores)} scores for {1 + len(negatives)} candidates"
            raise ValueError(f"{mismatch}: the positive, then each negative")
        if self.scores is not None and not negatives:
            raise ValueError("scores without negatives: a teacher compares candidates")
        if outside := [score for score in self.scores or () if not abs(score) < 1.001]:  # a rounded cosine may pass 1
            raise ValueError(f"a teacher's score {outside[0]:g} is outside -1 to 1: put logits through a sigmoid")
        return self


class PairRow(Settings):
    """Two texts and how similar they are."""

    text_a: Text
    text_b: Text
    score: Number


@dataclass
class TrainingSet:
    """A data set as it is trained on."""

    name: str
    settings: EmbedDataSettings
    licence: str
    shape: str = "ranking"  # or "scored", "distilled"
    texts: list[tuple[str, ...]] = field(default_factory=list)  # of a row: query, positive, negatives; or the two texts
    origins: set[str] = field(default_factory=set)  # built-in sets that its rows come from
    labels: list[Any] = field(
        default_factory=list
    )  # score in [0, 1], or a teacher's scores; none where rows are ranked
    removed: list[tuple[str, ...]] = field(default_factory=list)  # rows with a scored pair; their positives stay known
    counts: Counter[str] = field(default_factory=Counter)


def load_sets(settings: EmbedSettings) -> list[TrainingSet]:
    """Return the data sets of a recipe, without rows that hold a pair that it scores.

    Raises:
        UserError: a file or a row is wrong, sets do not go together, or a set has no rows.
    """
    leaks = Leaks(settings.score, settings.sources)
    sets = [_load(number, dataset, settings, leaks) for number, dataset in enumerate(settings.data)]
    prompts = {dataset.settings.prompts for dataset in sets if dataset.shape != "scored"}
    if len(prompts) > 1:
        raise UserError(
            "the data sets have different prompts",
            "a model has one prompt of queries and one of documents",
            "give embed.data[].prompts alike in all sets with queries",
        )
    for dataset in sets:
        if dataset.shape == "scored" and any(dataset.settings.prompts.model_dump().values()):
            raise UserError(
                f"{dataset.name} has prompts, and its pairs are scored without",
                "pairs of sentences have no query",
                "take prompts out of this set",
            )
        if dataset.shape == "scored" and settings.kind == "multi-vector":
            rule = "a multi-vector model learns from queries and documents"
            raise UserError(f"{dataset.name} holds scored pairs", rule, "take the set out, or set embed.kind=dense")
    _refuse_known_positives(sets)
    if empty := [dataset.name for dataset in sets if not dataset.texts]:
        raise UserError(
            f"{empty[0]} has no rows", "rows with a scored pair are removed", "add rows, or take the set out"
        )
    return sets


def refuse_small_sets(sets: Iterable[TrainingSet], batch: int) -> None:
    """Raise a UserError where a set has fewer rows than a batch."""
    for dataset in sets:
        if len(dataset.texts) < batch:
            raise UserError(
                f"{dataset.name} has {len(dataset.texts):,} rows, embed.batch is {batch}",
                "a batch is of one set, and full",
                "lower embed.batch, or add rows",
            )


def _load(number: int, entry: EmbedDataSettings, settings: EmbedSettings, leaks: Leaks) -> TrainingSet:
    """Return a set; rows of built-in sets that break a rule are counted, in a file they are errors."""
    name: str
    if entry.use:
        name = entry.use
        licence = LICENCES.get(entry.use, "CC BY-SA 4.0")
        low, high = RANGE
        rows: Iterable[tuple[int, Any]] = enumerate(training_rows(entry.use, settings.sources, entry.split), 1)
    else:
        path = Path(str(entry.path))
        # a file that was mined or taught begins with the number of a set already
        name = re.sub(r"^(\d{1,2}-)+(?=.)", "", path.name.split(".")[0])
        licence = entry.licence or "unstated"
        low, high = entry.range
        rows = read_lines(path)
    dataset = TrainingSet(f"{number}-{name}", entry, licence, origins={entry.use} if entry.use else set())
    shape = ""
    for line, row in rows:
        try:
            dataset.shape, texts, label = _checked(row, low, high)
            described = f"{dataset.shape} with {len(texts)} texts"
            if shape not in ("", described):
                raise ValueError(f"the row is {described}, the rows before it are {shape}")
        except ValueError as error:
            if not entry.use:
                rule = "every row counts, and all of a file have as many negatives"
                raise UserError(f"{entry.path}, line {line}: {error}", rule, "fix the row, or split the file") from None
            dataset.counts["invalid"] += 1
            continue
        shape = described
        dataset.counts["read"] += 1
        leak = leaks.of(texts)
        if leak == "pair":
            dataset.counts["removed as a scored pair"] += 1
            dataset.removed.append(texts)
            continue
        dataset.counts["with one scored text (not removed)"] += leak == "text"
        dataset.texts.append(texts)
        dataset.origins.update(row.get("origins") or ())
        dataset.labels += [] if label is None else [label]
    return dataset


def _checked(row: Any, low: float, high: float) -> tuple[str, tuple[str, ...], Any]:
    """Return shape, texts and label of a row, a score from `low` to `high` brought to 0 to 1, or raise a ValueError."""
    if not isinstance(row, dict):
        raise ValueError(f"{str(row)[:40]!r} is no object; {SHAPES}")
    kind = PairRow if "text_a" in row or "text_b" in row else RankedRow
    try:
        read: Any = kind.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            raise ValueError(f"unknown field '{field}'{nearest(field, list(kind.model_fields))}; {SHAPES}") from None
        message = first["msg"].removeprefix("Value error, ")
        raise ValueError(f"{field}: {message}" if field else message) from None
    if isinstance(read, PairRow):
        if not low <= read.score <= high:
            raise ValueError(f"score {read.score:g} is outside {low:g} to {high:g} (embed.data[].range)")
        return "scored", (read.text_a, read.text_b), (read.score - low) / (high - low)
    texts = (read.query, read.positive, *(read.negatives or ()))
    return ("ranking", texts, None) if read.scores is None else ("distilled", texts, read.scores)


def positives_of(sets: Sequence[TrainingSet]) -> dict[str, set[str]]:
    """Return query → its positives in all sets that are ranked, those of removed rows too, all by `text_key`."""
    positives: dict[str, set[str]] = defaultdict(set)
    for dataset in sets:
        for query, positive, *_ in [*dataset.texts, *dataset.removed] if dataset.shape == "ranking" else ():
            positives[text_key(query)].add(text_key(positive))
    return positives


def _refuse_known_positives(sets: Sequence[TrainingSet]) -> None:
    """Refuse a negative that is another row's positive of its query; take such rows of built-in sets out."""
    known = positives_of(sets)
    for dataset in sets:
        good = [row for row in dataset.texts if known[text_key(row[0])].isdisjoint(map(text_key, row[2:]))]
        if dataset.shape != "ranking" or len(good) == len(dataset.texts):
            continue
        if not dataset.settings.use:
            query = next(row[0] for row in dataset.texts if row not in good)
            raise UserError(
                f"{dataset.settings.path}: a negative of {query[:40]!r} is a positive of it in another row",
                "a query's other positives are never its negatives",
                "take the negative out",
            )
        dataset.counts["invalid"] += len(dataset.texts) - len(good)
        dataset.texts = good


def describe_sets(sets: Sequence[TrainingSet], tokenizer: Any, length: int, examples: int = 1) -> list[dict[str, Any]]:
    """Return of each set its shape, rows, counts, licence, texts of more than `length` tokens, and first rows."""
    described = []
    for dataset in sets:
        prompts = dataset.settings.prompts
        texts = [prompts.query + row[0] for row in dataset.texts]
        texts += [prompts.document + text for row in dataset.texts for text in row[1:]]
        lengths = tokenizer(texts, return_attention_mask=False, verbose=False)["input_ids"] if texts else []
        described.append({
            "set": dataset.name, "shape": dataset.shape, "rows": len(dataset.texts), "weight": dataset.settings.weight,
            "negatives": len(dataset.texts[0]) - 2 if dataset.shape != "scored" else 0,
            "licence": dataset.licence, "texts": len(texts), "cut": sum(len(ids) > length for ids in lengths),
            "counts": dict(dataset.counts), "examples": [list(row) for row in dataset.texts[:examples]],
        })  # fmt: skip
    return described


def query_sets(sets: Sequence[TrainingSet]) -> list[TrainingSet]:
    """Return the sets whose rows are queries and documents; UserError where there is none."""
    ranked = [dataset for dataset in sets if dataset.shape != "scored"]
    if not ranked:
        raise UserError(
            f"no set with queries: {', '.join(dataset.name for dataset in sets)}",
            "negatives and rerankers need rows of {query, positive}",
            "add one to embed.data (korquad, klue-mrc)",
        )
    return ranked


def write_rows(out: Path, dataset: TrainingSet, rows: Iterable[dict[str, Any]]) -> None:
    """Write the rows of a set as JSON Lines in a folder, each with the built-in sets that the set comes from."""
    origins = {"origins": sorted(dataset.origins)} if dataset.origins else {}
    with atomic_write(out / f"{dataset.name}.jsonl", as_given=True) as stream:
        stream.writelines(json.dumps(row | origins, ensure_ascii=False) + "\n" for row in rows)
