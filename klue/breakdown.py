"""Scores by class, entity type, relation, arc, slot or answerability, which label was taken for which, and the worst
examples, as rows and as tables."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from klue.compare import systems_of
from klue.grid import Grid
from klue.metrics.entities import entity_spans
from klue.metrics.reading import exact_match, rouge_w, weighted_korquad_scores
from klue.results import spread
from klue.tables import cell, model_title
from klue.tasks import TASKS
from klue.tasks.base import Example
from klue.tasks.sentences import Classification, Regression

Rows = dict[str, dict[str, float]]
"""Group → {"examples" or what is counted, metrics × 100}."""
GroupScorer = Callable[[Sequence[Any], Sequence[Any]], Rows]
"""Function of gold labels and predictions that scores groups of examples."""
Things = list[tuple[str, Hashable]]


def details(task: str, gold: Sequence[Any], seeds: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return {"group", "count" in gold, metric: {"mean", "sd", "n"}} of each group over seeds, in the labels' order."""
    by_seed = [scores_by_group(task, gold, predictions) for predictions in seeds]
    rows = []
    for group in _in_order(task, {group for scores in by_seed for group in scores}):
        present = [scores[group] for scores in by_seed if group in scores]
        names = [name for name in present[0] if name != "count"]
        # a group that a seed has not found anywhere counts 0 there
        metrics = {name: spread([scores.get(group, {}).get(name, 0.0) for scores in by_seed]) for name in names}
        rows.append({"group": group, "count": int(present[0]["count"]), **metrics})
    return rows


def scores_by_group(task: str, gold: Sequence[Any], predictions: Sequence[Any]) -> Rows:
    """Return the scores of each group of a task's examples, of one seed."""
    kind = TASKS[task]
    form = kind.like or task
    if form in _OWN:
        return _OWN[form](gold, predictions)
    if isinstance(kind, Regression):
        return _by_group(_band, _distance)(gold, predictions)
    if form not in _THINGS and not isinstance(kind, Classification):
        raise ValueError(f"{task} has no groups")
    things = _THINGS.get(form, _labelled)
    return _f1(things(gold), things(predictions))


def confusion(task: str, gold: Sequence[Any], seeds: Sequence[Sequence[Any]]) -> tuple[list[str], np.ndarray]:
    """Return the L labels that occur, in the task's order, and counts, (L, L): gold down, predicted across, over seeds.

    Classes and relations are counted by example, types of entities (and O) by character, labels of arcs by word. Raises
    ValueError where the task's predictions are no labels.
    """
    if not has_labels(task):
        raise ValueError(f"predictions of {task} are no labels")
    labels_of = _LABELS_IN.get(TASKS[task].like or task, lambda label: [label])
    pairs: Counter[tuple[str, str]] = Counter()
    for predictions in seeds:
        for true, predicted in zip(gold, predictions, strict=True):
            pairs.update(zip(labels_of(true), labels_of(predicted), strict=True))
    names = _in_order(task, {label for pair in pairs for label in pair})
    counts = np.array([[pairs[true, predicted] for predicted in names] for true in names], float) / len(seeds)
    return names, counts


def _in_order(task: str, groups: set[str]) -> list[str]:
    labels = TASKS[task].labels
    return sorted(groups, key=lambda group: (labels.index(group) if group in labels else len(labels), group))


def has_labels(task: str) -> bool:
    """Return whether a task's predictions are labels that `confusion` can count."""
    return (TASKS[task].like or task) in _LABELS_IN or isinstance(TASKS[task], Classification)


def errors_of(task: str, gold: Any, prediction: Any) -> float:
    """Return how wrong a prediction for one example is, 0 where it is right: what the worst examples go by. Labels 0 or
    1; numbers the distance; characters, arcs, entries of a state how many are wrong; answers 1 minus the overlap with
    the best gold answer."""
    kind = TASKS[task]
    form = kind.like or task
    if form == "klue-ner":
        return float(sum(g != p for g, p in zip(gold, prediction, strict=True)))
    if form == "klue-dp":
        return float(sum(g != p for g, p in zip(_arcs(gold), _arcs(prediction), strict=True)))
    if form in ("wos", "multi-label"):
        return float(len(set(gold) ^ set(prediction)))
    if form == "klue-mrc":
        return 1 - rouge_w([gold], [prediction]) / 100
    if form == "korquad":
        return 1 - _korquad([gold], [prediction])["F1"] / 100
    return abs(gold - prediction) if isinstance(kind, Regression) else float(gold != _label(prediction))


def _f1(gold: Things, predicted: Things) -> Rows:
    hits = (Counter(gold) & Counter(predicted)).elements()
    in_gold, in_predicted, in_both = (Counter(group for group, _ in things) for things in (gold, predicted, hits))
    return {
        group: {
            "count": in_gold[group],
            "precision": 100 * in_both[group] / in_predicted[group] if in_predicted[group] else 0.0,
            "recall": 100 * in_both[group] / in_gold[group] if in_gold[group] else 0.0,
            "f1": 200 * in_both[group] / (in_gold[group] + in_predicted[group]),
        }
        for group in in_gold | in_predicted
    }


def _by_group(
    group_of: Callable[[Any], str], score: Callable[[Sequence[Any], Sequence[Any]], dict[str, float]]
) -> GroupScorer:
    def scorer(gold: Sequence[Any], predictions: Sequence[Any]) -> Rows:
        groups: dict[str, tuple[list[Any], list[Any]]] = {}
        for label, prediction in zip(gold, predictions, strict=True):
            for side, value in zip(groups.setdefault(group_of(label), ([], [])), (label, prediction), strict=True):
                side.append(value)
        return {group: {"count": len(sides[0]), **score(*sides)} for group, sides in groups.items()}

    return scorer


def _label(value: Any) -> str:
    return str(value["label"] if isinstance(value, dict) else value)


def _labelled(side: Sequence[Any]) -> Things:
    return [(_label(value), number) for number, value in enumerate(side)]


def _entities(side: Sequence[Any]) -> Things:
    return [(kind, (n, start, end)) for n, labels in enumerate(side) for start, end, kind in entity_spans(labels)]


def _sets(side: Sequence[Any]) -> Things:
    return [(label, number) for number, labels in enumerate(side) for label in labels]


def _slots(side: Sequence[Any]) -> Things:
    return [
        ("-".join(entry.split("-", 2)[:2]), (turn, entry)) for turn, state in enumerate(side) for entry in set(state)
    ]


def _arcs(parse: dict[str, Any]) -> list[tuple[int, str]]:
    return list(zip(parse["heads"], parse["labels"], strict=True))


def _labels(gold: Sequence[Any], predictions: Sequence[Any]) -> Rows:
    """Return the shares of words with the right head, and label too, by gold label and by length of the gold arc."""
    words: dict[str, list[tuple[bool, bool]]] = {}
    for true_parse, predicted_parse in zip(gold, predictions, strict=True):
        for place, ((head, label), arc) in enumerate(
            zip(_arcs(true_parse), _arcs(predicted_parse), strict=True), start=1
        ):
            for group in (label, _length(place, head)):
                words.setdefault(group, []).append((arc[0] == head, arc == (head, label)))
    return {
        label: {
            "count": len(pairs),
            "head": 100 * sum(head for head, _ in pairs) / len(pairs),
            "head and label": 100 * sum(both for _, both in pairs) / len(pairs),
        }
        for label, pairs in words.items()
    }


def _length(place: int, head: int) -> str:
    length = abs(head - place) if head else 0
    return ("root", "arc of 1", "arc of 2–3", "arc of 4–7", "arc of 8+")[bisect_left((0, 1, 3, 7), length)]


def _band(value: float) -> str:
    low = min(int(value), 4)
    return f"{low} to {low + 1}"


def _distance(gold: Sequence[float], predictions: Sequence[float]) -> dict[str, float]:
    return {"mean error": sum(abs(g - p) for g, p in zip(gold, predictions, strict=True)) / len(gold)}


def _answers(gold: Sequence[Any], predictions: Sequence[Any]) -> dict[str, float]:
    scores = {"EM": exact_match(gold, predictions), "ROUGE-W": rouge_w(gold, predictions)}
    return {**scores, "answered": 100 * sum(map(bool, predictions)) / len(predictions)}


def _length_of_first(answers: Sequence[str]) -> str:
    size = len(answers[0]) if answers else 0
    return ("no answer", "1–5 characters", "6–15 characters", "over 15 characters")[bisect_left((0, 5, 15), size)]


def _korquad(gold: Sequence[Any], predictions: Sequence[Any]) -> dict[str, float]:
    scores = weighted_korquad_scores(gold, predictions)(np.ones(len(gold)))
    return {"EM": scores["exact_match"], "F1": scores["f1"]}


_LABELS_IN: dict[str, Callable[[Any], list[str]]] = {
    "klue-re": lambda label: [_label(label)],
    "klue-ner": lambda labels: [label.split("-")[-1] for label in labels],
    "klue-dp": lambda parse: list(parse["labels"]),
}
"""Task → the labels in an example's gold, or in its prediction."""
_OWN: dict[str, GroupScorer] = {
    "klue-dp": _labels,
    "klue-mrc": _by_group(lambda answers: "answerable" if answers else "no answer", _answers),
    "korquad": _by_group(_length_of_first, _korquad),
}
_THINGS: dict[str, Callable[[Sequence[Any]], Things]] = {"klue-ner": _entities, "wos": _slots, "multi-label": _sets}
"""Task → (group, thing) of all that is right or wrong as a whole, of one side."""


def detail_rows(rows: Sequence[dict[str, Any]], task: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return `details` of each system, and what is missing, see `klue.compare.systems_of`."""
    systems, missing = systems_of(rows, task)
    detailed = [
        {"model": system.model, "init": system.init, "split": system.split, **row}
        for system in systems
        for row in details(task, list(system.gold.values()), system.lists)
    ]
    return detailed, missing


def confusions(rows: Sequence[dict[str, Any]], task: str) -> list[tuple[str, list[str], np.ndarray]]:
    """Return title, labels and counts (`confusion`) of each system; none where there are no labels."""
    if not has_labels(task):
        return []
    return [
        (system.title, *confusion(task, list(system.gold.values()), system.lists))
        for system in systems_of(rows, task)[0]
    ]


def detail_grids(rows: Sequence[dict[str, Any]], task: str) -> list[Grid]:
    """Return the tables of a task's details, one a model and initialisation; mean ± standard deviation over seeds."""
    grids = []
    for system, system_rows in _by_system(rows).items():
        names = [name for name in system_rows[0] if name not in ("model", "init", "split", "group", "count")]
        body = [[row["group"], f"{row['count']:,}", *(cell(row[name]) for name in names)] for row in system_rows]
        grids.append((f"{TASKS[task].title}, {system_rows[0]['split']}: {system}", ["", "in gold", *names], body))
    return grids


def worst(rows: Sequence[dict[str, Any]], task: str, examples: Sequence[Example], count: int) -> list[dict[str, Any]]:
    """Return {"model", "init", "guid", "error", "texts", "gold", "predictions"} of each system's examples with most
    error, the mean over seeds; those without error are left out."""
    texts = {example.guid: example.texts for example in examples}
    worst_rows = []
    for system in systems_of(rows, task)[0]:
        errors = {
            guid: sum(errors_of(task, label, seed[guid]) for seed in system.seeds) / len(system.seeds)
            for guid, label in system.gold.items()
        }
        for guid in sorted(system.gold, key=lambda guid: -errors[guid])[:count]:
            if errors[guid] > 0:
                worst_rows.append(
                    {
                        "model": system.model,
                        "init": system.init,
                        "guid": guid,
                        "error": errors[guid],
                        "texts": list(texts.get(guid, ())),
                        "gold": system.gold[guid],
                        "predictions": [seed[guid] for seed in system.seeds],
                    }
                )
    return worst_rows


def worst_grids(rows: Sequence[dict[str, Any]], task: str) -> list[Grid]:
    """Return the tables of the worst examples, one a model and initialisation."""
    head = ["guid", "error", "text", "gold", "predictions"]
    grids = []
    for system, system_rows in _by_system(rows).items():
        body = [
            [
                row["guid"],
                f"{row['error']:.2f}",
                " / ".join(row["texts"]),
                _short(row["gold"]),
                "; ".join(map(_short, row["predictions"])),
            ]
            for row in system_rows
        ]
        grids.append((f"{TASKS[task].title}, most error: {system}", head, body))
    return grids


def _by_system(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    by_system: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_system.setdefault(model_title(row["model"], row["init"]), []).append(row)
    return by_system


def _short(value: Any) -> str:
    value = value["label"] if isinstance(value, dict) and "probabilities" in value else value
    if isinstance(value, str):
        return value
    return f"{value:.2f}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
