"""Fine-tune an encoder with a task's head and score it on the dev examples as it learns."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

from common.errors import HunminError
from common.progress import say
from klue.collapse import one_answer, share_in_words
from klue.features import (
    evaluation_batches,
    evaluation_steps,
    learning_rate_share,
    load_features,
    load_tokenizer,
    pad,
    train_batches,
)
from klue.heads import build_head
from klue.heads.base import Head, served
from klue.plan import Job, steps_of
from klue.saved import build_kept, save_model
from klue.score_file import defined
from klue.tasks import get_task
from klue.tasks.base import Features, Outputs, Task

CLIP = 1.0
"""Largest norm of the gradient."""
ADAM_EPS = 1e-8
PROGRESS_EVERY = 20
"""Steps between two lines of the history that say how far a job is."""
TOKEN_COLUMNS = ("input_ids", "token_type_ids", "labels")
"""Columns that are filled up to a multiple of 8 on a GPU."""
EVALUATION_TOKENS = {"cpu": 1 << 12, "cuda": 1 << 16}
"""Tokens of an evaluation batch at most, padding included; on a CPU small ones, which stay in its caches."""


@dataclass(frozen=True)
class Outcome:
    """What a job found: the best evaluation by the job's metric, the last one, the best's predictions."""

    best: dict[str, Any]
    last: dict[str, Any]
    predictions: dict[str, dict[str, Any]]
    """Split → guid → prediction by the best evaluation's weights, of dev and of a test set, whose labels are not looked
    at."""
    one_answer: tuple[str, float] | None = None
    """What the best evaluation's weights predict for all or nearly all examples, and for which share of them."""


def finetune(job: Job) -> Outcome:
    """Fine-tune; return dev scores, and predictions for the test set. A CPU gives the same each time, a GPU nearly.

    AdamW (eps 1e-8, no decay on biases and layer norms), gradients clipped to norm 1, linear warm-up and decay,
    dynamic padding, batches of similar length. It ends early after `patience` evaluations without a better score.
    Scores of every evaluation go to the job's history file, and between them how far it is. Raises HunminError where
    the weights do not fill the encoder, or the loss or an output is no longer finite.
    """
    begun = time.monotonic()
    task = get_task(job.task)
    device = torch.device(job.device)
    training = job.training
    torch.set_num_threads(job.threads)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    train, dev = (load_features(Path(job.features), split) for split in ("train", "dev"))
    with served(job):
        model = (build_kept if job.keep_head else build_head)(job, task, train.shared).to(device)
    if training.class_weights:
        model.weigh_classes(torch.from_numpy(np.asarray(train.columns["labels"])).to(device))
    if task.scaled:
        model.scale_outputs(np.asarray(train.columns["labels"]), new=not job.keep_head)
    tokenizer = load_tokenizer(Path(job.model)) if task.writes_text else None
    torch.manual_seed(job.seed)
    optimizer = build_optimizer(model, training.learning_rate, training.weight_decay)
    total = steps_of(job)
    steps_since = 0
    stale_evaluations = 0
    losses = torch.zeros((), device=device)
    best: dict[str, Any] = {}
    last: dict[str, Any] = {}
    predictions: list[Any] = []
    best_weights: dict[str, torch.Tensor] = {}
    job.history.parent.mkdir(parents=True, exist_ok=True)
    with job.history.open("w", encoding="utf-8") as history:
        for step, (batch, epoch) in enumerate(_scheduled(job, train.lengths), start=1):
            rate = training.learning_rate * learning_rate_share(step - 1, total, training.warmup_share)
            inputs = batch_tensors(train, batch, task, job, device)
            with served(job):
                losses += train_step(model, optimizer, rate, inputs)
            steps_since += 1
            if epoch is None:
                if step % PROGRESS_EVERY == 0:
                    _log(history, {"step": step, "of": total})
                continue
            loss = float(losses) / steps_since
            if not math.isfinite(loss):
                raise HunminError(
                    f"{job.name}: the loss is {loss} by step {step}", "a loss is finite", "lower the learning rate"
                )
            outputs = predict(model, dev, task, job, device)
            decoded = task.decode(outputs, dev, tokenizer)
            scored = task.score(dev.labels, decoded) | task.published(outputs, dev, tokenizer)
            scores = {k: defined(v) for k, v in scored.items()}
            if scores[job.metric] is None and job.metric in task.as_published.values():
                raise HunminError(
                    f"{job.name}: {job.metric} is undefined with this tokenizer",
                    "evaluations are chosen by a metric that has values",
                    f"leave klue.per_task.{task.name}.metric_for_best_model out: it is chosen by {task.selection} then",
                )
            last = {**scores, "step": step, "epoch": epoch}
            stale_evaluations += 1
            if not best or _value(last[job.metric]) > _value(best[job.metric]):
                best = last
                predictions = decoded
                stale_evaluations = 0
                if job.save_model or job.examples.get("test"):  # in main memory
                    best_weights = {
                        name: part.detach().to("cpu", copy=True) for name, part in model.state_dict().items()
                    }
            _log(history, {**last, "loss": round(loss, 6), "of": total})
            steps_since, losses = 0, torch.zeros_like(losses)
            if training.patience and stale_evaluations >= training.patience:
                break
    if best_weights:
        model.load_state_dict(best_weights)
    if job.save_model:
        save_model(model, job, train.shared, best, train.labels, time.monotonic() - begun)
    answer = one_answer(predictions, dev.labels)
    if answer is not None:
        label, share = answer
        say(
            f"{job.name}: predicts one label ({label}) for {share_in_words(share)}; raise epochs or the learning rate",
            style="yellow",
        )
    answers = {"dev": _by_guid(dev, predictions)}
    if job.examples.get("test"):
        test = load_features(Path(job.features), "test")
        answers["test"] = _by_guid(test, task.decode(predict(model, test, task, job, device), test, tokenizer))
    return Outcome(best, last, answers, answer)


def _scheduled(job: Job, lengths: np.ndarray) -> Iterator[tuple[np.ndarray, float | None]]:
    """Yield the batches of all epochs, each with the epochs done where the model is scored after it, else None."""
    for epoch in range(job.training.epochs):
        batches = train_batches(lengths, job.training.global_batch, job.seed, epoch)
        due = evaluation_steps(len(batches), job.training.evaluations_per_epoch)
        for number, batch in enumerate(batches, start=1):
            yield batch, round(epoch + number / len(batches), 4) if number in due else None


def build_optimizer(model: Any, learning_rate: float, weight_decay: float) -> torch.optim.AdamW:
    """Return AdamW that decays matrices only: biases and layer norms are the parameters with one dimension."""
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=learning_rate, eps=ADAM_EPS, fused=True)


def train_step(model: Head, optimizer: Any, rate: float, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """Take one optimiser step at the given learning rate and return the batch's loss (detached)."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = rate
    kind = inputs["input_ids"].device.type
    with torch.autocast(kind, dtype=torch.bfloat16, enabled=kind == "cuda"):
        loss = model.loss(inputs)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.detach().float()


@torch.inference_mode()
def predict(model: Head, features: Features, task: Task, job: Job, device: torch.device) -> Outputs:
    """Return the head's outputs for all inputs in order, floats in float64. Raises HunminError for nan and infinity."""
    model.eval()
    lengths = features.lengths
    outputs: dict[str, list[Any]] = {}
    for batch in evaluation_batches(lengths, EVALUATION_TOKENS[device.type]):
        # without autocast: scores of bfloat16 come in steps, and ties and thresholds would decide by them
        inputs = batch_tensors(features, batch, task, job, device)
        with scoring_precision(device), served(job):
            predicted = model.predict(inputs)
        for name, values in predicted.items():
            rows = outputs.setdefault(name, [None] * len(lengths))
            array = values.double().cpu().numpy() if values.is_floating_point() else values.cpu().numpy()
            if not np.isfinite(array).all():
                raise HunminError(
                    f"{job.name}: the model's outputs are not finite", "outputs are finite", "lower the learning rate"
                )
            for place, row in zip(batch, array, strict=True):
                rows[place] = row
    return outputs


def batch_tensors(
    features: Features, batch: np.ndarray, task: Task, job: Job, device: torch.device, multiple: int | None = None
) -> dict[str, torch.Tensor]:
    """Return a head's inputs of `batch`, (B,), filled up to the longest, or to a `multiple`: None = 8 on a GPU."""
    multiple = multiple or (8 if device.type == "cuda" else 1)
    arrays = {}
    for name, column in features.columns.items():
        if name in task.decoding:
            continue
        if isinstance(column, np.ndarray):
            arrays[name] = column[batch]
        else:
            fill = job.pad_id if name == "input_ids" else task.fill.get(name, 0)
            arrays[name] = pad([column[i] for i in batch], fill, multiple if name in TOKEN_COLUMNS else 1)
    lengths_B1 = np.array([[len(features.columns["input_ids"][i])] for i in batch])
    arrays["attention_mask"] = (np.arange(arrays["input_ids"].shape[1])[None, :] < lengths_B1).astype(np.int64)
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}


@contextmanager
def scoring_precision(device: torch.device) -> Iterator[None]:
    """Have a GPU multiply matrices in TF32, with sums in float32: scores do not come in steps as of bfloat16."""
    before = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _by_guid(features: Features, predictions: list[Any]) -> dict[str, Any]:
    return {example.guid: answer for example, answer in zip(features.examples, predictions, strict=True)}


def _value(score: float | None) -> float:
    return -math.inf if score is None else score


def _log(history: IO[str], entry: dict[str, Any]) -> None:
    history.write(json.dumps(entry) + "\n")
    history.flush()
