"""Scoring by mteb: a model beside its untuned base, random weights, character n-grams and published rows."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from common.code import code_hash
from common.errors import UserError
from common.files import atomic_write, sha256_file
from common.lock import locked
from common.manifest import package_versions
from common.names import shown_name
from common.progress import say
from common.settings import load_yaml, settings_hash
from embed.sets import SCORED, find_split
from embed.settings import EmbedSettings, require

NAMES = {"klue-nli": "KLUE-NLI", "kornli": "KorNLI", "klue-sts": "KLUE-STS", "korsts": "KorSTS",
         "korquad": "SQuADKorV1Retrieval", "klue-mrc": "HunminKlueMrcRetrieval"}  # fmt: skip
"""Built-in set → the task of the same set."""
TASKS_OF_BENCHMARK = 20
"""Tasks of MTEB(kor, v2)."""
NGRAMS = "character n-grams"


def require_mteb() -> None:
    """Raise a UserError where mteb cannot score: an older Python, or no mteb."""
    if sys.version_info < (3, 11):
        version = ".".join(map(str, sys.version_info[:2]))
        raise UserError(
            f"mteb, which scores embeddings, needs Python 3.11; this is {version}", remedy="use a newer one"
        )
    require("mteb", "scoring embeddings")
    if not find_spec("sklearn"):
        raise UserError("scoring embeddings needs scikit-learn", remedy="pip install 'hunmin[embed]'")


def score_models(
    model: Path, folders: Sequence[Path], out: Path, tasks: Sequence[str] = (), base: Path | None = None,
    truncate: int | None = None, name: str = "",
) -> dict[str, Any]:  # fmt: skip
    """Return the table: {"tasks": {task: metric, note}, "rows": [{"model", "scores": {task: percent}, "trained_on"}],
    "absent": {task: why}, "heading"}.

    Writes mteb's JSON below `out/mteb`, by name and hash of the weights, and `out/table.json`. A finished task is kept
    until weights, data, code or versions change.

    Args:
        model: folder of a model of sentence embeddings.
        folders: with the authors' files.
        out: folder to write.
        tasks: to score; none = those whose files are there.
        base: encoder before it was tuned; None scores none.
        truncate: entries of a vector to keep; None = all.
        name: of the model; "" is its folder's.

    Raises:
        UserError: no model, no data, or mteb is missing.
    """
    require_mteb()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from transformers.utils.logging import disable_progress_bar, set_verbosity_error

    disable_progress_bar()
    set_verbosity_error()
    warnings.filterwarnings("ignore", category=FutureWarning, module="mteb")
    from embed.base import load_model, shape_of
    from embed.tasks import differences, local_task

    load_model(model)  # refuses what is none
    chosen, absent = _chosen(tasks, folders)
    width = json.loads((model / "config.json").read_bytes()).get("hidden_size") or 0
    if truncate and truncate > width:
        raise UserError(f"--truncate {truncate} is more than the {width} entries of a vector", remedy="lower it")
    facts = json.loads(path.read_bytes()) if (path := model / "hunmin-embed.json").is_file() else {}
    trained = {NAMES[one["set"]] for one in facts.get("trained_on", []) if one["set"] in NAMES}
    table: dict[str, Any] = {"tasks": {}, "rows": [], "absent": absent, "truncate": truncate}
    with locked(out):
        loaded = {one: local_task(one, folders) for one in chosen}
        for one, task in loaded.items():
            table["tasks"][one] = {"metric": task.metadata.main_score, "differs": differences(task)}
        for title, weights, learned in _models(model, base, out, shape_of(model), name or shown_name(model), trained):
            scores = _score(title, weights, loaded, folders, out, truncate, learned)
            table["rows"].append({"model": title, "scores": scores, "trained_on": sorted(learned & {*chosen})})
        counted = [one for one in chosen if one in published()["tasks"]]
        whole = len(counted) == TASKS_OF_BENCHMARK
        table["heading"] = (
            "MTEB(kor, v2)" if whole else f"{len(counted)} of {TASKS_OF_BENCHMARK} tasks of MTEB(kor, v2)"
        )
        with atomic_write(out / "table.json") as stream:
            json.dump(table, stream, ensure_ascii=False, indent=1)
    return table


def _chosen(tasks: Sequence[str], folders: Sequence[Path]) -> tuple[list[str], dict[str, str]]:
    """Return the tasks to score, and why others are not; UserError where a named one, or all, have no files."""
    absent = {}
    for one in tasks or SCORED:
        if one not in SCORED:
            raise UserError(f"no task '{one}'", f"there are {', '.join(SCORED)}", "fix the name")
        missing = [own for own in SCORED[one].splits.values() if find_split(SCORED[one].task, folders, own) is None]
        if missing:
            absent[one] = f"no {missing[0]} file of {SCORED[one].task.title}"
    if absent and (tasks or len(absent) == len(SCORED)):
        problem = "; ".join(absent.values())
        raise UserError(problem, f"looked in {', '.join(map(str, folders)) or 'no folder'}", "name the sets' folder")
    return [one for one in tasks or SCORED if one not in absent], absent


def _models(
    model: Path, base: Path | None, out: Path, shape: EmbedSettings, name: str, trained: set[str]
) -> Iterator[tuple[str, Path | None, set[str]]]:
    """Yield title, folder (None of n-grams) and tasks that were trained on, of what stands in the table."""
    from embed.base import embedding_folder

    yield name, model, trained
    made = out / ".model"
    if base:
        yield f"{name}, untuned", embedding_folder(base, made, shape), set()
    yield f"{name}, random weights", embedding_folder(base or model, made, shape, "random"), set()
    yield NGRAMS, None, set()


def _score(
    title: str, folder: Path | None, tasks: dict[str, Any], folders: Sequence[Path], out: Path, truncate: int | None,
    trained: set[str],
) -> dict[str, float]:  # fmt: skip
    """Return task → main score in percent of a model."""
    import mteb
    from mteb.cache import ResultCache

    found, kept = {}, out / "fingerprints.json"
    known = json.loads(kept.read_bytes()) if kept.is_file() else {}
    weights = [sha256_file(path) for path in sorted(folder.glob("*.safetensors"))] if folder else []
    common = {
        "weights": weights, "truncate": truncate, "code": code_hash(Path(__file__).parent), "trained": sorted(trained),
        "versions": package_versions("mteb", "sentence-transformers", "transformers", "torch"),
    }  # fmt: skip
    encoder = None
    for name, task in tasks.items():
        files = [find_split(SCORED[name].task, folders, own) for own in SCORED[name].splits.values()]
        key = f"{title} {name}"
        print_of = settings_hash([common, [sha256_file(path) for path in files if path]])
        if known.get(key, {}).get("fingerprint") != print_of:
            say(f"embed: {title}: {name}")
            encoder = _encoder(title, folder, weights, truncate, trained, name, folders, encoder)
            result = mteb.evaluate(
                encoder, task, cache=ResultCache(out / "mteb"), overwrite_strategy="always", show_progress_bar=False,
                encode_kwargs={"batch_size": 64, "show_progress_bar": False}, co2_tracker=False,
            )  # fmt: skip
            known[key] = {"fingerprint": print_of, "score": result.task_results[0].get_score()}
            with atomic_write(kept) as stream:
                json.dump(known, stream, ensure_ascii=False, indent=1)
        found[name] = 100 * known[key]["score"]
    return found


def _encoder(
    title: str, folder: Path | None, weights: list[str], truncate: int | None, trained: set[str], task: str,
    folders: Sequence[Path], before: Any,
) -> Any:  # fmt: skip
    """Return a model as mteb takes it, with a name and a revision; without them results of two models are one's."""
    from embed.ngrams import CharacterNgrams
    from embed.tasks import task_texts

    if folder is None:
        return CharacterNgrams(task_texts(task, folders))
    if before is not None:
        return before
    from mteb.models import SentenceTransformerEncoderWrapper

    from embed.base import load_model

    wrapped = SentenceTransformerEncoderWrapper(load_model(folder, truncate=truncate))
    plain = "-".join("".join(letter if letter.isalnum() else " " for letter in title).split())
    name = f"hunmin/{plain}" + (f"-{truncate}" if truncate else "")
    update = {"name": name, "revision": settings_hash(weights), "training_datasets": trained, "adapted_from": None}
    wrapped.mteb_model_meta = wrapped.mteb_model_meta.model_copy(update=update)
    return wrapped


def published() -> dict[str, Any]:
    """Return the tasks of MTEB(kor, v2), and published rows: model → scores in the tasks' order."""
    return load_yaml(Path(__file__).with_name("published.yaml"))


def as_markdown(table: dict[str, Any]) -> str:
    """Return a table of `score_models` as Markdown, published rows below it."""
    names, rows_of = list(table["tasks"]), published()
    lines = [f"{table['heading']}, percent", "", f"| model | {' | '.join(names)} |", "|---" * (1 + len(names)) + "|"]
    for row in table["rows"]:
        cells = [f"{row['scores'][one]:.2f}{'*' * (one in row['trained_on'])}" for one in names]
        lines.append(f"| {row['model']} | {' | '.join(cells)} |")
    for model, scores in rows_of["models"].items():
        by_task = dict(zip(rows_of["tasks"], scores, strict=True))
        if any(one in by_task for one in names):
            lines.append(f"| {model} | {' | '.join(str(by_task.get(one, '')) for one in names)} |")
    lines += ["", f"Models below {NGRAMS}: {rows_of['source']}"]
    if any(row["trained_on"] for row in table["rows"]):
        lines.append("\\* trained on a part of the set.")
    lines += [f"{name}: {'; '.join(one['differs'])}" for name, one in table["tasks"].items() if one["differs"]]
    lines += [f"{name}: not scored, {why}" for name, why in table["absent"].items()]
    return "\n".join(lines) + "\n"
