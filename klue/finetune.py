"""Fine-tune an encoder with a classification head on one task and score it on the dev examples as it learns.

Shapes: N examples, B examples of a batch, S tokens of its longest, C outputs of the head.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification

from common.errors import HunminError
from klue.batches import evaluation_batches, evaluation_steps, learning_rate_share, pad, train_batches
from klue.features import Features, load_features
from klue.plan import Job, steps_of
from klue.score import defined
from klue.tasks import get_task
from klue.tasks.base import Task

CLIP = 1.0
"""Largest norm of the gradient."""
ADAM_EPS = 1e-8
PROGRESS_EVERY = 20
"""Steps between two lines of the history that say how far a job is."""
EVALUATION_TOKENS = {"cpu": 1 << 12, "cuda": 1 << 16}
"""Tokens of an evaluation batch at most, padding included; on a CPU small ones, which stay in its caches."""


@dataclass(frozen=True)
class Outcome:
    """What a job found: the best evaluation by the task's selection metric, the last one, the best's predictions."""

    best: dict[str, Any]
    last: dict[str, Any]
    guids: list[str]
    predictions: list[Any]


def build_model(job: Job, task: Task) -> Any:
    """Return the model in single precision with a new head; the seed decides every new weight.

    Raises:
        HunminError: the folder's weights do not fill the encoder.
    """
    config = AutoConfig.from_pretrained(job.model, local_files_only=True, num_labels=task.outputs)
    config.problem_type = "regression" if task.outputs == 1 else "single_label_classification"
    torch.manual_seed(job.seed)
    if job.init == "random":
        return AutoModelForSequenceClassification.from_config(config, dtype=torch.float32)
    model, info = AutoModelForSequenceClassification.from_pretrained(
        job.model, config=config, dtype=torch.float32, local_files_only=True, output_loading_info=True
    )
    encoder = f"{model.base_model_prefix}."
    # transformers fills missing weights at random with a mere warning; only head and pooler may be new
    missing = sorted(k for k in info["missing_keys"] if k.startswith(encoder) and ".pooler." not in k)
    if missing:
        raise HunminError(
            f"{len(missing)} encoder weights are missing in {job.model}, the first: {missing[0]}",
            "only the head is initialised anew",
            "export the model again",
        )
    return model


def preload(model: str) -> None:
    """Import all that building the model in a folder imports, without giving it weights or starting threads."""
    config = AutoConfig.from_pretrained(model, local_files_only=True)
    with torch.device("meta"):
        AutoModelForSequenceClassification.from_config(config)


def finetune(job: Job) -> Outcome:
    """Fine-tune and return the scores; the same job on the same kind of device gives the same outcome.

    AdamW (eps 1e-8, no decay on biases and layer norms), gradients clipped to norm 1, linear warm-up and decay,
    dynamic padding, batches of similar length. Scores of every evaluation go to the job's history file, and between
    them how far it is.

    Raises:
        HunminError: the weights do not fill the encoder, or the loss or an output is no longer finite.
    """
    task, device, training = get_task(job.task), torch.device(job.device), job.training
    torch.set_num_threads(job.threads)
    if device.type == "cuda":  # not needed on a CPU, where it costs the import of the compiler
        torch.use_deterministic_algorithms(True, warn_only=True)
    train, dev = (load_features(Path(job.features), split) for split in ("train", "dev"))
    model = build_model(job, task).to(device)
    torch.manual_seed(job.seed)
    optimizer = build_optimizer(model, training.learning_rate, training.weight_decay)
    total, lengths, step = steps_of(job), train.lengths, 0
    best: dict[str, Any] = {}
    last: dict[str, Any] = {}
    predictions: list[Any] = []
    Path(job.history).parent.mkdir(parents=True, exist_ok=True)
    with Path(job.history).open("w", encoding="utf-8") as history:
        for epoch in range(training.epochs):
            batches = train_batches(lengths, training.batch_size, job.seed, epoch)
            due = evaluation_steps(len(batches), training.evaluations_per_epoch)
            losses = torch.zeros((), device=device)
            since = 0
            for number, batch in enumerate(batches, start=1):
                rate = training.learning_rate * learning_rate_share(step, total, training.warmup_share)
                losses += train_step(model, optimizer, rate, _tensors(train, batch, job, device))
                step, since = step + 1, since + 1
                if number not in due:
                    if step % PROGRESS_EVERY == 0:
                        _log(history, {"step": step, "of": total})
                    continue
                loss = float(losses) / since
                if not math.isfinite(loss):
                    raise HunminError(
                        f"{job.name}: the loss is {loss} by step {step}", "a loss is finite", "lower the learning rate"
                    )
                found = task.decode(predict(model, dev, job, device))
                scores = {k: defined(v) for k, v in task.score(dev.labels, found).items()}
                last = {**scores, "step": step, "epoch": round(epoch + number / len(batches), 4)}
                if not best or _value(last, task) > _value(best, task):
                    best, predictions = last, found
                _log(history, {**last, "loss": round(loss, 6), "of": total})
                losses.zero_()
                since = 0
    return Outcome(best, last, dev.guids, predictions)


def build_optimizer(model: Any, learning_rate: float, weight_decay: float) -> torch.optim.AdamW:
    """Return AdamW that decays matrices only: biases and layer norms are the parameters with one dimension."""
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=learning_rate, eps=ADAM_EPS, fused=True)


def train_step(model: Any, optimizer: Any, rate: float, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """Take one optimiser step at the given learning rate and return the batch's loss (detached)."""
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = rate
    with _precision(inputs["input_ids"].device):
        loss = model(**inputs).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.detach().float()


@torch.inference_mode()
def predict(model: Any, features: Features, job: Job, device: torch.device) -> np.ndarray:
    """Return the head's outputs for all examples in their order, float64 of shape (N, C).

    Raises:
        HunminError: an output is not finite.
    """
    model.eval()
    lengths = features.lengths
    outputs_NC = np.zeros((len(lengths), model.config.num_labels), dtype=np.float64)
    for batch in evaluation_batches(lengths, max(1, EVALUATION_TOKENS[device.type] // int(lengths.max()))):
        inputs = _tensors(features, batch, job, device)
        inputs.pop("labels")
        with _precision(device):
            logits = model(**inputs).logits
        outputs_NC[batch] = logits.float().cpu().numpy()
    if not np.isfinite(outputs_NC).all():
        raise HunminError(
            f"{job.name}: the model's outputs are not finite", "outputs are finite", "lower the learning rate"
        )
    return outputs_NC


def _tensors(features: Features, batch: np.ndarray, job: Job, device: torch.device) -> dict[str, torch.Tensor]:
    multiple = 8 if device.type == "cuda" else 1
    ids_BS = pad([features.ids[i] for i in batch], job.pad_id, multiple)
    lengths_B1 = np.array([[len(features.ids[i])] for i in batch])
    arrays = {
        "input_ids": ids_BS,
        "attention_mask": (np.arange(ids_BS.shape[1])[None, :] < lengths_B1).astype(np.int64),
        "labels": features.targets[batch],
    }
    if features.token_types is not None:
        arrays["token_type_ids"] = pad([features.token_types[i] for i in batch], 0, multiple)
    tensors = {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}
    if tensors["labels"].is_floating_point():
        tensors["labels"] = tensors["labels"].float()
    return tensors


def _precision(device: torch.device) -> Any:
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")


def _value(scores: dict[str, Any], task: Task) -> float:
    value = scores[task.selection]
    return -math.inf if value is None else value


def _log(history: IO[str], entry: dict[str, Any]) -> None:
    history.write(json.dumps(entry) + "\n")
    history.flush()
