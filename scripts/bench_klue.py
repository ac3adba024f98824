"""How fast fine-tuning is beside what others do about padding: lengths grouped, and all padded to the longest.

    python scripts/bench_klue.py MODEL --data KLUE [--task ynat …] [--batch 32] [--steps 4] [--rounds 5] [--json]

MODEL: an encoder's folder; KLUE: the benchmark's files.

- ours: batches as `hunmin klue finetune` makes them, of similar length, padded to their own longest input.
- grouped: batches of transformers' LengthGroupedSampler (its Trainer's group_by_length) over the same task, padded to
  their own longest input: the best of what others do.
- texts only, of WoS: the batches of ours, by `per_task.wos.texts_only=true`.
- padded: the examples of ours in random order, every batch padded to the task's maximum length (the authors' for the
  task, or the model's positions where they are fewer), as the authors' code has it.

All take the same optimizer steps with a model of their own from the same weights. A round takes other examples than
the one before, some steps of each way in turn; the median of the rounds counts, and of their ratios, which are of text
tokens: inputs differ in length. On a CPU one thread computes and its processor seconds count; on a GPU wall time does.
Inputs are made beforehand: all read them from the same cache. Exit code 1 when a bar is not reached, 2 when used
wrongly.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from timing import Row, finish, hardware, parser_of, print_rows
from transformers.trainer_pt_utils import LengthGroupedSampler
from transformers.utils import logging

from common.errors import UserError
from klue.examples import load_splits
from klue.features import load_tokenizer, make_features, train_batches
from klue.finetune import batch_tensors, build_optimizer, train_step
from klue.heads import build_head
from klue.model_folder import read_model_folder
from klue.plan import Job, plan_jobs
from klue.settings import KlueSettings
from klue.tasks import get_task
from klue.tasks.base import Features

BARS = {("ours", "grouped"): 0.95, ("ours", "padded"): 2.0, ("texts only", "ours"): 2.0}
"""Least ratios, by the project's own aim: as fast as the best of others, but for the noise; twice the authors'."""
TASKS = ("ynat", "klue-nli", "klue-ner")
EXAMPLES = 3200
"""Examples of a task at most, the same ones always: two pools of 50 batches of 32."""


class Way:
    """A model under training, and how its batches are padded.

    Args:
        length: every batch is padded to it; None: to its own longest input.
    """

    def __init__(self, job: Job, features: Features, length: int | None = None) -> None:
        self._job = job
        self._task = get_task(job.task)
        self._features = features
        self._length = length
        self._device = torch.device(job.device)
        self._model = build_head(job, self._task, features.shared).to(self._device)
        self._optimizer = build_optimizer(self._model, job.training.learning_rate, job.training.weight_decay)
        self.filled = 0
        """Positions computed so far, padding included."""

    def step(self, batch: np.ndarray) -> None:
        # no input is longer: a multiple of the length is the length
        inputs = batch_tensors(self._features, batch, self._task, self._job, self._device, self._length or 1)
        self.filled += inputs["input_ids"].numel()
        train_step(self._model, self._optimizer, self._job.training.learning_rate, inputs)

    def seconds(self, batches: list[np.ndarray]) -> float:
        """Return what the steps took: processor seconds on a CPU, wall time on a GPU."""
        clock = time.process_time if self._device.type == "cpu" else time.perf_counter
        wait = torch.cuda.synchronize if self._device.type == "cuda" else (lambda: None)
        wait()
        begin = clock()
        for batch in batches:
            self.step(batch)
        wait()
        return clock() - begin


def prepare(model: Path, data: Path, name: str, batch: int | None) -> tuple[Job, Features]:
    """Return a job of the task with the authors' values, and the features it trains on."""
    task, facts = get_task(name), read_model_folder(model)
    length = min(task.authors.max_seq_len, facts.max_positions)
    settings = KlueSettings(
        data=str(data), tasks=[name], training={"max_seq_len": length, "global_batch": batch}, device="auto"
    )
    splits = load_splits(task, data, EXAMPLES)
    (job,) = plan_jobs(settings, facts, {name: splits}, "cpu", Path("none"))  # its folders are never written
    features = make_features(task, splits.train, load_tokenizer(model), facts, length)
    return job.model_copy(update={"device": "cuda" if torch.cuda.is_available() else "cpu"}), features


def measure(job: Job, features: Features, steps: int, rounds: int) -> list[Row]:
    """Return the rows of training: each way, and how ours compares with the others. Raises UserError where there are
    fewer inputs than a batch takes."""
    name = job.task
    size = job.training.global_batch
    lengths = features.lengths
    if len(lengths) < size:
        problem = f"{name}: {len(lengths)} inputs to train on, {size} a batch"
        raise UserError(problem, "batches are whole", f"--batch {len(lengths)}")
    random = np.random.default_rng(0)
    ours = whole(size, lambda epoch: train_batches(lengths, size, job.seed, epoch))
    others = whole(size, lambda epoch: grouped(lengths, size, epoch))
    length = job.training.max_seq_len
    ways = {"ours": Way(job, features), "grouped": Way(job, features), "padded": Way(job, features, length)}
    if get_task(name).name == "wos":
        training = job.training.model_copy(update={"texts_only": True})
        ways["texts only"] = Way(job.model_copy(update={"training": training}), features)
    for way in ways.values():  # memory is taken, code is chosen
        way.step(next(ours))
        way.filled = 0
    examples: dict[str, list[float]] = {which: [] for which in ways}
    tokens: dict[str, list[float]] = {which: [] for which in ways}
    text_tokens = dict.fromkeys(ways, 0)
    for _ in range(rounds):
        mine = [next(ours) for _ in range(steps)]
        batches = {
            "grouped": [next(others) for _ in range(steps)],
            "padded": np.array_split(random.permutation(np.concatenate(mine)), steps),
        }
        for which, way in ways.items():
            own_batches = batches.get(which, mine)
            text = int(lengths[np.concatenate(own_batches)].sum())
            seconds = way.seconds(own_batches)
            text_tokens[which] += text
            examples[which].append(steps * size / seconds)
            tokens[which].append(text / seconds)
    rows = []
    for which, rates in examples.items():
        note = f"{statistics.median(tokens[which]):,.0f} tokens/s, {text_tokens[which] / ways[which].filled:.0%} text"
        rows.append(Row(f"{name}, {which}", statistics.median(rates), "examples/s", note=note))
    note = f"batch {size}, {lengths.mean():.0f} tokens an input, at most {lengths.max()}, padded to {length}"
    for (way_name, base_name), bar in BARS.items():
        if way_name in ways:
            ratio = statistics.median(a / b for a, b in zip(tokens[way_name], tokens[base_name], strict=True))
            rows.append(Row(f"{name}, {way_name} to {base_name}", ratio, "x", bar, note=note))
    return rows


def whole(size: int, epoch_of: Callable[[int], list[np.ndarray]]) -> Iterator[np.ndarray]:
    """Yield the batches of all epochs that are not cut short."""
    return (batch for epoch in range(10**9) for batch in epoch_of(epoch) if len(batch) == size)


def grouped(lengths: np.ndarray, size: int, epoch: int) -> list[np.ndarray]:
    """Return an epoch's batches as transformers' Trainer groups them."""
    sampler = LengthGroupedSampler(size, lengths=lengths.tolist(), generator=torch.Generator().manual_seed(epoch))
    order = np.fromiter(sampler, np.int64, len(lengths))
    return [order[start : start + size] for start in range(0, len(order), size)]


def main() -> int:
    parser = parser_of(__doc__, json=True)
    parser.add_argument("model", type=Path, help="an encoder's folder")
    parser.add_argument("--data", type=Path, required=True, help="folder with the benchmark's files")
    parser.add_argument("--task", action="append", help=f"task; repeat for several (default: {', '.join(TASKS)})")
    parser.add_argument("--batch", type=int, help="examples a step (default: the authors')")
    parser.add_argument("--steps", type=int, default=4, help="optimizer steps of each way in a round")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of which the median counts")
    options = parser.parse_args()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(1)
    print(torch.cuda.get_device_name() if torch.cuda.is_available() else hardware())
    rows: list[Row] = []
    for name in options.task or TASKS:
        try:
            job, features = prepare(options.model, options.data, name, options.batch)
            measured = measure(job, features, options.steps, options.rounds)
        except UserError as error:
            print(f"error: {error}", file=sys.stderr)
            return error.exit_code
        rows += print_rows(get_task(name).title, measured)
    return finish(rows, options.json)


if __name__ == "__main__":
    sys.exit(main())
