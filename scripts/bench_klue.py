"""How fast fine-tuning is beside what others do about padding: lengths grouped, and every input padded to the longest.

    python scripts/bench_klue.py MODEL --data KLUE [--task ynat …] [--batch 32] [--steps 4] [--rounds 5] [--json]

MODEL: an encoder's folder; KLUE: the benchmark's files.

- ours: batches as `hunmin klue finetune` makes them, of similar length, padded to their own longest input.
- grouped: batches of transformers' LengthGroupedSampler (its Trainer's group_by_length) over the same task, padded to
  their own longest input: the best of what others do.
- texts only, of WoS: the same batches, by `wos.texts_only=true`.
- padded: the examples of ours in random order, every batch padded to the task's maximum length (the authors' for the
  task, or the model's positions where they are fewer), as the authors' code has it.

All take the same optimizer steps with a model of their own from the same weights. A round takes other examples than
the one before, some steps of each way in turn; the median of the rounds counts, and of their ratios, which are of text
tokens: inputs differ in length. On a CPU one thread computes and its processor seconds count; on a GPU wall time does.
Only training is measured, and inputs are made beforehand: all read them from the same cache. "Making a batch" is the
part of a step that is not the model's, padding: median of 50. Exit code 1 when a bar is not reached, 2 when used
wrongly.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from timing import Row, as_dicts, hardware, print_rows
from transformers.trainer_pt_utils import LengthGroupedSampler
from transformers.utils import logging

from common.errors import UserError
from klue.batches import train_batches
from klue.examples import load_splits
from klue.features import load_tokenizer, make_features
from klue.finetune import batch_arrays, batch_tensors, build_optimizer, train_step
from klue.heads import build_head
from klue.model_folder import read_model_folder
from klue.plan import Job, plan_jobs
from klue.settings import KlueSettings
from klue.tasks import get_task
from klue.tasks.base import Features, Task

BARS = {"grouped": 0.95, "padded": 2.0}
"""Least ratios, by the project's own aim: as fast as the best of others, but for the noise; twice the authors'."""
TEXTS_ONLY, TEXTS_ONLY_BAR = "texts only", 2.0
TASKS = ("ynat", "klue-nli", "klue-ner")
EXAMPLES = 3200
"""Examples of a task at most, the same ones always: two pools of 50 batches of 32."""


class Way:
    """A model under training, and how its batches are padded.

    Args:
        job: what is trained.
        task: the job's.
        features: to train on.
        length: every batch is padded to it; None: to its own longest input.
    """

    def __init__(self, job: Job, task: Task, features: Features, length: int | None) -> None:
        self._job, self._task, self._features, self._length = job, task, features, length
        self._device = torch.device(job.device)
        self._model = build_head(job, task, features.shared).to(self._device)
        self._optimizer = build_optimizer(self._model, job.training.learning_rate, job.training.weight_decay)
        self.filled = 0
        """Positions computed so far, padding included."""

    def step(self, batch: np.ndarray) -> None:
        """Take an optimizer step."""
        # no input is longer: a multiple of the length is the length
        arrays = batch_arrays(self._features, batch, self._task, self._job.pad_id, self._length or 1)
        inputs = {name: torch.from_numpy(array).to(self._device) for name, array in arrays.items()}
        self.filled += inputs["input_ids"].numel()
        train_step(self._model, self._optimizer, self._job.training.learning_rate, inputs)

    def seconds(self, batches: list[np.ndarray]) -> float:
        """Return what the steps took."""
        if self._device.type == "cpu":
            begin = time.process_time()
            for batch in batches:
                self.step(batch)
            return time.process_time() - begin
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for batch in batches:
            self.step(batch)
        torch.cuda.synchronize()
        return time.perf_counter() - begin


def prepare(model: Path, data: Path, name: str, batch: int | None) -> tuple[Job, Features]:
    """Return a job of the task with the authors' values, and the features it trains on."""
    task, facts = get_task(name), read_model_folder(model)
    length = min(task.authors.max_length, facts.max_positions)
    settings = KlueSettings(
        data=str(data), tasks=[name], training={"max_length": length, "batch_size": batch}, device="auto"
    )
    splits = load_splits(task, data, EXAMPLES)
    (job,) = plan_jobs(settings, facts, {name: splits}, "cpu", Path("none"))  # its folders are never written
    features = make_features(task, splits.train, load_tokenizer(model), facts, length)
    return job.model_copy(update={"device": "cuda" if torch.cuda.is_available() else "cpu"}), features


def measure(model: Path, data: Path, name: str, batch: int | None, steps: int, rounds: int) -> list[Row]:
    """Return the rows of a task: each way, and how ours compares with the others."""
    job, features = prepare(model, data, name, batch)
    task, size, length = get_task(name), job.training.batch_size, job.training.max_length
    ways = {
        "ours": Way(job, task, features, None),
        "grouped": Way(job, task, features, None),
        "padded": Way(job, task, features, length),
    }
    if task.key == "wos":
        texts_only = job.model_copy(update={"training": job.training.model_copy(update={"texts_only": True})})
        ways[TEXTS_ONLY] = Way(texts_only, task, features, None)
    lengths, random = features.lengths, np.random.default_rng(0)
    ours = whole_batches(job, features)
    others = _whole(size, (_grouped(lengths, size, epoch) for epoch in range(10**9)))
    for way in ways.values():  # memory is taken, code is chosen
        way.step(next(ours))
        way.filled = 0
    examples: dict[str, list[float]] = {which: [] for which in ways}
    tokens: dict[str, list[float]] = {which: [] for which in ways}
    held = dict.fromkeys(ways, 0)
    for _ in range(rounds):
        batches = {which: [next(each) for _ in range(steps)] for which, each in (("ours", ours), ("grouped", others))}
        batches["padded"] = np.array_split(random.permutation(np.concatenate(batches["ours"])), steps)
        if TEXTS_ONLY in ways:
            batches[TEXTS_ONLY] = batches["ours"]
        for which, some in batches.items():
            text, seconds = int(lengths[np.concatenate(some)].sum()), ways[which].seconds(some)
            held[which] += text
            examples[which].append(steps * size / seconds)
            tokens[which].append(text / seconds)
    described = f"batch {size}, {lengths.mean():.0f} tokens an input, at most {lengths.max()}, padded to {length}"
    rows = [
        Row(f"{name}, {which}", statistics.median(rates), "examples/s",
            note=f"{statistics.median(tokens[which]):,.0f} tokens/s, {held[which] / ways[which].filled:.0%} text")
        for which, rates in examples.items()
    ]  # fmt: skip
    compared = [("ours", other, bar) for other, bar in BARS.items()]
    for one, other, bar in [*compared, *([(TEXTS_ONLY, "ours", TEXTS_ONLY_BAR)] if TEXTS_ONLY in ways else [])]:
        ratio = statistics.median(a / b for a, b in zip(tokens[one], tokens[other], strict=True))
        rows.append(Row(f"{name}, {one} to {other}", ratio, "x", bar, note=described))
    rows.append(Row(f"{name}, making a batch", 1e3 * _batch_seconds(next(ours), features, task, job), "ms"))
    return rows


def _batch_seconds(batch: np.ndarray, features: Features, task: Task, job: Job) -> float:
    """Return how long it takes to put a batch together in main memory: what could be done beside a GPU's step."""
    taken = []
    for _ in range(50):
        begin = time.perf_counter()
        batch_tensors(features, batch, task, job, torch.device("cpu"))
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def whole_batches(job: Job, features: Features) -> Iterator[np.ndarray]:
    """Return the batches that the job trains on, epoch after epoch, but for those that are cut short.

    Raises:
        UserError: there are fewer inputs than a batch takes.
    """
    lengths, size = features.lengths, job.training.batch_size
    if len(lengths) < size:
        raise UserError(
            f"{job.task}: {len(lengths)} inputs to train on, {size} a batch",
            "batches are whole",
            f"--batch {len(lengths)}",
        )
    return _whole(size, (train_batches(lengths, size, job.seed, epoch) for epoch in range(10**9)))


def _whole(size: int, epochs: Iterator[list[np.ndarray]]) -> Iterator[np.ndarray]:
    """Yield the batches of some epochs that are not cut short."""
    return (batch for epoch in epochs for batch in epoch if len(batch) == size)


def _grouped(lengths: np.ndarray, size: int, epoch: int) -> list[np.ndarray]:
    """Return an epoch's batches as transformers' Trainer groups them."""
    sampler = LengthGroupedSampler(size, lengths=lengths.tolist(), generator=torch.Generator().manual_seed(epoch))
    order = np.fromiter(sampler, np.int64, len(lengths))
    return [order[start : start + size] for start in range(0, len(order), size)]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="an encoder's folder")
    parser.add_argument("--data", type=Path, required=True, help="folder with the benchmark's files")
    parser.add_argument("--task", action="append", help=f"task; repeat for several (default: {', '.join(TASKS)})")
    parser.add_argument("--batch", type=int, help="examples a step (default: the authors')")
    parser.add_argument("--steps", type=int, default=4, help="optimizer steps of each way in a round")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of which the median counts")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    options = parser.parse_args()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(1)
    print(hardware())
    if torch.cuda.is_available():
        print(torch.cuda.get_device_name())
    rows: list[Row] = []
    for name in options.task or TASKS:
        try:
            found = measure(options.model, options.data, name, options.batch, options.steps, options.rounds)
        except UserError as error:
            print(f"error: {error}", file=sys.stderr)
            return error.exit_code
        print_rows(get_task(name).title, found)
        rows += found
    if options.json:
        print(json.dumps({"hardware": hardware(), "rows": as_dicts(rows)}, ensure_ascii=False))
    return 1 if any(row.reached is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
