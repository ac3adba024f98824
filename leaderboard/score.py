"""Scoring a model: a job a task, whose finished result is kept; a result holds what it takes to trust it."""

import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import HunminError, UserError, nearest
from common.extras import require
from common.file_facts import file_fact
from common.files import atomic_write, sha256_file
from common.lock import locked
from common.manifest import package_versions
from common.names import find, shown_name
from common.output import open_log
from common.progress import say
from common.rules import rules_number
from common.settings import dump_settings, settings_hash
from data.instruct.layout import CHAT_TEMPLATE
from leaderboard.result_file import FACTS, name_results, result_once
from leaderboard.settings import LeaderboardSettings
from leaderboard.suites import SUITES, TASKS, BoardTask, held_out_tasks, task_files, tasks_folder

READ = (".json", ".safetensors", ".bin", ".model", ".txt", ".jinja")  # of the files of a model's folder
RESAMPLES, SEED = 1000, 42
"""Samples and seed of the bootstrap; beyond each end of a 95% interval are 25 samples. Nothing else is random: answers
are greedy, shots are the first ones."""


def score_model(
    settings: LeaderboardSettings, model: Path | str, out: Path, held_out: Path | None = None, name: str = ""
) -> dict[str, Any]:
    """Score a model where rows are there; return {"model": name, "tasks": {task: result}, "absent": {task: why}}.

    Args:
        out: gets results/TASK-HASH.json, by the hash of model, rows, settings and versions, samples (answers only) and
            logs of the same names, and board.json, which names the results that count.
        held_out: an instruction build, for the suite instruct.
        name: of the model in reports; "" is its folder's.

    Raises:
        UserError: model, rows or settings do not fit.
        HunminError: a result is damaged or was changed, or a score is not finite.
    """
    require("lm_eval", "hunmin leaderboard score", "llm")
    from leaderboard.models import load_model
    from pretrain.decoders.load import open_decoder

    tasks, absent = _chosen(settings, held_out)
    folder, results = find(model, "model"), {}
    open_decoder(folder)
    load = cache(partial(load_model, folder, settings))
    name = name or shown_name(folder)
    read = [file for file in sorted(folder.iterdir()) if file.suffix in READ]
    common = {
        "settings": {k: v for k, v in dump_settings(settings).items() if k not in ("suites", "tasks", "data", "shots")},
        "model": settings_hash([(file.name, file_fact(file, "sha256", sha256_file)) for file in read]),
        "rules": rules_number("leaderboard"),
        "versions": package_versions("lm-eval", "transformers", "torch", "tokenizers"),
    }
    facts = {
        task.name: {
            **common,
            "task": task.name,
            "data": {f.name: sha256_file(f) for f in paths},
            "shots": settings.shots.get(task.name, 0),
        }
        for task, paths in tasks
    }
    with locked(out):
        files = name_results(out, name, facts)
        for task, paths in tasks:
            path = files[task.name]
            compute = partial(_result, load, task, settings, paths[0], out, path.stem, name)
            results[task.name] = result_once(path, facts[task.name], compute) | {"model_name": name}
    return {"model": name, "tasks": results, "absent": absent}


def _chosen(settings: LeaderboardSettings, held_out: Path | None) -> tuple[list[Any], dict[str, str]]:
    known = {name: TASKS[name] for suite in settings.suites for name in SUITES[suite]}
    if "instruct" in settings.suites:
        if held_out is None:
            raise UserError("the suite instruct has no rows", "it scores a build's held-out rows", "name the build")
        known |= held_out_tasks(held_out)
    for name in {*settings.tasks, *settings.shots} - {*known}:
        raise UserError(f"no task '{name}'{nearest(name, [*known])}", f"known: {', '.join(known)}", "fix the name")
    tasks = []
    absent = {}
    data = Path(settings.data) if settings.data else None
    for task in [known[name] for name in settings.tasks or known]:
        try:
            tasks.append((task, task_files(task, held_out if task.suite == "instruct" else data)))
        except UserError as error:
            absent[task.name] = f"{error.problem}; {error.rule}"
    if not tasks or (absent and settings.tasks):
        raise UserError("\n  ".join(["no rows", *absent.values()]), "", "check leaderboard.data")
    for why in absent.values():
        say(f"leaderboard: {why}", style="yellow")
    return tasks, absent


def _result(
    load: Callable[[], Any], task: BoardTask, settings: LeaderboardSettings, rows: Path, out: Path, key: str, name: str
) -> dict[str, Any]:
    """Return the result of a task, whose answers and log get the name `key`."""
    say(f"leaderboard: {name}, {task.name}")
    log = out / "logs" / f"{key}.log"
    log.parent.mkdir(exist_ok=True)
    with open_log(log) as to, redirect_stdout(to), nullcontext() if sys.stderr.isatty() else redirect_stderr(to):
        scores, facts = _score(load(), task, settings, rows, out / "samples" / f"{key}.jsonl")
    say(f"leaderboard: {name}, {task.name}: {task.metric} {scores[task.metric]:.4f} of {facts['n']:,} rows")
    return {"model_name": name, "results": {task.name: scores}, FACTS: facts}


def _score(lm: Any, task: BoardTask, settings: LeaderboardSettings, rows: Path, answers: Path) -> list[dict[str, Any]]:
    from lm_eval import tasks as shipped
    from lm_eval.evaluator import evaluate

    from leaderboard.tasks import lm_eval_spec

    template = lm.tokenizer.chat_template
    instruct = task.suite == "instruct"
    layout = "message" if instruct and template not in (None, CHAT_TEMPLATE) else "plain"
    chat = layout == "message" if instruct else settings.chat_template
    if chat and not template:
        raise UserError("the tokenizer has no chat template", "", "set leaderboard.chat_template to false")
    ways: Any = {
        "multiple_choice": {"listed": settings.listed},
        "social": {"groups": settings.groups},
        "instruction": {"use": task.use, "layout": layout},
    }
    inferred = ways.get(task.reads, {})
    metadata = {"data": str(rows if instruct else settings.data), **inferred}
    folders = [str(Path(str(shipped.__file__)).parent / "kobest"), str(tasks_folder())]
    manager = shipped.TaskManager(include_path=folders, include_defaults=False, metadata=metadata)
    loaded = manager.load([lm_eval_spec(task)])
    (loaded_task,) = loaded["tasks"].values()
    shots = settings.shots.get(task.name, 0)
    if shots > (len(loaded_task.dataset["fewshot"]) if loaded_task.config.fewshot_split else 0):
        raise UserError(f"{task.name} has not {shots} shots", f"they lie in {task.name}.fewshot.*", "add them")
    loaded_task.set_config("num_fewshot", shots)
    if settings.max_gen_toks and task.kind == "generation":
        loaded_task.set_config("generation_kwargs", {"max_gen_toks": settings.max_gen_toks}, update=True)

    def run(model: Any, **options: Any) -> tuple[dict[str, Any], Any]:
        evaluated: Any = evaluate(model, loaded, limit=settings.limit, bootstrap_iters=0, **options)
        pairs = evaluated["results"][loaded_task.task_name].items()
        return {key: float(v) for key, v in pairs if "," in key and "_stderr" not in key}, evaluated.get("samples", {})

    lm.cut.clear()
    lm.chat = chat
    scores, samples = run(lm, apply_chat_template=chat, fewshot_as_multiturn=chat)
    if bad := [f"{key} {value}" for key, value in scores.items() if not math.isfinite(value)]:
        raise HunminError(f"{task.name} has {', '.join(bad)}", "a score is a number", "look at the model's answers")
    constants = [
        {"answer": text, **run(constant_model, log_samples=False)[0]}
        for text, constant_model in _constants(task, loaded_task)
    ]
    task_samples = samples[loaded_task.task_name]
    intervals = {}
    for key in scores:
        name, by = key.split(",")
        values = [sample[name] for sample in task_samples if sample["filter"] == by]
        intervals[key] = interval(values, loaded_task.aggregation()[name], RESAMPLES, SEED)
    with atomic_write(answers, as_given=True) as stream:
        for sample in task_samples:
            facts = {key: sample[key] for key in ("doc_id", "filter", "filtered_resps", *sample["metrics"])}
            stream.write(json.dumps(facts, ensure_ascii=False, default=str) + "\n")
    return [
        scores,
        {
            "suite": task.suite,
            "metric": task.metric,
            "kind": task.kind,
            "n": len({sample["doc_id"] for sample in task_samples}),
            "limit": settings.limit,
            "intervals": intervals,
            "constants": constants,
            "best": max(row[task.metric] for row in constants),
            "cut": len(lm.cut),
            "prompts": "chat template" if chat else "plain text",
            "inferred": inferred,
            "generation": loaded_task.config.generation_kwargs,
            "device": str(lm.device),
            "batch_size": lm.batch_size,
        },
    ]


def _constants(task: BoardTask, loaded_task: Any) -> list[tuple[str, Any]]:
    """Return constant answers, given without reading the prompt, and the models that give them."""
    from leaderboard.models import ConstantLM

    docs = list(loaded_task.eval_docs)
    if task.kind == "generation":
        often = {field: Counter(str(doc[field]) for doc in docs).most_common(1)[0][0] for field in docs[0]}
        return [(text, ConstantLM(text=text)) for text in (form.format_map(often) for form in task.constants)]
    choices = [loaded_task.doc_to_choice(doc) for doc in docs]
    same = choices.count(choices[0]) == len(choices)
    names = [choices[0][k].strip() if same else f"choice {k + 1}" for k in range(min(map(len, choices)))]
    models = [(name, ConstantLM(k)) for k, name in enumerate(names)]
    labels: dict[Any, Counter[str]] = {frozenset(words): Counter() for words in choices}
    if not same and 5 * len(labels) <= len(docs) and task.reads in ("multiple_choice", "instruction"):
        for words, doc in zip(choices, docs, strict=True):
            labels[frozenset(words)][words[doc["gold"]]] += 1
        most = {words: counted.most_common(1)[0][0] for words, counted in labels.items()}
        pick = ConstantLM(lambda doc: int(doc["choices"].index(most[frozenset(doc["choices"])])))
        models.append(("most frequent label", pick))
    return models


def interval(values: Sequence[Any], aggregate: Callable[[Any], float], resamples: int, seed: int) -> list[float]:
    """Return the ends of the 95% bootstrap interval of a metric, over what it keeps of each row."""
    draw = np.random.default_rng(seed)
    n = len(values)
    rows = np.fromiter(values, dtype=object)
    if all(isinstance(value, float | int) for value in values):
        rows, aggregate = rows.astype(float), np.mean
    drawn = [float(aggregate(rows[draw.integers(n, size=n)])) for _ in range(resamples)]
    return [float(end) for end in np.percentile(drawn, [2.5, 97.5])]
