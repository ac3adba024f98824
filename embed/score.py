"""Scoring by mteb: a model beside its untuned base, random weights, character n-grams and published rows."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from common.errors import HunminError, UserError, nearest
from common.file_facts import file_fact
from common.files import atomic_write, sha256_file
from common.lock import locked
from common.manifest import MANIFEST, package_versions
from common.message import Message, as_tree, filled, from_tree
from common.names import shown_name
from common.progress import say
from common.results import FACTS as RESULT_FACTS
from common.results import encoded
from common.rules import rules_number
from common.settings import load_yaml, settings_hash
from embed.base import is_multi_vector, load_model, model_like, quiet_libraries, refuse_multi_vector
from embed.card import FACTS, read_facts
from embed.onnx import graph_of, use_graph
from embed.scored import SCORED, Folders, scored_files
from embed.settings import RETRIEVAL, TABLE, require_mteb
from embed.tables import check_main, index_rows, read_table
from klue.model_folder import read_model_folder
from leaderboard.result_file import result_once

BENCHMARK = "MTEB(kor, v2)"
PART = "{count} of {all} tasks of {name}"
CUT = "{name}, {width} entries"
NGRAMS = "character n-grams"
WEIGHTS = (".safetensors", ".bin")
"""Ends of the names of files that hold a model's weights."""
OF_MODELS = (*WEIGHTS, ".json", ".txt", ".model")
"""Those of all files of a model: also configurations and vocabularies."""


class Row(NamedTuple):
    """A row of the table, and the model that it scores."""

    title: str
    revision: str  # hash of what it computes with
    load: Callable[[], Any] | None  # returns the model of sentence-transformers; None of character n-grams
    trained: Collection[str] = ()  # tasks on whose sets it was trained
    truncate: int | None = None
    comparison: bool = False  # stands beside for its scores; its index is the model's


def score_models(
    model: Path, folders: Folders, out: Path, tasks: Sequence[str] = (), base: Path | None = None,
    truncate: int | None = None, name: str = "", hub: bool = False, large: bool = False, backend: str = "",
    widths: Sequence[int] = (),
) -> dict[str, Any]:  # fmt: skip
    """Return the table: {"tasks": {task: metric, differs}, "rows": [{"model", "scores": {task: percent}, "trained_on",
    "truncate", "revision", "results", "index": {task: documents, bytes, encode_seconds, queries, search_seconds}}],
    "absent": {task: why}, "heading", "messages": {title or difference: as `common.message.as_tree` writes it}}.

    Writes mteb's JSON below `out/mteb`, by name and a hash of weights, data, code and versions, and `out/table.json`.

    Args:
        tasks: to score; none = those whose data are there.
        base: encoder before it was tuned; None scores none.
        truncate: entries of a vector to keep; None = all; `widths` likewise, in a row each.
        hub: let mteb fetch tasks that have no files here.
        large: score tasks of a million documents, too, that `tasks` does not name.
        backend: one of `GRAPHS`, scored in a row of its own; "" = none.

    Raises:
        UserError: no model, no data, or mteb is missing.
        HunminError: a result is damaged or was changed, or a score is not finite.
    """
    require_mteb()
    if not hub:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    elif os.environ.get("HF_HUB_OFFLINE", "0").lower() in ("1", "on", "yes", "true"):
        raise UserError("--hub fetches data, and HF_HUB_OFFLINE is set", fix="unset it, or leave --hub out")
    quiet_libraries()
    from embed.tasks import differences, hub_task, local_task

    opened = load_model(model)  # refuses what is none
    width = opened.get_embedding_dimension()
    if base:
        read_model_folder(base)
    multi_vector = is_multi_vector(opened)
    single = [name for name in tasks if name in SCORED and name not in RETRIEVAL]
    for option, value in (("--truncate", truncate), ("--backend", backend), ("--task", ", ".join(single))):
        if multi_vector and value:
            refuse_multi_vector(opened, model, f"{option} {value}")
    if truncate and truncate > width:
        raise UserError(f"--truncate {truncate} is more than the {width} entries of a vector", fix="lower it")
    files, absent = _chosen(tasks or (RETRIEVAL if multi_vector else SCORED), bool(tasks), folders, hub, large)
    facts = read_facts(model)
    learned = {name for entry in facts.get("trained_on", []) for name in (entry["set"], *entry.get("origins", ()))}
    trained = {name for name, task in SCORED.items() if task.set and task.set in learned}
    table: dict[str, Any] = {"tasks": {}, "rows": [], "absent": absent}
    with locked(out):
        if (out / TABLE).exists():
            read_table(out)  # one that was edited stays
        loaded = {name: local_task(name, folders) if paths else hub_task(name) for name, paths in files.items()}
        for task_name, task in loaded.items():
            table["tasks"][task_name] = {"metric": task.metadata.main_score, "differs": differences(task)}
        for row in _models(model, base, name or shown_name(model), trained, truncate, backend, widths):
            entry = {"model": row.title, "trained_on": sorted({*row.trained} & {*loaded}), "truncate": row.truncate}
            table["rows"].append(entry | {"revision": row.revision} | _score(row, loaded, files, out))
        table["heading"] = heading(loaded)
        texts = [table["heading"], *(row["model"] for row in table["rows"])]
        texts += [line for task in table["tasks"].values() for line in task["differs"]]
        table["messages"] = {text: as_tree(text) for text in texts if isinstance(text, Message)}
        with atomic_write(out / TABLE, "wb") as stream:
            stream.write(encoded(table))
    return table


def heading(scored: Iterable[str]) -> str:
    """Return what stands over scores of some tasks: the benchmark's name where all of its tasks are among them."""
    names = published()["tasks"]
    count = len({*names} & {*scored})
    return BENCHMARK if count == len(names) else Message(PART, count=count, all=len(names), name=BENCHMARK)


def _chosen(
    tasks: Iterable[str], named: bool, folders: Folders, hub: bool, large: bool
) -> tuple[dict[str, list[Path]], dict[str, str]]:
    """Return the tasks to score with their files, none of which mteb fetches, and why others are not scored.

    A task that is `named` must be there, whatever its size.
    """
    files: dict[str, list[Path]] = {}
    absent: dict[str, str] = {}
    for name in tasks:
        if name not in SCORED:
            raise UserError(f"no task '{name}'{nearest(name, list(SCORED))}", f"there are {', '.join(SCORED)}")
        if SCORED[name].large and not (large or named):
            absent[name] = "it has more than a million documents, which --all scores"
            continue
        try:
            files[name] = list(scored_files(name, folders).values())
        except UserError as error:
            if hub:
                files[name] = []
            else:
                absent[name] = error.problem
    if absent and (named or not files):
        problem = "; ".join(f"{name}: {why}" for name, why in absent.items())
        raise UserError(problem, f"looked in {', '.join(map(str, folders)) or 'no folder'}", "name the sets' folder")
    return files, absent


def _models(
    model: Path, base: Path | None, name: str, trained: set[str], truncate: int | None, backend: str,
    widths: Sequence[int],
) -> Iterator[Row]:  # fmt: skip
    def own(width: int | None = truncate) -> Any:
        return load_model(model, truncate=width)

    name = Message(CUT, name=name, width=truncate) if truncate else name
    revision = model_revision(model, truncate)
    yield Row(name, revision, own, trained, truncate)
    if backend:
        graph = graph_of(model, backend)
        yield Row(
            Message("{name}, {backend}", name=name, backend=backend),
            settings_hash([revision, sha256_file(graph)]),
            lambda: use_graph(load_model(model, "cpu", truncate), graph),
            trained,
            truncate,
        )
    for width in widths:
        yield Row(
            Message(CUT, name=name, width=width), model_revision(model, width), partial(own, width), trained, width
        )
    like = base or model
    # a base's vectors are pooled, cut and prompted as the model's, whose own weights take no part
    beside = {file: digest for file, digest in _files(model).items() if "/" in file or not file.endswith(WEIGHTS)}
    revision = settings_hash([_files(like), beside, truncate])
    if base:
        yield Row(Message("{name}, untuned", name=name), revision, lambda: model_like(own(), base), (), truncate, True)
    random = settings_hash([revision, "random"])
    title = Message("{name}, random weights", name=name)
    yield Row(title, random, lambda: model_like(own(), like, random=True), (), truncate, True)
    yield Row(NGRAMS, "", None, comparison=True)


def _files(folder: Path) -> dict[str, str]:
    """Return file → SHA-256 of what a model's vectors depend on: its own files and those of its modules' folders."""
    modules = folder / "modules.json"
    parts = [module["path"] for module in json.loads(modules.read_bytes())] if modules.is_file() else []
    files = [path for part in dict.fromkeys(["", *parts])
             for path in (folder / part).glob("**/*" if part else "*") if path.is_file()]  # fmt: skip
    return {
        path.relative_to(folder).as_posix(): file_fact(path, "sha256", sha256_file)
        for path in sorted(files)
        if path.suffix in OF_MODELS and path.name not in (MANIFEST, FACTS)
    }


def model_revision(folder: Path, truncate: int | None = None) -> str:
    """Return the hash by which mteb's results know a folder's model, `truncate` entries of whose vectors are kept."""
    return settings_hash([_files(folder), truncate])


def _score(row: Row, tasks: dict[str, Any], files: dict[str, list[Path]], out: Path) -> dict[str, Any]:
    """Return a model's {"scores": task → main score in percent, "results": task → mteb's file below `out`}, with
    "index": task with documents → their figures in `embed.index`."""
    from mteb.cache import ResultCache
    from mteb.results import TaskResult

    title = "hunmin/" + "-".join(re.findall(r"[^\W_]+", row.title))
    encoder = cache(partial(_encoder, row))
    common = {
        "revision": row.revision,
        "rules": rules_number("embed"),
        "trained": sorted(row.trained),
        "versions": package_versions("mteb", "sentence-transformers", "transformers", "torch"),
    }
    scored: dict[str, Any] = {"scores": {}, "results": {}, "index": {}}
    for name, task in tasks.items():
        facts = {**common, "task": name, "data": [sha256_file(path) for path in files[name]] or task.metadata.dataset}
        revision = settings_hash(facts)
        model = {"name": title, "revision": revision, "training_datasets": {*row.trained}, "adapted_from": None}
        path = ResultCache(out / "mteb").get_task_result_path(name, title, revision)
        check = partial(check_main, task.metadata.main_score)
        result = result_once(path, facts, partial(_evaluated, row, task, model, encoder, path), check)
        if (index := result.get(RESULT_FACTS, {}).get("index")) and not row.comparison:
            scored["index"][name] = index
        scored["scores"][name] = 100 * float(TaskResult.from_disk(path).get_score())  # rounded, as in a later run
        scored["results"][name] = str(path.relative_to(out))
    return scored


def _encoder(row: Row) -> Any:
    from embed.index import measured_encoder

    assert row.load
    return measured_encoder(row.load())


def _evaluated(row: Row, task: Any, model: dict[str, Any], encoder: Callable[[], Any], path: Path) -> dict[str, Any]:
    """Return mteb's result of a task, and leave what mteb writes beside it beside `path`.

    mteb writes in place, and again after each subset: after a kill a part of a task would pass for the whole.
    """
    from mteb.cache import ResultCache

    from embed.ngrams import CharacterNgrams
    from embed.tasks import evaluate, task_texts

    say(f"embed: {row.title}: {path.stem}")
    scored: Any = encoder() if row.load else CharacterNgrams(task_texts(task))
    if row.load:
        scored.figures.clear()
    scored.mteb_model_meta = scored.mteb_model_meta.model_copy(update=model)  # or two models' results are one
    with TemporaryDirectory() as folder:
        (result,) = evaluate(scored, task, cache=ResultCache(folder), overwrite_strategy="always").task_results
        if not math.isfinite(score := float(result.get_score())):
            raise HunminError(
                f"{row.title}: {path.stem} has the score {score}",
                "vectors of different texts differ",
                "look at the model's vectors; scored tasks are kept",
            )
        (written,) = Path(folder).rglob(path.name)
        shutil.copytree(written.parent, path.parent, ignore=shutil.ignore_patterns(path.name), dirs_exist_ok=True)
        index = {key: round(value, 4) for key, value in scored.figures.items()} if row.load else {}
        return json.loads(written.read_bytes()) | ({RESULT_FACTS: {"index": index}} if index.get("documents") else {})


def published() -> dict[str, Any]:
    """Return the tasks of MTEB(kor, v2), and published rows: model → scores in the tasks' order, and what it saw."""
    tasks = [name for name in SCORED if not name.startswith("Hunmin")]
    return load_yaml(Path(__file__).with_name("published.yaml")) | {"tasks": tasks}


def as_markdown(table: dict[str, Any], language: str | None = None) -> str:
    """Return a table of `score_models` as Markdown, published rows below it.

    A card ("en", "ko") names no folder of this machine; None is the terminal's, with why tasks are not scored.
    """
    say = load_yaml(Path(__file__).with_name("table.yaml"))[language or "en"]

    def said(text: str) -> str:
        return _said(from_tree(table.get("messages", {}).get(text, text)), say["sentences"])

    names, benchmark = list(table["tasks"]), published()
    rows = list(table["rows"])
    other_data = {name for name, task in table["tasks"].items() if any("train" not in line for line in task["differs"])}
    for model, published_row in benchmark["models"].items():
        scores = dict(zip(benchmark["tasks"], published_row["scores"], strict=True))
        scores = {name: score for name, score in scores.items() if name not in other_data}
        if any(scores.get(name) is not None for name in names):
            rows.append({"model": model, "scores": scores, "trained_on": published_row["trained_on"]})
    lines = [f"{said(table['heading'])}, {say['percent']}", ""]
    lines += [f"| {say['model']} | {' | '.join(names)} |", "|---" * (1 + len(names)) + "|"]
    for row in rows:
        seen, scores = row["trained_on"], row["scores"]
        stars = dict.fromkeys(seen or (), "*")
        cells = ["" if scores.get(name) is None else f"{scores[name]:.2f}{stars.get(name, '')}" for name in names]
        lines.append(f"| {said(row['model'])}{' (?)' * (seen is None)} | {' | '.join(cells)} |")
    if index := [[said(cells[0]), *cells[1:]] for cells in index_rows(table)]:
        lines += ["", say["index"], "", f"| {' | '.join(say['index_columns'])} |", "|---" * len(index[0]) + "|"]
        lines += [f"| {' | '.join(cells)} |" for cells in index]
    notes = [say["published"].format(source=said(benchmark["source"]))] if len(rows) > len(table["rows"]) else []
    notes += [say["marks"]]
    notes += [
        f"{name}: {'; '.join(map(said, task['differs']))}" for name, task in table["tasks"].items() if task["differs"]
    ]
    if language:
        notes += [say["absent"].format(tasks=", ".join(table["absent"]))] if table["absent"] else []
    else:
        notes += [f"{name}: not scored, {why}" for name, why in table["absent"].items()]
    return "\n".join([*lines, *(f"\n{note}" for note in notes)]) + "\n"


def _said(text: Any, sentences: dict[str, str]) -> Any:
    """Return a sentence, or a value in one, as a table of English sentences → those of another language says it."""
    if isinstance(text, Message):
        values = {name: _said(value, sentences) for name, value in text.values.items()}
        return filled(sentences.get(text.template, text.template), values)
    return sentences.get(text, text) if isinstance(text, str) else text
