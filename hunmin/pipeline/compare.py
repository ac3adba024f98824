"""Runs on one ruler: bits per byte of the same held-out sentences, probes, work, and how much work one saves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from transformers import AutoModelForMaskedLM

from common.compressed import decompression_errors
from common.destinations import OutputFile
from common.differing import differing
from common.errors import UserError
from common.files import open_bytes
from common.names import find
from common.plots import new_figure, save_figure
from common.progress import say
from common.settings import dump_settings
from common.stage_folders import folder_of
from data.nfc import composed
from data.shards import read_columns, shard_paths
from data.splitting.scan import split_sentences
from hunmin.hub.compute_used import ComputeUsed
from hunmin.hub.facts import Facts, read_facts
from hunmin.page.differences import settings_that_count
from klue.probes import probe
from pretrain.compare.bits_per_byte import Pieces, pieces_of, sentence_bits
from pretrain.compare.speed_up import Measured, SpeedUp, speed_ups
from pretrain.model_folder import LOCAL, open_model, quiet
from pretrain.models.encoder import MaskedRowsModel
from pretrain.models.registry import ARCHITECTURES, usable_positions
from pretrain.parallel.accelerator import named_device
from tokenizer.words import decode_line, formatted_texts, is_formatted

BYTES = (20, 400)
"""Shortest and longest sentence, in UTF-8."""
OF_AN_ARM = (
    "seed",
    "pretrain.seed",
    "pretrain.steps",
    "pretrain.optimizer.warmup_steps",
    "pretrain.phases",
    "klue.",
    "embed.",
)
"""Settings in which runs of one name may differ: seeds, budgets, and what comes after training."""


@dataclass
class Compared:
    """A run on the ruler."""

    run: Path
    name: str
    seed: int
    steps: int
    work: ComputeUsed
    bits_N: np.ndarray
    probes: dict[str, float] = field(default_factory=dict)


def compare(
    runs: Sequence[Path], text: str, count: int, tasks: Sequence[str], data: Path | None, device: str
) -> tuple[list[Compared], np.ndarray, dict[tuple[str, int], SpeedUp]]:
    """Return the runs on the ruler, the bytes of each sentence, and (name, steps) → what an arm saves.

    Args:
        runs: finished ones. Those of one name are an arm: its seeds and budgets; the first run's arm is the base.
        text: file with text that no run was trained on.
        count: sentences at most.
        tasks: of `klue.probes.TASKS`, with their files in `data`.
        device: as `named_device` takes it.

    Raises:
        UserError: a run is not finished, none of the sentences serves all of them, or runs of one name differ.
    """
    place = named_device(device)
    facts = [read_facts(run) for run in runs]
    _refuse_mixed(runs, facts)
    opened = [open_model(find(run, "model"), AutoModelForMaskedLM, fits=_refuse_unserved) for run in runs]
    sentences = held_out_sentences(text, count, runs)
    pieces = [[pieces_of(sentence, model.tokenizer) for sentence in sentences] for model in opened]
    for model, cut in zip(opened, pieces, strict=True):
        longest = usable_positions(model.config)
        cut[:] = [part if part and len(part.ids) <= longest else None for part in cut]
    fit = [number for number, parts in enumerate(zip(*pieces, strict=True)) if all(parts)]
    if not fit:
        raise UserError(f"no sentence of {text} fits all models", "a model reads it whole and changes no letter")
    if len(fit) < len(sentences):
        say(f"compare: {len(sentences) - len(fit):,} sentences that a model would cut or change are left out")
    bytes_N = np.array([len(sentences[number].encode()) for number in fit])
    rows = []
    for run, of_run, model, cut in zip(runs, facts, opened, pieces, strict=True):
        say(f"compare: {run}")
        with quiet():
            loaded = AutoModelForMaskedLM.from_pretrained(model.folder, dtype="float32", **LOCAL).to(place)
        used: list[Pieces] = [part for number in fit if (part := cut[number])]
        bits_N = sentence_bits(MaskedRowsModel(loaded), model.tokenizer, used)
        encoder = loaded.base_model
        probes = {task: probe(encoder, model.tokenizer, task, data) for task in tasks if data}
        work = of_run.work + of_run.parent.work if of_run.parent and of_run.parent.work else of_run.work
        rows.append(Compared(run, of_run.recipe.name, of_run.recipe.seed, of_run.step, work, bits_N, probes))
    measured = [Measured(row.name, row.steps, row.work.flops, row.bits_N) for row in rows]
    return rows, bytes_N, speed_ups(measured, bytes_N, rows[0].name)


def held_out_sentences(path: str, count: int, runs: Sequence[Path]) -> list[str]:
    """Return sentences of a text, at most so many, the same ones each time; without those of the runs' corpora."""
    texts = formatted_texts(path) if is_formatted(path) else _lines(path)
    pieces = (piece.strip() for text in texts if text for piece in split_sentences(composed(text)))
    distinct = list(dict.fromkeys(piece for piece in pieces if BYTES[0] <= len(piece.encode()) <= BYTES[1]))
    sentences = pa.array(distinct, pa.string())
    known = np.zeros(len(distinct), bool)
    for shard in (shard for run in runs for shard in shard_paths(folder_of(run, "corpus"))):
        there = read_columns(shard, ["sentences"]).column("sentences").combine_chunks().flatten()
        known |= pc.is_in(sentences, value_set=there).to_numpy(zero_copy_only=False)
    if known.any():
        say(f"compare: {int(known.sum()):,} sentences of {path} are in a run's corpus and left out", style="yellow")
    free = [piece for piece, is_known in zip(distinct, known, strict=True) if not is_known]
    return sorted(free, key=lambda piece: blake2b(piece.encode()).digest())[:count]


def summary(
    rows: Sequence[Compared], bytes_N: np.ndarray, saved: dict[tuple[str, int], SpeedUp]
) -> list[dict[str, Any]]:
    """Return a row for each arm and budget: means over seeds, and the speed-up against the base.

    Args:
        rows, bytes_N, saved: of `compare`.
    """
    groups: dict[tuple[str, int], list[Compared]] = {}
    for row in rows:
        groups.setdefault((row.name, row.steps), []).append(row)
    shown = []
    for (name, steps), seeds in groups.items():
        values = [float(seed.bits_N.sum() / bytes_N.sum()) for seed in seeds]
        speed_up = saved.get((name, steps))
        shown.append({
            "name": name, "runs": [str(seed.run) for seed in seeds], "seeds": len(seeds), "steps": steps,
            "flops": fmean(seed.work.flops for seed in seeds),
            "device_hours": fmean(sum(seed.work.device_hours.values()) for seed in seeds),
            "bits_per_byte": fmean(values), "sd": float(np.std(values, ddof=1)) if len(values) > 1 else None,
            "probes": {task: fmean(seed.probes[task] for seed in seeds) for task in seeds[0].probes},
            "speed_up": speed_up and {"k": speed_up.k, "low": speed_up.low, "high": speed_up.high},
        })  # fmt: skip
    return shown


def draw(table: Sequence[dict[str, Any]], to: OutputFile) -> None:
    """Draw bits per byte against FLOP, a line an arm."""
    figure = new_figure(5.5, 3.8)
    panel = figure.subplots()
    for name in dict.fromkeys(row["name"] for row in table):
        points = sorted((row["flops"], row["bits_per_byte"], row["sd"] or 0) for row in table if row["name"] == name)
        works, values, spread = zip(*points, strict=True)
        panel.errorbar(works, values, spread, marker="o", markersize=4, label=name)
    panel.set_xscale("log")
    panel.set_xlabel("FLOP")
    panel.set_ylabel("bits per byte")
    panel.grid(alpha=0.3)
    panel.legend(fontsize=7)
    save_figure(figure, to)


def _lines(path: str) -> Iterator[str]:
    with open_bytes(path) as stream, decompression_errors(Path(path)):
        for raw in stream:
            yield decode_line(raw)[0]


def _refuse_unserved(config: Any) -> None:
    if config.model_type not in ARCHITECTURES:
        raise UserError(f"a model of the family {config.model_type}", f"compared are {', '.join(ARCHITECTURES)}")


def _refuse_mixed(runs: Sequence[Path], facts: Sequence[Facts]) -> None:
    for name in {of_run.recipe.name for of_run in facts}:
        arm = [(run, of_run.recipe) for run, of_run in zip(runs, facts, strict=True) if of_run.recipe.name == name]
        settings = [settings_that_count(dump_settings(recipe, "secret")) for _, recipe in arm]
        if keys := [key for key in differing(settings) if not key.startswith(OF_AN_ARM)]:
            raise UserError(
                f"{', '.join(str(run) for run, _ in arm)} are called {name} and differ in {', '.join(keys[:3])}",
                "runs of one name are one arm, which differ in seed and steps alone",
                "give each arm a name of its own: hunmin run RUN/recipe.yaml name=NAME",
            )
