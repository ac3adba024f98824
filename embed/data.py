"""Rows to train on: read, checked, held against what is scored, and counted."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common.compressed import decompression_errors
from common.errors import UserError, nearest
from common.files import open_bytes
from embed.sets import RANGE, Leaks, licence_of, training_rows
from embed.settings import EmbedDataSettings, EmbedSettings

RANKED = {"query": str, "positive": str, "negatives": list, "scores": list}
PAIRED = {"text_a": str, "text_b": str, "score": float}
SHAPES = "a row is {query, positive, negatives?, scores?} or {text_a, text_b, score}"


@dataclass
class TrainingSet:
    """A data set as it is trained on."""

    name: str
    settings: EmbedDataSettings
    licence: str
    shape: str = ""
    """"ranking", "scored" or "distilled"."""
    texts: list[tuple[str, ...]] = field(default_factory=list)
    """Of a row: query, positive, negatives; or the two texts."""
    labels: list[Any] = field(default_factory=list)
    """Score in [0, 1], or a teacher's scores; none where rows are ranked."""
    counts: Counter[str] = field(default_factory=Counter)


class BadRowError(ValueError):
    """A row that cannot be trained on; the message says what is wrong."""


def load_sets(settings: EmbedSettings) -> list[TrainingSet]:
    """Return the data sets of a recipe, without rows that hold a pair that it scores.

    Raises:
        UserError: a file or a row is wrong, sets do not go together, or a set has fewer rows than a batch.
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
        if len(one.texts) < settings.batch:
            raise UserError(
                f"{one.name} has {len(one.texts):,} rows, embed.batch is {settings.batch}",
                "a batch is of one set, and full", "lower embed.batch, or add rows",
            )  # fmt: skip
    _refuse_known_positives(sets)
    return sets


def _load(number: int, given: EmbedDataSettings, settings: EmbedSettings, leaks: Leaks) -> TrainingSet:
    """Return a set; rows of built-in sets that break a rule are counted, in a file they are errors."""
    name = given.use or Path(str(given.path)).name.split(".")[0]
    licence = licence_of(given.use) if given.use else given.licence or "unstated"
    found = TrainingSet(f"{number}-{name}", given, licence)
    low, high = RANGE if given.use else given.range
    if given.use:
        rows: Iterator[tuple[int, Any]] = iter(enumerate(training_rows(given.use, settings.sources, given.split), 1))
    else:
        rows = read_lines(Path(str(given.path)))
    shape: tuple[str, int] | None = None
    for line, row in rows:
        try:
            kind, texts, label = checked_row(row, low, high)
            if shape not in (None, (kind, len(texts))):
                raise BadRowError(
                    f"the row is {_described(kind, len(texts))}, the rows before it are {_described(*shape or ('', 0))}"
                )
        except BadRowError as error:
            if given.use:
                found.counts["invalid"] += 1
                continue
            raise UserError(f"{given.path}, line {line}: {error}", "every row counts", "fix the row") from None
        shape = kind, len(texts)
        found.counts["read"] += 1
        leak = leaks.of(texts) if leaks.beside else ""
        if leak == "pair":
            found.counts["removed: a scored pair"] += 1
            continue
        found.counts["one text scored"] += leak == "text"
        found.texts.append(texts)
        found.labels += [] if kind == "ranking" else [label]
    found.shape = shape[0] if shape else "ranking"
    if found.shape == "distilled" and given.distill == "kl" and len(found.texts[0]) < 3:
        raise UserError(f"{given.path} has one candidate a query", "KL divergence compares candidates", "add negatives")
    return found


def read_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line, row) of a file of JSON Lines, plain or compressed; empty lines are passed over.

    Raises:
        UserError: it is missing, damaged, or a line is not JSON.
    """
    if not path.is_file():
        raise UserError(f"{path} is missing", "embed.data[].path is a file of JSON Lines", "fix the path")
    with decompression_errors(path), open_bytes(path) as stream:
        for line, content in enumerate(stream, 1):
            if content.strip():
                try:
                    yield line, json.loads(content)
                except ValueError as error:
                    raise UserError(f"{path}, line {line}: not JSON ({error})", SHAPES, "fix the line") from None


def checked_row(row: Any, low: float, high: float) -> tuple[str, tuple[str, ...], Any]:
    """Return shape, texts and label of a row.

    Args:
        row: as it stands in a file.
        low: lowest score of a pair.
        high: highest score; scores are brought to [0, 1].

    Raises:
        BadRowError: a field is unknown or missing, or breaks a rule.
    """
    if not isinstance(row, dict):
        raise BadRowError(f"{str(row)[:40]!r} is no object")
    known = PAIRED if "text_a" in row or "text_b" in row else RANKED
    for name in row:
        if name not in known:
            raise BadRowError(f"unknown field {name!r}{nearest(name, list(known))}; {SHAPES}")
    if known is PAIRED:
        texts, score = (_text(row, "text_a"), _text(row, "text_b")), _number(row.get("score"), "score")
        if not low <= score <= high:
            raise BadRowError(f"score {score:g} is outside {low:g} to {high:g} (embed.data[].range)")
        return "scored", texts, (score - low) / (high - low)
    negatives = row.get("negatives") or []
    if not isinstance(negatives, list):
        raise BadRowError("negatives is no list of texts")
    query, positive = _text(row, "query"), _text(row, "positive")
    others = tuple(_text({"negatives": one}, "negatives") for one in negatives)
    if query == positive:
        raise BadRowError(f"query and positive are the same: {query[:40]!r}")
    if positive in others or query in others or len(set(others)) < len(others):
        raise BadRowError("a negative is the query, the positive or another negative")
    if (scores := row.get("scores")) is None:
        return "ranking", (query, positive, *others), None
    if not isinstance(scores, list) or len(scores) != 1 + len(others):
        count = len(scores) if isinstance(scores, list) else "no list of"
        raise BadRowError(f"{count} scores for {1 + len(others)} candidates: the positive, then each negative")
    if not others:
        raise BadRowError("scores without negatives: a teacher compares candidates")
    return "distilled", (query, positive, *others), [_number(one, "scores") for one in scores]


def _text(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise BadRowError(f"{name} is missing" if value is None else f"{name} is no text: {str(value)[:40]!r}")
    if not value.strip():
        raise BadRowError(f"{name} is empty")
    return value


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise BadRowError(f"{name} is no number: {value!r}")
    return float(value)


def _described(shape: str, texts: int) -> str:
    return "a scored pair" if shape == "scored" else f"{shape} with {texts - 2} negatives"


def positives_of(sets: Sequence[TrainingSet]) -> dict[str, set[str]]:
    """Return query → its positives in all sets that are ranked."""
    found: dict[str, set[str]] = defaultdict(set)
    for one in sets:
        for query, positive, *_ in one.texts if one.shape == "ranking" else ():
            found[query].add(positive)
    return found


def _refuse_known_positives(sets: Sequence[TrainingSet]) -> None:
    """Refuse a negative that is another row's positive of its query; take such rows of built-in sets out."""
    known = positives_of(sets)
    for one in sets:
        if one.shape != "ranking":
            continue
        bad = [row for row in one.texts if not known[row[0]].isdisjoint(row[2:])]
        if bad and not one.settings.use:
            raise UserError(
                f"{one.settings.path}: a negative of {bad[0][0][:40]!r} is a positive of it in another row",
                "a query's other positives are never its negatives", "take the negative out",
            )  # fmt: skip
        if bad:
            one.counts["invalid"] += len(bad)
            one.texts = [row for row in one.texts if known[row[0]].isdisjoint(row[2:])]


def describe_sets(sets: Sequence[TrainingSet], tokenizer: Any, length: int, examples: int = 1) -> list[dict[str, Any]]:
    """Return of each set its shape, rows, counts, licence, texts that training cuts, and first rows.

    Args:
        sets: as `load_sets` gives them.
        tokenizer: of the base.
        length: most tokens of a text.
        examples: rows to show.
    """
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
