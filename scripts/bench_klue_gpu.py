"""What each switch of fine-tuning gives on a GPU: copies, compiling, precision of the scoring, jobs side by side.

    python scripts/bench_klue_gpu.py MODEL --data KLUE [--task ynat …] [--steps 40] [--rounds 5] [--compiled]
        [--at-once 1 2 4 8] [--out FILE.json]

MODEL: an encoder's folder; KLUE: the benchmark's files. Batches are those of `hunmin klue finetune`.

Training, steps of each way in turn, the median of the rounds:
- ours: each copy of a batch waits for the steps before it; not compiled.
- pinned copies: from pinned memory, waiting for nothing.
- compiled, of the first task and where asked for: the encoder by torch.compile for any shape; "ready" is what its
  first steps took longer than ours.

Scoring of the same inputs with the same weights, in batches by tokens:
- TF32: ours. single: no reduced precision. bf16: autocast. "Differs": the largest difference of any output to single
  precision's, and the share of inputs whose likeliest output is another.

Jobs side by side: as many processes as named train the first task at once on the one GPU, for three seconds each time,
and all their steps count together. Everything is measured by wall time on the device at hand: on a CPU, which this is
not for, single precision is all there is.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from bench_klue import prepare, whole_batches
from timing import Row, as_dicts, hardware, print_rows
from torch import multiprocessing
from transformers.utils import logging

from common.errors import UserError
from klue.batches import evaluation_batches
from klue.finetune import (
    EVALUATION_TOKENS,
    batch_arrays,
    batch_tensors,
    build_optimizer,
    scoring_precision,
    train_step,
)
from klue.heads import Head, build_head
from klue.plan import Job
from klue.tasks import get_task
from klue.tasks.base import Features

TASKS = ("ynat", "klue-nli", "klue-ner")
SECONDS = 3.0
"""How long jobs train side by side each time."""


def wait(device: torch.device) -> None:
    """Wait for what the device has to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class Training:
    """A model under training.

    Args:
        job: what is trained, and where.
        features: to train on.
        pinned: whether batches come by way of pinned memory.
        compiled: whether the encoder is compiled.
    """

    def __init__(self, job: Job, features: Features, pinned: bool = False, compiled: bool = False) -> None:
        self._job, self._task, self._features, self._pinned = job, get_task(job.task), features, pinned
        self.device = torch.device(job.device)
        self.model = build_head(job, self._task, features.shared).to(self.device)
        if compiled:
            encoder_of(self.model).compile(dynamic=True)
        self._optimizer = build_optimizer(self.model, job.training.learning_rate, job.training.weight_decay)

    def step(self, batch: np.ndarray) -> None:
        """Take an optimizer step."""
        if self._pinned and self.device.type == "cuda":
            arrays = batch_arrays(self._features, batch, self._task, self._job.pad_id, 8)
            tensors = {name: torch.from_numpy(array).pin_memory() for name, array in arrays.items()}
            inputs = {name: tensor.to(self.device, non_blocking=True) for name, tensor in tensors.items()}
        else:
            inputs = batch_tensors(self._features, batch, self._task, self._job, self.device)
        train_step(self.model, self._optimizer, self._job.training.learning_rate, inputs)

    def seconds(self, batches: list[np.ndarray]) -> float:
        """Return what the steps took."""
        wait(self.device)
        begin = time.perf_counter()
        for batch in batches:
            self.step(batch)
        wait(self.device)
        return time.perf_counter() - begin


def encoder_of(model: Head) -> Any:
    """Return the library's encoder in a head."""
    held: Any = model
    return held.model.base_model if hasattr(held, "model") else held.encoder


def measure_training(job: Job, features: Features, steps: int, rounds: int, compiled: bool) -> list[Row]:
    """Return the rows of training: examples a second of each way, and ours beside each."""
    ways = {"ours": {}, "pinned copies": {"pinned": True}, **({"compiled": {"compiled": True}} if compiled else {})}
    trained, ready = {}, {}
    batches = whole_batches(job, features)
    first = [next(batches) for _ in range(3)]
    for name, how in ways.items():
        trained[name] = Training(job, features, **how)
        ready[name] = trained[name].seconds(first)
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        some = [next(batches) for _ in range(steps)]
        for name, way in trained.items():
            rates[name].append(steps * job.training.batch_size / way.seconds(some))
    torch._dynamo.reset()
    rows = []
    for name, of in rates.items():
        beside = statistics.median(a / b for a, b in zip(of, rates["ours"], strict=True))
        note = f"{beside:.2f} times ours, {statistics.median(of) / job.training.batch_size:.1f} steps/s"
        if name == "compiled":
            note += f", ready {ready[name] - ready['ours']:.0f} s later"
        rows.append(Row(f"{job.task}, training, {name}", statistics.median(of), "examples/s", note=note))
    return rows


def measure_scoring(job: Job, features: Features, rounds: int) -> list[Row]:
    """Return the rows of scoring: examples a second of each precision, and how far its outputs are from single."""
    device, task = torch.device(job.device), get_task(job.task)
    model = build_head(job, task, features.shared).to(device).eval()
    batches = evaluation_batches(features.lengths, EVALUATION_TOKENS[device.type])
    ways: dict[str, Callable[[], Any]] = {
        "TF32": lambda: scoring_precision(device),
        "single": nullcontext,
        "bf16": lambda: torch.autocast(device.type, dtype=torch.bfloat16),
    }

    @torch.inference_mode()
    def outputs(precision: Callable[[], Any]) -> list[dict[str, torch.Tensor]]:
        found = []
        for batch in batches:
            with precision():
                given = model.predict(batch_tensors(features, batch, task, job, device))
            found.append({name: values.float().cpu() for name, values in given.items()})
        return found

    truth = outputs(nullcontext)
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, precision in ways.items():
            wait(device)
            begin = time.perf_counter()
            outputs(precision)
            rates[name].append(len(features.lengths) / (time.perf_counter() - begin))
    rows = []
    for name, precision in ways.items():
        largest, others = differences(outputs(precision), truth)
        beside = statistics.median(a / b for a, b in zip(rates[name], rates["TF32"], strict=True))
        note = f"{beside:.2f} times ours; differs by {largest:.2g} at most, {others:.2%} decide otherwise"
        rows.append(Row(f"{job.task}, scoring, {name}", statistics.median(rates[name]), "examples/s", note=note))
    return rows


def differences(found: list[dict[str, torch.Tensor]], truth: list[dict[str, torch.Tensor]]) -> tuple[float, float]:
    """Return the largest difference of any output, and the share of inputs that another output is largest of.

    Outputs that are decisions already, (B, S), count by the inputs in which any of them is another.
    """
    largest, others, rows = 0.0, 0, 0
    for mine, theirs in zip(found, truth, strict=True):
        apart = torch.zeros(len(next(iter(theirs.values()))), dtype=torch.bool)
        for name, values in theirs.items():
            finite = torch.isfinite(values)
            largest = max(largest, float((mine[name] - values)[finite].abs().max()))
            one, two = mine[name].flatten(1), values.flatten(1)
            apart |= one.argmax(1) != two.argmax(1) if name not in ("tags", "heads") else (one != two).any(1)
        others += int(apart.sum())
        rows += len(apart)
    return largest, others / rows


def train_beside(
    rank: int, job: Job, features: Features, counts: list[int], seconds: float, meet: Any, taken: Any
) -> None:
    """Train in a process of its own while so many take part; steps a second go into `taken`, (times, ranks)."""
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    training, batches = Training(job, features), whole_batches(job, features)
    training.seconds([next(batches) for _ in range(5)])
    for number, count in enumerate(counts):
        meet.wait()
        begin, steps = time.perf_counter(), 0
        while rank < count and time.perf_counter() - begin < seconds:
            training.seconds([next(batches) for _ in range(5)])
            steps += 5
        taken[number * max(counts) + rank] = steps / (time.perf_counter() - begin) if steps else 0.0
    meet.wait()


def measure_side_by_side(job: Job, features: Features, counts: list[int]) -> list[Row]:
    """Return the steps a second of so many jobs together, for each count."""
    context, most = multiprocessing.get_context("spawn"), max(counts)
    meet, taken = context.Barrier(most), context.Array("d", len(counts) * most)
    given = (job, features, counts, SECONDS, meet, taken)
    multiprocessing.spawn(train_beside, given, nprocs=most, start_method="spawn")
    rates = np.array(taken).reshape(len(counts), most).sum(axis=1)
    return [
        Row(f"{job.task}, {count} jobs at once", rate, "steps/s", note=f"{rate / rates[0]:.2f} times {counts[0]}")
        for count, rate in zip(counts, rates, strict=True)
    ]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="an encoder's folder")
    parser.add_argument("--data", type=Path, required=True, help="folder with the benchmark's files")
    parser.add_argument("--task", action="append", help=f"task; repeat for several (default: {', '.join(TASKS)})")
    parser.add_argument("--batch", type=int, help="examples a step (default: the authors')")
    parser.add_argument("--steps", type=int, default=40, help="optimizer steps of each way in a round")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of which the median counts")
    parser.add_argument("--at-once", type=int, nargs="*", default=[], help="numbers of jobs at once, rising")
    parser.add_argument("--out", type=Path, help="JSON file for the figures")
    parser.add_argument("--compiled", action="store_true", help="compile the first task's encoder as well")
    options = parser.parse_args()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(1)
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else hardware()
    rows: list[Row] = []
    tasks = options.task or TASKS
    for name in tasks:
        try:
            job, features = prepare(options.model, options.data, name, options.batch)
            found = measure_training(
                job, features, options.steps, options.rounds, options.compiled and name == tasks[0]
            )
        except UserError as error:
            print(f"error: {error}", file=sys.stderr)
            return error.exit_code
        found += measure_scoring(job, features, options.rounds)
        if options.at_once and name == tasks[0]:
            found += measure_side_by_side(job, features, options.at_once)
        print_rows(f"{get_task(name).title}; {device}; torch {torch.__version__}", found)
        rows += found
        if options.out:
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps({"device": device, "rows": as_dicts(rows)}, ensure_ascii=False, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
