"""Tables of scores as Markdown, LaTeX or JSON: KIT-19's published rows beside ours, constants flagged, means, facts."""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from common.settings import load_yaml
from klue.grid import latex_grid, markdown_grid, md, tex
from leaderboard.results import Score, read_results
from leaderboard.suites import SUITES, TASKS, scale_of

FACTS = ["model", "task", "metric", "score", "95% interval", "n", "best constant", "shots", "prompts", "cut",
         "inferred", "rows (SHA-256)", "versions"]  # fmt: skip


def report(paths: Sequence[Path], form: str = "markdown") -> str:
    """Return the scores in files and folders, as `read_results` takes them, as tables with a model a row.

    Args:
        paths: result files, or folders of them.
        form: "markdown", "latex" or "json".
    """
    scores, published = read_results(paths), load_yaml(Path(__file__).with_name("published.yaml"))
    models: dict[str, dict[str, Score]] = {}
    for score in scores:
        models.setdefault(score.model, {})[score.task] = score
    if form == "json":
        tree = {
            "scores": [vars(score) for score in scores],
            "means": {name: means(own) for name, own in models.items()},
        }
        return json.dumps(tree | {"published": published}, ensure_ascii=False, indent=1) + "\n"
    draw, escape = (markdown_grid, md) if form == "markdown" else (latex_grid, tex)
    parts = []
    for suite in [name for name in SUITES if any(score.task in SUITES[name] for score in scores)]:
        names = SUITES[suite]
        head = ["model", *(TASKS[name].title for name in names)]
        body = [[model, *(_cell(own.get(name)) for name in names)] for model, own in models.items()]
        if suite == "leaderboard2":
            head += ["mean likelihood", "mean generation", "mean of nine"]
            for line, own in zip(body, models.values(), strict=True):
                line += [mean if isinstance(mean, str) else f"{mean:.2f}" for mean in means(own).values()]
        else:
            constants = published["constants"]
            for model, row in published["rows"].items():
                body.append([f"published: {model}", *(_marked(row[name], constants[name]) for name in names)])
            body.append(["best constant answer", *(_marked(constants[name][0]) for name in names)])
        parts += [draw((suite, head, body)), escape(published["notes"][suite]) + "\n"]
    facts = [[one.model, one.task, one.metric, f"{one.value:.2f}", *_facts(one)] for one in scores]
    return "\n".join([*parts, draw(("scores", FACTS, facts))])


def means(own: dict[str, Score]) -> dict[str, float | str]:
    """Return a model's means over leaderboard2's tasks by likelihood, by generation, and all nine; "partial (k of n)"
    where not all ran on all rows."""
    found: dict[str, float | str] = {}
    for name in ("likelihood", "generation", "all"):
        wanted = [task for task in SUITES["leaderboard2"] if name in ("all", TASKS[task].kind)]
        whole = [own[task].value for task in wanted if task in own and not own[task].facts.get("limit")]
        found[name] = fmean(whole) if len(whole) == len(wanted) else f"partial ({len(whole)} of {len(wanted)})"
    return found


def _cell(score: Score | None) -> str:
    if score is None:
        return "–"
    task, constants = TASKS[score.task], score.facts.get("constants", ())
    keys = [task.metric, *(task.beside if task.suite == "kit19" else ())]
    values = [score.scores[key] for key in keys if key in score.scores] or [score.value]
    rows = [[row[key] * 100 / scale_of(key) for key in keys] for row in constants if task.suite == "kit19"]
    return _marked(values, rows) + "*" * bool(score.facts.get("limit"))


def _marked(values: Sequence[float], constants: Sequence[Sequence[float]] = ()) -> str:
    same = any(all(abs(v - c) < 0.006 for v, c in zip(values, one, strict=False)) for one in constants)
    below = any(values[0] < one[0] - 0.005 for one in constants)
    return " / ".join(f"{value:.2f}" for value in values) + ("†" if same else "‡" if below else "")


def _facts(score: Score) -> list[str]:
    if not (facts := score.facts):
        return ["–"] * (len(FACTS) - 4)
    low, high, best = (end * 100 / scale_of(score.metric) for end in (*facts["intervals"][score.metric], facts["best"]))
    told = ({**facts["inferred"], **(facts["generation"] or {})}, facts["data"], facts["versions"])
    return [f"{low:.2f} to {high:.2f}", f"{facts['n']:,}" + "*" * bool(facts["limit"]), f"{best:.2f}",
            str(facts["shots"]), facts["prompts"], f"{facts['cut']:,}",
            *("; ".join(f"{key} {str(value)[:40]}" for key, value in one.items()) for one in told)]  # fmt: skip
