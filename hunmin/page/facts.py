"""The data of a run's page, read from its folder, finished or not; nothing of the corpus's text.

These facts are what the page shows, not the facts of a stage (`common.facts`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common.files import read_bytes
from common.lock import is_locked
from common.results import is_there
from common.settings import load_yaml
from common.stage_folders import MADE, folder_of, latest_folder_of, work_folder_of
from data.corpus import DAMAGED
from data.statistics.table import load_statistics
from hunmin.embed.facts import EmbedFacts, read_embed
from hunmin.page.curves import Metrics, read_curves
from hunmin.page.stages import FRESH, RunState, StageFacts, last_written, read_stages, run_state
from hunmin.pipeline.report import contamination
from hunmin.pipeline.scores import renamed
from hunmin.pipeline.stage import TIMING
from hunmin.recipes.recipe import recipe_of
from klue.job import PLANNED, RESULT
from klue.plan import jobs_of
from klue.result_rows import RESULTS, read_job, read_rows, with_message
from klue.tables import published_for
from klue.watched import watched_rows
from pretrain.callbacks.checkpoint_metadata import read_metadata
from pretrain.callbacks.metrics import read_metrics, read_starts
from pretrain.cost.devices import known_device
from pretrain.parallel.monitor import HEARTBEAT
from pretrain.train import STOPPED_MARK
from tokenizer.show import show


@dataclass(frozen=True)
class Vocabulary:
    """A tokenizer."""

    entries: list[str]
    """Entries in the order of their ids; empty where it has no vocab.txt."""
    splits: list[dict[str, Any]]
    """The example sentence of the KLUE paper in morphemes, and as the tokenizer cuts it; see `tokenizer.show`."""


@dataclass(frozen=True)
class Training:
    """The run's training: under way, or else finished."""

    metrics: Metrics
    checkpoints: list[dict[str, Any]]
    """{"step", "tokens", "bytes", "dtype"} of the whole ones, ascending."""
    guard: dict[str, Any]
    """Counters of the guard in the newest checkpoint: "faults", "overflows", "skipped"."""
    starts: list[dict[str, Any]]
    """{"time", "step", "processes"} of each start."""
    heartbeat: dict[str, Any]
    hardware: str | None = None
    """Devices, as "8 × NVIDIA H100": of the newest checkpoint."""
    on_known_gpu: bool = False
    """Whether the peak of the device is published."""


@dataclass(frozen=True)
class Klue:
    """Scores."""

    rows: list[dict[str, Any]]
    """Result rows of jobs."""
    jobs: int | None
    """Planned ones, where they are under way."""
    published: dict[str, Any] | None
    contamination: dict[str, int]
    watched: list[dict[str, Any]]
    """Rows of `hunmin klue watch`."""


@dataclass(frozen=True)
class Facts:
    """A run."""

    name: str
    recipe: dict[str, Any]
    state: RunState
    stages: list[StageFacts]
    statistics: dict[str, Any] | None
    vocabulary: Vocabulary | None
    training: Training
    klue: Klue
    embed: EmbedFacts
    now: float
    """When this was read, in seconds since 1970; it is not on the page of a finished run."""
    last_sign: float | None
    """When an unfinished stage last wrote something."""
    date: str | None = None
    """When the newest stage ended, or else when training started, UTC."""
    commit: str | None = None
    """Commit of Hunmin's sources, where they were a clone."""
    quarantined: list[dict[str, Any]] = field(default_factory=list)
    """{"source", "file", "reason"} of the input files that the corpus lacks, whole or from some place on."""
    text: list[dict[str, Any]] = field(default_factory=list)
    """Documents of the corpus, where they are asked for; see `hunmin.page.samples`."""

    def stage(self, name: str) -> StageFacts:
        """Return a stage by its name."""
        return next(stage for stage in self.stages if stage.name == name)

    @property
    def steps(self) -> int:
        """Return the optimizer steps of the whole training; 0 where the recipe does not say."""
        return int(self.recipe.get("pretrain", {}).get("steps") or 0)


def read_facts(run: Path, now: float) -> Facts:
    """Return the data of the page of a run.

    Args:
        run: run folder.
        now: seconds since 1970.

    Raises:
        UserError: it is no run folder, or its results are damaged.
        HunminError: a manifest or the statistics are damaged.
    """
    recipe = load_yaml(recipe_of(run))
    written = last_written(run, now)
    active = is_locked(run) or (written is not None and now - written < FRESH)
    folder = latest_folder_of(run, "pretrain")
    stopped = (folder / "logs" / STOPPED_MARK).exists()
    if stopped or _json(folder / "logs" / HEARTBEAT).get("state") == "failed":
        active = is_locked(run)  # what was written last was its end
    training = read_training(folder)
    stages = read_stages(run, active, bool(recipe.get("embed")))
    state = run_state(stages, active, stopped, training.heartbeat)
    corpus = folder_of(run, "corpus")
    tokenizer = folder_of(run, "tokenizer")
    times = read_metrics(run / TIMING)
    last = times[-1] if times else {}
    return Facts(
        name=str(recipe.get("name", run.name)),
        recipe=recipe,
        state=state,
        stages=stages,
        statistics=load_statistics(corpus) if is_there(corpus / "statistics.json") else None,
        vocabulary=read_vocabulary(tokenizer) if (tokenizer / "tokenizer.json").is_file() else None,
        training=training,
        klue=read_klue(run, recipe),
        embed=read_embed(latest_folder_of(run, "embed")),
        now=now,
        last_sign=written,
        date=last.get("time") or next((start.get("time") for start in reversed(training.starts)), None),
        commit=last.get("commit"),
        quarantined=read_metrics(corpus / DAMAGED),
    )


def read_training(folder: Path) -> Training:
    """Return the data of a folder of training."""
    checkpoints = []
    guard = {}
    hardware = None
    device = ""
    for path in sorted((folder / "checkpoints").glob("step-*")):
        if saved := read_metadata(path):
            size = sum(size for size, _ in saved["files"].values())
            checkpoints.append({**{k: saved.get(k) for k in ("step", "tokens", "dtype")}, "bytes": size})
            guard = saved.get("guard", {})
            device = str(saved.get("device") or "")
            hardware = (f"{saved['world']} × " if saved.get("world", 1) > 1 else "") + device or None
    logs = folder / "logs"
    starts = read_starts(logs)
    return Training(
        read_curves(logs / "metrics.jsonl"), checkpoints, guard, starts, _json(logs / HEARTBEAT), hardware,
        known_device(device) is not None,
    )  # fmt: skip


def read_vocabulary(folder: Path) -> Vocabulary:
    """Return facts about the tokenizer in a folder."""
    entries = []
    if (folder / "vocab.txt").is_file():
        entries = (folder / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return Vocabulary(entries, show([folder]))


def read_klue(run: Path, recipe: dict[str, Any]) -> Klue:
    """Return the scores of a run: of the stage under way, or else of the finished one."""
    tree = recipe.get("klue") or {}
    rows, jobs = [], None
    if (partial := work_folder_of(run, "klue")).is_dir():
        planned = dict.fromkeys(str(row.get("job")) for row in read_metrics(partial / PLANNED))
        results = [jobs_of(run / MADE) / name / RESULT for name in planned]
        rows = [with_message(read_job(path)) for path in results if path.is_file()]
        jobs = len(planned) or None
    elif is_there(folder_of(run, "klue") / RESULTS):
        rows = read_rows(folder_of(run, "klue"))
    return Klue(
        rows=renamed(rows, str(recipe.get("name", run.name))),
        jobs=jobs,
        published=published_for(rows, bool(tree.get("published"))),
        contamination=contamination(folder_of(run, "corpus") / "hits.jsonl"),
        watched=watched_rows(run / "watch"),
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        tree = json.loads(read_bytes(path))
    except (OSError, ValueError):
        return {}
    return tree if isinstance(tree, dict) else {}
