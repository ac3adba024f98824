"""Scores of this project, lm-eval, the board and CSV tables; reports of them, KIT-19's published rows beside ours."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from common.differing import differing, unequal_note
from common.errors import UserError
from common.manifest import MANIFEST
from common.results import AMOUNT, CORRELATION, FACTS, FINITE, check_numbers, read_result
from common.settings import load_yaml
from klue.grid import Best, latex_grid, markdown_grid, md, tex
from leaderboard.result_file import BOARD, counted_results
from leaderboard.rows import number, read_rows
from leaderboard.suites import SUITES, TASKS, BoardTask, bounds_of

COLUMNS = ["95% interval", "n", "best constant", "prompts cut", "settings", "rows (SHA-256)", "versions"]
OTHERS = "leave it out, or score again"
USUAL = ["acc_norm,none", "acc,none", "exact_match,none"]  # of other files, the first that is there


@dataclass(eq=False)
class Score:
    """A model's score on a task; values are percent of the metric's scale."""

    model: str
    task: str
    metric: str
    value: float
    scores: dict[str, float] = field(default_factory=dict)  # all metrics
    facts: dict[str, Any] = field(default_factory=dict)  # what this project's result says beside them
    limited: bool = False  # whether some rows were left out, so that no mean takes it


def read_results(paths: Sequence[Path]) -> list[Score]:
    """Return the scores in files, or folders' JSON files (of a folder of scores: those that count). Raises UserError
    for a damaged file, none at all, or two scores of a model on a task."""
    scores, places = list[Score](), dict[tuple[str, ...], Path]()
    for place, score in (placed for path in paths for placed in _scores(path)):
        if other := places.get(key := (score.model, str(score.facts.get("model", "")), score.task)):
            problem = f"{other} and {place} both hold a score of {score.model} on {score.task}"
            raise UserError(problem, "a table shows a model's score on a task once", "leave one of them out")
        places[key] = place
        scores.append(score)
    if not scores:
        raise UserError(f"no scores in {', '.join(map(str, paths))}", "", "name result files or their folders")
    models = {(score.model, str(score.facts.get("model", ""))) for score in scores}
    for score in scores:  # two models may lie in folders of one name
        if sum(name == score.model for name, _ in models) > 1:
            score.model += f" ({str(score.facts.get('model', 'other'))[:6]})"
    return scores


def _scores(source: Path) -> Iterator[tuple[Path, Score]]:
    source = source.parent if source.is_dir() and (source.parent / BOARD).is_file() else source
    boards = sorted(path.parent for path in source.rglob(BOARD))
    for board in boards:
        for tree in counted_results(board, _tree):
            yield from ((board, score) for score in _tree(tree))
    files = sorted(source.rglob("*.json")) if source.is_dir() else [source]
    for path in [file for file in files if file.name != MANIFEST and not {*boards} & {*file.parents}]:
        if path.suffix != ".csv":
            yield from ((path, score) for score in _tree(read_result(path, _tree, OTHERS)))
            continue
        try:
            for row in read_rows(path):
                low = bounds_of(TASKS[row["task"]].metric)[0] if row["task"] in TASKS else CORRELATION[0]
                check_numbers(value := number(row["score"]), name="score", bounds=(low, 100))
                yield path, Score(row["model"], row["task"], "score", value)
        except (ValueError, KeyError) as error:
            raise UserError(f"cannot read {path}: {error!r}", "CSV has model,task,score, in percent", OTHERS) from None


def _tree(tree: Any) -> list[Score]:
    """Return the scores in a tree of results. Raises one of `common.results.UNFIT` for a number out of range."""
    tree, task_scores = tree if isinstance(tree, dict) else {}, []
    facts = tree.get(FACTS) or {}
    general = tree.get("config_general") or tree.get("config") or {}
    model = general.get("model_name") or tree.get("model_name") or general.get("model") or "?"
    for name, values in (tree.get("results") or {}).items():
        scores = {k: v for k, v in values.items() if "," in k and "_stderr" not in k and v != "N/A"}
        for key, value in scores.items():
            check_numbers(value, name=f"{key} of {name}", bounds=bounds_of(key) if name in TASKS or facts else FINITE)
        strict = [scores.get(f"{by}_level_strict_acc,none") for by in ("prompt", "inst")]
        if name == "ko_ifeval" and None not in strict:  # the mean that the board takes
            scores.setdefault("ifeval,none", sum(filter(None, strict)) / 2)
        known = [facts["metric"]] if facts else [TASKS[name].metric, *USUAL] if name in TASKS else USUAL
        for metric in [key for key in known if key in scores][:1]:
            check_numbers(scores[metric], name=f"{metric} of {name}", bounds=bounds_of(metric))
            scores = {key: value * 100 / bounds_of(key)[1] for key, value in scores.items()}
            limited = bool(facts.get("limit") or (tree.get("config") or {}).get("limit"))
            score = Score(str(model), name, metric, scores[metric], scores, facts, limited)
            if facts:
                beside = [*facts["intervals"][metric], facts["best"], *(row[metric] for row in facts["constants"])]
                check_numbers(beside, name=f"{metric} beside {name}", bounds=bounds_of(metric))
                check_numbers([facts["n"], facts["cut"]], name="n", bounds=AMOUNT)
            _facts(score)  # a fact that lacks is told with the file's name
            task_scores.append(score)
    return task_scores


def report(paths: Sequence[Path], form: str = "markdown") -> str:
    """Return the scores that `read_results` finds as "markdown" or "latex" tables, a model a row, or as "json"."""
    scores = read_results(paths)
    published = load_yaml(Path(__file__).with_name("published.yaml"))
    models: dict[str, dict[str, Score]] = {}
    for score in scores:
        models.setdefault(score.model, {})[score.task] = score
    if form == "json":
        tree = {"scores": [*map(vars, scores)], "means": {name: means(by_task) for name, by_task in models.items()}}
        return json.dumps(tree | {"published": published}, ensure_ascii=False, indent=1) + "\n"
    draw, escape = (markdown_grid, md) if form == "markdown" else (latex_grid, tex)
    parts = []
    for suite in [name for name in SUITES if any(score.task in SUITES[name] for score in scores)]:
        names = SUITES[suite]
        head = ["model", *(TASKS[name].title for name in names)]
        body = [
            [model, *(_cell(by_task[name]) if name in by_task else "–" for name in names)]
            for model, by_task in models.items()
        ]
        differs = {}
        for column, name in enumerate(names, 1):
            lines = {
                by_task[name]: line for line, by_task in zip(body, models.values(), strict=True) if name in by_task
            }
            if len(lines) > 1 and all(score.facts for score in lines):  # of other programs' files no settings are known
                differs[TASKS[name].title] = unlike = differing([*map(_measured, lines)])
                best = max(score.value for score in lines)
                for line in [line for score, line in lines.items() if not unlike and score.value == best]:
                    line[column] = Best(line[column])
        if suite == "leaderboard2":
            head += ["mean likelihood", "mean generation", "mean of nine"]
            for line, by_task in zip(body, models.values(), strict=True):
                line += [mean if isinstance(mean, str) else f"{mean:.2f}" for mean in means(by_task).values()]
        else:
            body += _best_constants(models, names)
            constants = published["constants"]
            for model, row in published["rows"].items():
                body.append([f"published: {model}", *(_marked(row[name], constants[name]) for name in names)])
            body.append(["published: best constant answer", *(_marked(constants[name][0]) for name in names)])
        notes = [published["notes"][suite], *unequal_note(differs)]
        parts += [draw((suite, head, body)), *(escape(note) + "\n" for note in notes)]
    facts = [[score.model, score.task, score.metric, f"{score.value:.2f}", *_facts(score)] for score in scores]
    return "\n".join([*parts, draw(("scores", ["model", "task", "metric", "score", *COLUMNS], facts))])


def means(by_task: dict[str, Score]) -> dict[str, float | str]:
    """Return a model's means over leaderboard2's tasks, by kind and all; "partial (k of n)" where some lack rows."""
    by_kind: dict[str, float | str] = {}
    for name in ("likelihood", "generation", "all"):
        tasks = [task for task in SUITES["leaderboard2"] if name in ("all", TASKS[task].kind)]
        whole = [by_task[task].value for task in tasks if task in by_task and not by_task[task].limited]
        by_kind[name] = fmean(whole) if len(whole) == len(tasks) else f"partial ({len(whole)} of {len(tasks)})"
    return by_kind


def _best_constants(models: dict[str, dict[str, Score]], names: Sequence[str]) -> list[list[str]]:
    rows: dict[tuple[str, ...], list[str]] = {}
    for model, by_task in models.items():
        constants = [_constants(by_task[name]) if name in by_task else [] for name in names]
        rows.setdefault(tuple(_marked(max(values)) if values else "–" for values in constants), []).append(model)
    rows = {cells: models for cells, models in rows.items() if {*cells} != {"–"}}
    title = "best constant answer"
    return [[title + f": {', '.join(models)}" * (len(rows) > 1), *cells] for cells, models in rows.items()]


def _measured(score: Score) -> dict[str, Any]:
    facts = score.facts
    settings = {"truncated": bool(facts["cut"]), "lm-eval": facts["versions"]["lm-eval"]} | _settings(facts)
    return {name: facts[name] for name in ("metric", "limit", "data")} | settings


def _settings(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: facts[name] for name in ("prompts", "shots")} | facts["inferred"] | (facts["generation"] or {})


def _keys(task: BoardTask) -> list[str]:
    return [task.metric, *(task.beside if task.suite == "kit19" else ())]


def _constants(score: Score) -> list[list[float]]:
    keys = _keys(TASKS[score.task])
    return [[row[key] * 100 / bounds_of(key)[1] for key in keys] for row in score.facts.get("constants", ())]


def _cell(score: Score) -> str:
    task = TASKS[score.task]
    values = [score.scores[key] for key in _keys(task) if key in score.scores] or [score.value]
    rows = _constants(score) if task.suite == "kit19" else []
    other_metric = f" ({score.metric.split(',')[0]})" * (score.metric not in ("score", task.metric))
    return _marked(values, rows) + "*" * score.limited + other_metric


def _marked(values: Sequence[float], constants: Sequence[Sequence[float]] = ()) -> str:
    same = any(all(abs(v - c) < 0.006 for v, c in zip(values, constant, strict=False)) for constant in constants)
    below = any(values[0] < constant[0] - 0.005 for constant in constants)
    return " / ".join(f"{value:.2f}" for value in values) + ("†" if same else "‡" if below else "")


def _facts(score: Score) -> list[str]:
    if not (facts := score.facts):
        return ["–"] * len(COLUMNS)
    low, high, best = (
        end * 100 / bounds_of(score.metric)[1] for end in (*facts["intervals"][score.metric], facts["best"])
    )
    hashes = {name: digest[:16] for name, digest in facts["data"].items()}  # 40 digits would be masked as a secret
    parts = (_settings(facts), hashes, facts["versions"])
    lists = ["; ".join(f"{name} {str(value)[:40]}" for name, value in part.items()) for part in parts]
    n = f"{facts['n']:,}" + "*" * score.limited
    return [f"{low:.2f} to {high:.2f}", n, f"{best:.2f}", f"{facts['cut']:,}", *lists]
