"""A fine-tuned classifier or tagger as ONNX graphs, fp32 and int8, whose labels are compared with the folder's own.

Lengths: N texts, B texts of a batch, S tokens of its longest, C outputs, M outputs of all texts or tokens.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from common.errors import UserError
from klue.card import pipeline_of
from klue.features import evaluation_batches, load_tokenizer, make_features
from klue.finetune import EVALUATION_TOKENS, batch_tensors
from klue.heads.base import encoder_inputs
from klue.model_folder import read_model_folder
from klue.plan import Job
from klue.predict import read_texts
from klue.saved import load_model, read_facts
from klue.tasks import get_task
from klue.tasks.base import Features, Task
from klue.tokens import encode
from pretrain.export.graphs import Graphs, open_graph
from pretrain.export.onnx import FILE

FILES = {"onnx": FILE, "onnx-int8": "onnx/model_int8.onnx"}
"""Graph → its file; transformers.js has these names, too."""
LEAST_AGREEMENT = 0.99
"""Smallest share of equal labels; of numbers, smallest correlation (Pearson)."""
INVENTED = 1000
"""Texts that a graph is compared on where none are named."""
WORDS = (4, 24)
"""Words of an invented text."""

Batches = list[tuple[np.ndarray, dict[str, torch.Tensor]]]
"""Lengths of a batch's inputs in tokens, (B,), and what the encoder takes of them, (B, S) each."""


def export_finetuned(
    folder: Path, int8: bool = False, overwrite: bool = False, source: Path | None = None
) -> dict[str, dict[str, Any]]:
    """Write the graphs of a fine-tuned model into its folder and return graph → {"bytes", "sentences_per_second",
    "agreement" of its labels with the folder's, "difference": the largest of a logit}.

    Args:
        source: texts to compare on, a file as `hunmin klue predict` reads it; None: words of the vocabulary at random.

    Raises:
        UserError: the task has no such graph, a file of that name is there, or packages of the extra `onnx` are absent.
        HunminError: a graph gives other labels than the folder; none is left then.
    """
    graphs = Graphs(folder, FILES, int8, overwrite)
    task = get_task(Job.model_validate(read_facts(folder)["job"]).task)
    if not pipeline_of(task):
        raise UserError(
            f"{folder} is of {task.title}, which has no ONNX graph",
            "a graph is of a classifier (one label, several, a number) or a tagger of plain texts",
            f"predict from the folder: hunmin klue predict {folder} --in texts.jsonl --out predictions.jsonl",
        )
    facts = read_model_folder(folder)
    head, job = load_model(folder, task)
    model: Any = head.eval().model
    tokenizer = load_tokenizer(folder)
    longest = min(job.training.max_seq_len, facts.max_positions)
    if source:
        features = make_features(task, read_texts(task, source), tokenizer, facts, longest)
    else:
        texts = [invented_texts(tokenizer, column) for column in range(max(1, len(task.text_columns)))]
        columns = encode(texts, tokenizer, longest, facts.token_types)
        del columns["cut"]
        features = Features(
            [], np.arange(INVENTED), {name: list(map(np.array, rows)) for name, rows in columns.items()}
        )
    torch.set_num_threads(job.threads)
    batches = batches_of(features, task, job)
    expected = logits_of(lambda **inputs: model(**inputs).logits, batches, task)
    measure = partial(_measured, task, batches, expected)
    return graphs.write(model, "logits", facts.max_positions, measure, "agreement", LEAST_AGREEMENT)


def _measured(task: Task, batches: Batches, expected: np.ndarray, graph: Path) -> dict[str, Any]:
    forward = open_graph(graph)
    begun = time.perf_counter()
    logits = logits_of(forward, batches, task)
    speed = sum(len(lengths) for lengths, _ in batches) / (time.perf_counter() - begun)
    near = {"agreement": agreement(task, logits, expected), "difference": float(np.abs(logits - expected).max())}
    return {"sentences_per_second": round(speed), **{name: round(value, 6) for name, value in near.items()}}


def batches_of(features: Features, task: Task, job: Job) -> Batches:
    """Return the inputs of some features in batches of similar length."""
    chosen = evaluation_batches(features.lengths, EVALUATION_TOKENS["cpu"])
    cpu = torch.device("cpu")
    return [(features.lengths[b], encoder_inputs(batch_tensors(features, b, task, job, cpu))) for b in chosen]


@torch.inference_mode()
def logits_of(forward: Callable[..., torch.Tensor], batches: Batches, task: Task) -> np.ndarray:
    """Return the logits of all texts, of a tagger those of all tokens that are there, (M, C), in the batches' order."""
    rows = []
    for lengths_B, inputs in batches:
        logits = forward(**inputs).numpy()
        is_token = np.arange(logits.shape[1]) < lengths_B[:, None]
        rows.append(logits[is_token] if task.head == "tokens" else logits)
    return np.concatenate(rows)


def agreement(task: Task, logits_MC: np.ndarray, expected_MC: np.ndarray) -> float:
    """Return the share of equal labels: of texts, of tokens, or of a text and a label each; of numbers the correlation
    (Pearson)."""
    if task.outputs == 1:
        return float(np.corrcoef(logits_MC[:, 0], expected_MC[:, 0])[0, 1])
    if task.head == "labels":
        return float(((logits_MC > 0) == (expected_MC > 0)).mean())
    return float((logits_MC.argmax(1) == expected_MC.argmax(1)).mean())


def invented_texts(tokenizer: Any, seed: int) -> Sequence[str]:
    """Return `INVENTED` texts of words of the vocabulary, drawn by a seed."""
    entries = (tokenizer.convert_tokens_to_string([token]).strip() for token in sorted(tokenizer.get_vocab()))
    words = [word for word in entries if re.fullmatch(r"[^\W\d_]{2,}", word)] or ["가나", "다라"]
    random = Random(seed)
    return [" ".join(random.choices(words, k=random.randint(*WORDS))) for _ in range(INVENTED)]
