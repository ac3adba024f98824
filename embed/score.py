"""Scoring by mteb: a model beside its untuned base, random weights, character n-grams and published rows."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from common.code import code_hash
from common.errors import UserError, nearest
from common.files import atomic_write, sha256_file
from common.lock import locked
from common.manifest import package_versions
from common.names import shown_name
from common.progress import say
from common.settings import load_yaml, settings_hash
from embed.base import embedding_folder, load_model, shape_of
from embed.scored import SCORED, Folders, scored_files
from embed.settings import require_mteb

BENCHMARK = "MTEB(kor, v2)"
NGRAMS = "character n-grams"


def score_models(
    model: Path, folders: Folders, out: Path, tasks: Sequence[str] = (), base: Path | None = None,
    truncate: int | None = None, name: str = "", hub: bool = False, large: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Return the table: {"tasks": {task: metric, differs}, "rows": [{"model", "scores": {task: percent},
    "trained_on"}], "absent": {task: why}, "heading"}.

    Writes mteb's JSON below `out/mteb`, by name and hash of the weights, and `out/table.json`. A finished task is kept
    until weights, data, code or versions change.

    Args:
        model: folder of a model of sentence embeddings.
        folders: with the tasks' files.
        out: folder to write.
        tasks: to score; none = those whose data are there.
        base: encoder before it was tuned; None scores none.
        truncate: entries of a vector to keep; None = all.
        name: of the model; "" is its folder's.
        hub: let mteb fetch tasks that have no files here.
        large: score tasks of a million documents, too.

    Raises:
        UserError: no model, no data, or mteb is missing.
    """
    require_mteb()
    if not hub:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    elif os.environ.get("HF_HUB_OFFLINE", "0").lower() in ("1", "on", "yes", "true"):
        raise UserError("--hub fetches data, and HF_HUB_OFFLINE is set", remedy="unset it, or leave --hub out")
    _quiet()
    from embed.tasks import differences, hub_task, local_task

    load_model(model)  # refuses what is none
    width = json.loads((model / "config.json").read_bytes()).get("hidden_size") or 0
    if truncate and truncate > width:
        raise UserError(f"--truncate {truncate} is more than the {width} entries of a vector", remedy="lower it")
    files, absent = _chosen(tasks, folders, hub, large)
    facts = json.loads(path.read_bytes()) if (path := model / "hunmin-embed.json").is_file() else {}
    learned = {one["set"] for one in facts.get("trained_on", [])}
    trained = {one for one, task in SCORED.items() if task.set and task.set in learned}
    table: dict[str, Any] = {"tasks": {}, "rows": [], "absent": absent, "truncate": truncate}
    with locked(out):
        loaded = {one: local_task(one, folders) if paths else hub_task(one) for one, paths in files.items()}
        for one, task in loaded.items():
            table["tasks"][one] = {"metric": task.metadata.main_score, "differs": differences(task)}
        for title, weights, known in _models(model, base, out, name or shown_name(model), trained):
            scores = _score(title, weights, loaded, files, out, truncate, known)
            table["rows"].append({"model": title, "scores": scores, "trained_on": sorted(known & {*loaded})})
        table["heading"] = heading(loaded)
        with atomic_write(out / "table.json") as stream:
            json.dump(table, stream, ensure_ascii=False, indent=1)
    return table


def heading(scored: Iterable[str]) -> str:
    """Return what stands over scores of some tasks: the benchmark's name where all of its tasks are among them."""
    names = _published()["tasks"]
    count = len({*names} & {*scored})
    return BENCHMARK if count == len(names) else f"{count} of {len(names)} tasks of {BENCHMARK}"


def _quiet() -> None:
    from datasets.utils.logging import disable_progress_bar as no_data_bar
    from transformers.utils.logging import disable_progress_bar, set_verbosity_error

    no_data_bar()
    disable_progress_bar()
    set_verbosity_error()
    warnings.filterwarnings("ignore", category=FutureWarning, module="mteb")


def _chosen(
    tasks: Sequence[str], folders: Folders, hub: bool, large: bool
) -> tuple[dict[str, list[Path]], dict[str, str]]:
    """Return the tasks to score with their files, none of which mteb fetches, and why others are not scored.

    Raises:
        UserError: a task that is named cannot be scored, or none can.
    """
    files: dict[str, list[Path]] = {}
    absent: dict[str, str] = {}
    for one in tasks or SCORED:
        if one not in SCORED:
            raise UserError(f"no task '{one}'{nearest(one, list(SCORED))}", f"there are {', '.join(SCORED)}")
        if SCORED[one].large and not large:
            absent[one] = "it has more than a million documents, which --all scores"
            continue
        try:
            files[one] = list(scored_files(one, folders).values())
        except UserError as error:
            if hub:
                files[one] = []
            else:
                absent[one] = error.problem
    if absent and (tasks or not files):
        problem = "; ".join(f"{one}: {why}" for one, why in absent.items())
        raise UserError(problem, f"looked in {', '.join(map(str, folders)) or 'no folder'}", "name the sets' folder")
    return files, absent


def _models(
    model: Path, base: Path | None, out: Path, name: str, trained: set[str]
) -> Iterator[tuple[str, Path | None, set[str]]]:
    """Yield title, folder (None of n-grams) and tasks that were trained on, of what stands in the table."""
    yield name, model, trained
    made, shape = out / ".model", shape_of(model)
    if base:
        yield f"{name}, untuned", embedding_folder(base, made, shape), set()
    yield f"{name}, random weights", embedding_folder(base or model, made, shape, "random"), set()
    yield NGRAMS, None, set()


def _score(
    title: str, folder: Path | None, tasks: dict[str, Any], files: dict[str, list[Path]], out: Path,
    truncate: int | None, trained: set[str],
) -> dict[str, float]:  # fmt: skip
    """Return task → main score in percent of a model."""
    import mteb
    from mteb.cache import ResultCache

    from embed.ngrams import CharacterNgrams
    from embed.tasks import task_texts

    kept = out / "fingerprints.json"
    known = json.loads(kept.read_bytes()) if kept.is_file() else {}
    weights = [sha256_file(path) for path in sorted(folder.glob("*.safetensors"))] if folder else []
    common = {
        "weights": weights, "truncate": truncate, "code": code_hash(Path(__file__).parent), "trained": sorted(trained),
        "versions": package_versions("mteb", "sentence-transformers", "transformers", "torch"),
    }  # fmt: skip
    encoder = None
    for name, task in tasks.items():
        data = [sha256_file(path) for path in files[name]] or task.metadata.dataset
        key, fingerprint = f"{title} {name}", settings_hash([common, data])
        if known.get(key, {}).get("fingerprint") == fingerprint:
            continue
        say(f"embed: {title}: {name}")
        if folder is None:
            encoder = CharacterNgrams(task_texts(task))
        result = mteb.evaluate(
            encoder := encoder or _encoder(title, folder, weights, truncate, trained), task,
            cache=ResultCache(out / "mteb"), overwrite_strategy="always", show_progress_bar=False, co2_tracker=False,
            encode_kwargs={"batch_size": 64, "show_progress_bar": False},
        )  # fmt: skip
        known[key] = {"fingerprint": fingerprint, "score": result.task_results[0].get_score()}
        with atomic_write(kept) as stream:
            json.dump(known, stream, ensure_ascii=False, indent=1)
    return {name: 100 * known[f"{title} {name}"]["score"] for name in tasks}


def _encoder(title: str, folder: Any, weights: list[str], truncate: int | None, trained: set[str]) -> Any:
    """Return a model as mteb takes it, with a name and a revision; without them results of two models are one's."""
    from mteb.models import SentenceTransformerEncoderWrapper

    wrapped = SentenceTransformerEncoderWrapper(load_model(folder, truncate=truncate))
    plain = "-".join("".join(letter if letter.isalnum() else " " for letter in title).split())
    name = f"hunmin/{plain}" + (f"-{truncate}" if truncate else "")
    update = {"name": name, "revision": settings_hash(weights), "training_datasets": trained, "adapted_from": None}
    wrapped.mteb_model_meta = wrapped.mteb_model_meta.model_copy(update=update)
    return wrapped


def _published() -> dict[str, Any]:
    """Return the tasks of MTEB(kor, v2), and published rows: model → scores in the tasks' order, and what it saw."""
    return load_yaml(Path(__file__).with_name("published.yaml"))


def as_markdown(table: dict[str, Any]) -> str:
    """Return a table of `score_models` as Markdown, published rows below it."""
    names, published = list(table["tasks"]), _published()
    rows = list(table["rows"])
    for model, one in published["models"].items():
        scores = dict(zip(published["tasks"], one["scores"], strict=True))
        if any(scores.get(name) is not None for name in names):
            rows.append({"model": model, "scores": scores, "trained_on": one["trained_on"]})
    lines = [f"{table['heading']}, percent", "", f"| model | {' | '.join(names)} |", "|---" * (1 + len(names)) + "|"]
    for row in rows:
        seen, scores = row["trained_on"], row["scores"]
        cells = ["" if scores.get(one) is None else f"{scores[one]:.2f}{'*' * (one in (seen or ()))}" for one in names]
        lines.append(f"| {row['model']}{' (?)' * (seen is None)} | {' | '.join(cells)} |")
    lines += ["", f"Models below {NGRAMS}: {published['source']}", "",
              "\\* trained on a part of the set; (?) what it was trained on is not stated."]  # fmt: skip
    lines += [f"{name}: {'; '.join(one['differs'])}" for name, one in table["tasks"].items() if one["differs"]]
    lines += [f"{name}: not scored, {why}" for name, why in table["absent"].items()]
    return "\n".join(lines) + "\n"
