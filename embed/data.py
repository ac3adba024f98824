"""Rows to train on: read, checked, held against what is scored, and counted."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Strict, ValidationError, model_validator

from common.errors import UserError, nearest
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
        others = self.negatives or []
        right = {text_key(self.query), text_key(self.positive)}
        if self.query == self.positive:
            raise ValueError(f"query and positive are the same: {self.query[:40]!r}")
        if len(right.union(map(text_key, others))) < len(right) + len(others):
            raise ValueError("a negative is the query, the positive or another negative")
        if self.scores is not None and len(self.scores) != 1 + len(others):
            given = f"{len(self.scores)} scores for {1 + len(others)} candidates"
            raise ValueError(f"{given}: the positive, then each negative")
        if self.scores is not None and not others:
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
    shape: str = "ranking"
    """"ranking", "scored" or "distilled"."""
    texts: list[tuple[str, ...]] = field(default_factory=list)
    """Of a row: query, positive, negatives; or the two texts."""
    origins: set[str] = field(default_factory=set)
    """Built-in sets that its rows come from."""
    labels: list[Any] = field(default_factory=list)
    """Score in [0, 1], or a teacher's scores; none where rows are ranked."""
    removed: list[tuple[str, ...]] = field(default_factory=list)
    """Texts of rows that hold a scored pair; their positives stay known."""
    counts: Counter[str] = field(default_factory=Counter)


def load_sets(settings: EmbedSettings) -> list[TrainingSet]:
    """Return the data sets of a recipe, without rows that hold a pair that it scores.

    Raises:
        UserError: a file or a row is wrong, sets do not go together, or a set has no rows.
    """
    leaks = Leaks(settings.score, settings.sources)
    sets = [_load(number, one, settings, leaks) for number, one in enumerate(settings.data)]
    prompts = {one.settings.prompts for one in sets if one.shape != "scored"}
    if len(prompts) > 1:
        raise UserError(
            "the data sets have different prompts", "a model has one prompt of queries and one of documents",
            "give embed.data[].prompts alike in all sets with queries",
        )  # fmt: skip
    for one in sets:
        if one.shape == "scored" and any(one.settings.prompts.model_dump().values()):
            raise UserError(
                f"{one.name} has prompts, and its pairs are scored without", "pairs of sentences have no query",
                "take prompts out of this set",
            )  # fmt: skip
    _refuse_known_positives(sets)
    if empty := [one.name for one in sets if not one.texts]:
        raise UserError(
            f"{empty[0]} has no rows", "rows with a scored pair are removed", "add rows, or take the set out"
        )
    return sets


def refuse_small_sets(sets: Iterable[TrainingSet], batch: int) -> None:
    """Raise a UserError where a set has fewer rows than a batch."""
    for one in sets:
        if len(one.texts) < batch:
            raise UserError(
                f"{one.name} has {len(one.texts):,} rows, embed.batch is {batch}",
                "a batch is of one set, and full", "lower embed.batch, or add rows",
            )  # fmt: skip


def _load(number: int, given: EmbedDataSettings, settings: EmbedSettings, leaks: Leaks) -> TrainingSet:
    """Return a set; rows of built-in sets that break a rule are counted, in a file they are errors."""
    name: str
    if given.use:
        name, licence, (low, high) = given.use, LICENCES.get(given.use, "CC BY-SA 4.0"), RANGE
        rows: Iterable[tuple[int, Any]] = enumerate(training_rows(given.use, settings.sources, given.split), 1)
    else:
        path = Path(str(given.path))
        # a file that was mined or taught begins with the number of a set already
        name = re.sub(r"^(\d{1,2}-)+(?=.)", "", path.name.split(".")[0])
        licence, (low, high), rows = given.licence or "unstated", given.range, read_lines(path)
    found, shape = TrainingSet(f"{number}-{name}", given, licence, origins={given.use} if given.use else set()), ""
    for line, row in rows:
        try:
            found.shape, texts, label = checked_row(row, low, high)
            described = f"{found.shape} with {len(texts)} texts"
            if shape not in ("", described):
                raise ValueError(f"the row is {described}, the rows before it are {shape}")
        except ValueError as error:
            if not given.use:
                rule = "every row counts, and all of a file have as many negatives"
                raise UserError(f"{given.path}, line {line}: {error}", rule, "fix the row, or split the file") from None
            found.counts["invalid"] += 1
            continue
        shape = described
        found.counts["read"] += 1
        leak = leaks.of(texts)
        if leak == "pair":
            found.counts["removed: a scored pair"] += 1
            found.removed.append(texts)
            continue
        found.counts["one text scored"] += leak == "text"
        found.texts.append(texts)
        found.origins.update(row.get("origins") or ())
        found.labels += [] if label is None else [label]
    return found


def checked_row(row: Any, low: float, high: float) -> tuple[str, tuple[str, ...], Any]:
    """Return shape, texts and label of a row, whose score from `low` to `high` is brought to 0 to 1.

    Raises:
        ValueError: a field is unknown or missing, or breaks a rule.
    """
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
    found: dict[str, set[str]] = defaultdict(set)
    for one in sets:
        for query, positive, *_ in [*one.texts, *one.removed] if one.shape == "ranking" else ():
            found[text_key(query)].add(text_key(positive))
    return found


def _refuse_known_positives(sets: Sequence[TrainingSet]) -> None:
    """Refuse a negative that is another row's positive of its query; take such rows of built-in sets out."""
    known = positives_of(sets)
    for one in sets:
        good = [row for row in one.texts if known[text_key(row[0])].isdisjoint(map(text_key, row[2:]))]
        if one.shape != "ranking" or len(good) == len(one.texts):
            continue
        if not one.settings.use:
            query = next(row[0] for row in one.texts if row not in good)
            raise UserError(
                f"{one.settings.path}: a negative of {query[:40]!r} is a positive of it in another row",
                "a query's other positives are never its negatives", "take the negative out",
            )  # fmt: skip
        one.counts["invalid"] += len(one.texts) - len(good)
        one.texts = good


def describe_sets(sets: Sequence[TrainingSet], tokenizer: Any, length: int, examples: int = 1) -> list[dict[str, Any]]:
    """Return of each set its shape, rows, counts, licence, texts of more than `length` tokens, and first rows."""
    found = []
    for one in sets:
        prompts = one.settings.prompts
        texts = [prompts.query + row[0] for row in one.texts]
        texts += [prompts.document + text for row in one.texts for text in row[1:]]
        lengths = tokenizer(texts, return_attention_mask=False, verbose=False)["input_ids"] if texts else []
        found.append({
            "set": one.name, "shape": one.shape, "rows": len(one.texts),
            "negatives": len(one.texts[0]) - 2 if one.shape != "scored" else 0, "weight": one.settings.weight,
            "licence": one.licence, "texts": len(texts), "cut": sum(len(ids) > length for ids in lengths),
            "counts": dict(one.counts), "examples": [list(row) for row in one.texts[:examples]],
        })  # fmt: skip
    return found
