"""Models against each other on the same examples: bootstrap intervals, and paired differences with their chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, takewhile
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.progress import ProgressBar
from klue.grid import Grid
from klue.metrics.confidence import central_interval, drawn_scores, paired_p_value
from klue.result_rows import read_answers
from klue.results import chosen, metrics_of, spread
from klue.score_file import DRAWS, defined
from klue.tables import model_title
from klue.tasks import TASKS

HOW = (
    f"Intervals: 95%, bootstrap over examples ({DRAWS:,} draws), scores being means over the seeds at hand; p: paired "
    "bootstrap, two-sided, not corrected for the number of comparisons. Neither speaks of other seeds, nor of other "
    "runs of pretraining."
)


@dataclass(frozen=True)
class System:
    """What a model predicted for a task's examples, of the settings that were best on dev."""

    model: str
    init: str
    task: str
    split: str
    gold: dict[str, Any]
    """guid → label."""
    seeds: list[dict[str, Any]]
    """guid → prediction, of each seed."""

    @property
    def title(self) -> str:
        """Return the names of model and initialisation, for people."""
        return model_title(self.model, self.init)

    @property
    def lists(self) -> list[list[Any]]:
        """Return each seed's predictions in the order of the gold labels."""
        return [[seed[guid] for guid in self.gold] for seed in self.seeds]


def read_models(
    folders: Sequence[tuple[str, Path]], read: Callable[[Path], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Return the result rows of (path as given, folder), each with its `folder` and a model's name of its own."""
    results = [(path, folder, read(folder)) for path, folder in folders]
    names = [{row.get("model", "") for row in rows} for _, _, rows in results]
    places = distinguishing_parts([path for path, _ in folders])
    rows = []
    for number, (place, (_, folder, folder_rows)) in enumerate(zip(places, results, strict=True)):
        other_names = set().union(*names[:number], *names[number + 1 :])
        for row in folder_rows:
            model = row.get("model", "")
            title = f"{model} ({place})" if model in other_names or not model else model
            rows.append({**row, "model": title if len(results) > 1 else model, "folder": str(folder)})
    return rows


def distinguishing_parts(paths: Sequence[str]) -> list[str]:
    """Return of each path what tells it from the others: without the folders that all begin and end with. Raises
    UserError where two are of the same folder.

    >>> distinguishing_parts(["runs/small/1/klue", "runs/small/2/klue"]), distinguishing_parts(["runs/a", "runs/a/b"])
    (['1', '2'], ['runs/a', 'runs/a/b'])
    """
    for path, other in combinations(paths, 2):
        if Path(path).resolve() == Path(other).resolve():
            raise UserError(f"{path} and {other} are the same folder", "a run is set beside others", "leave one out")
    parts = [Path(path).parts for path in paths]
    first = _shared(parts)
    last = _shared([each[first:][::-1] for each in parts])
    distinct_parts = [each[first : len(each) - last] for each in parts]
    return [str(Path(*part)) for part in distinct_parts] if all(distinct_parts) else list(paths)


def _shared(parts: Sequence[tuple[str, ...]]) -> int:
    return sum(1 for _ in takewhile(lambda same: len(set(same)) == 1, zip(*parts, strict=False)))


def systems_of(rows: Sequence[dict[str, Any]], task: str | None = None) -> tuple[list[System], dict[str, str]]:
    """Return the systems of result rows (with `folder` and `job`), and task → why of those that lack a system."""
    systems: list[System] = []
    missing: dict[str, list[str]] = {}
    for group, _ in chosen([row for row in rows if task in (None, row["task"])]):
        first = group[0]
        split = "test" if first.get("test") else "dev"
        out = Path(first["folder"])
        whole = [answers for row in group if (answers := read_answers(out, row, split))]
        if len(whole) < len(group):
            missing.setdefault(first["task"], []).append(str(out))
        else:
            (gold, _), seeds = whole[0], [seed for _, seed in whole]
            systems.append(System(first.get("model", ""), first["init"], first["task"], split, gold, seeds))
    return systems, {
        name: f"{', '.join(dict.fromkeys(outs))}: gold labels or predictions are missing; run klue finetune again, "
        "jobs are kept"
        for name, outs in missing.items()
    }


def compare(rows: Sequence[dict[str, Any]], draws: int = DRAWS) -> dict[str, Any]:
    """Return {"intervals", "differences", "not_compared", "how"} of the models and initialisations of result rows.

    An interval is {"task", "split", "metric", "model", "init", "seeds", "examples", "score", "low", "high"}, a
    difference {"task", "split", "metric", "first", "second", "difference", "low", "high", "p"}: of two pretrained
    models, or of a model and its random initialisation, on the same examples. `not_compared` is task → why: systems
    lack predictions, or were not all scored on the same examples: those that were are compared with each other.
    """
    systems, not_compared = systems_of(rows)
    groups = [group for name in TASKS for group in _on_the_same_examples(systems, name)]
    for name in dict.fromkeys(group[0].task for group in groups):
        apart_from = [" and ".join(system.title for system in group) for group in groups if group[0].task == name]
        if len(apart_from) > 1:
            why = f"not scored on the same examples: {' | '.join(apart_from)}"
            not_compared[name] = "; ".join(filter(None, (not_compared.get(name), why)))
    intervals: list[dict[str, Any]] = []
    differences: list[dict[str, Any]] = []
    with ProgressBar("bootstrap", draws * len(groups), "draws") as bar:
        for same in groups:
            name, gold = same[0].task, list(same[0].gold.values())
            scores = drawn_scores(
                TASKS[name].weighted, gold, [system.lists for system in same], draws, each=lambda: bar.advance(1)
            )
            for metric in TASKS[name].metrics:
                facts = {"task": name, "split": same[0].split, "metric": metric}
                points = [_mean(system, gold, metric) for system in same]
                for number, system in enumerate(same):
                    low, high = map(defined, central_interval(scores[metric][:, number]))
                    intervals.append(
                        {
                            **facts,
                            "model": system.model,
                            "init": system.init,
                            "seeds": len(system.seeds),
                            "examples": len(gold),
                            "score": points[number],
                            "low": low,
                            "high": high,
                        }
                    )
                for a, b in combinations(range(len(same)), 2):
                    if not _comparable(same[a], same[b]):
                        continue
                    drawn = scores[metric][:, a] - scores[metric][:, b]
                    low, high = map(defined, central_interval(drawn))
                    first, second = points[a], points[b]
                    difference = None if first is None or second is None else first - second
                    differences.append(
                        {
                            **facts,
                            "first": same[a].title,
                            "second": same[b].title,
                            "difference": difference,
                            "low": low,
                            "high": high,
                            "p": defined(paired_p_value(drawn)),
                        }
                    )
    return {"intervals": intervals, "differences": differences, "not_compared": not_compared, "how": HOW}


def comparison_grids(comparison: dict[str, Any]) -> list[Grid]:
    """Return the tables of intervals and, where there are any, of differences."""
    intervals = [
        [
            _metric(row),
            model_title(row["model"], row["init"]),
            f"{row['seeds']}",
            f"{row['examples']:,}",
            _number(row["score"]),
            _between(row),
        ]
        for row in comparison["intervals"]
    ]
    differences = [
        [
            _metric(row),
            row["first"],
            row["second"],
            _number(row["difference"], sign=True),
            _between(row, sign=True),
            "–" if row["p"] is None else f"{row['p']:.3f}",
        ]
        for row in comparison["differences"]
    ]
    grids = [("Intervals", ["metric", "model", "seeds", "examples", "score", "95%"], intervals)]
    if differences:
        grids.append(("Differences", ["metric", "first", "second", "first − second", "95%", "p"], differences))
    return grids


def _on_the_same_examples(systems: Sequence[System], task: str) -> list[list[System]]:
    """Return a task's systems, those together that were scored on the same examples, whose labels are in one order."""
    groups: list[list[System]] = []
    for system in systems:
        if system.task != task:
            continue
        for group in groups:
            if (group[0].split, group[0].gold) == (system.split, system.gold):
                group.append(replace(system, gold=group[0].gold))
                break
        else:
            groups.append([system])
    return groups


def _comparable(first: System, second: System) -> bool:
    """Return whether two systems are two models' pretrained ones, or a model's two initialisations."""
    return first.model == second.model if first.init != second.init else first.init == "pretrained"


def _mean(system: System, gold: Sequence[Any], metric: str) -> float | None:
    return spread([defined(TASKS[system.task].score(gold, seed)[metric]) for seed in system.lists])["mean"]


def _metric(row: dict[str, Any]) -> str:
    return f"{TASKS[row['task']].title} {metrics_of(row['task'])[row['metric']]}, {row['split']}"


def _number(value: float | None, sign: bool = False) -> str:
    return "undefined" if value is None else f"{value:+.2f}" if sign else f"{value:.2f}"


def _between(row: dict[str, Any], sign: bool = False) -> str:
    return f"{_number(row['low'], sign)} to {_number(row['high'], sign)}"
