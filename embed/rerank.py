"""A cross-encoder by sentence-transformers: tuned on a recipe's rows, scored on retrieval, teacher of distillation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from sentence_transformers import CrossEncoder, CrossEncoderTrainer, CrossEncoderTrainingArguments
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
from transformers import AutoModelForSequenceClassification

from common.errors import UserError
from common.progress import say
from common.settings import parse_settings
from embed.base import load_model
from embed.data import TrainingSet, load_sets, query_sets, write_rows
from embed.scored import SCORED
from embed.settings import RETRIEVAL, EmbedSettings, PromptSettings, require_mteb
from embed.trainer import ExactTrainer
from pretrain.export.old_names import save_tokenizer
from pretrain.model_folder import LOCAL, open_model, quiet, refused
from tokenizer.save import PROBE

HIGHEST_RATE = 3e-4
"""Highest learning rate of a cross-encoder unless one is set (docs/results/embeddings.md)."""


def reranker_settings(s: EmbedSettings) -> EmbedSettings:
    """Return a recipe's settings with those of `embed.rerank` in place; UserError where they do not go together."""
    own = s.rerank.model_dump(exclude={"model", "first"})
    own["learning_rate"] = s.rerank.learning_rate or min(s.learning_rate, HIGHEST_RATE)
    tree = {**s.model_dump(), **own, "mini_batch": None, "matryoshka": (), "guide": None, "kind": "dense"}
    return parse_settings(EmbedSettings, tree, "embed.rerank of the recipe")


def with_negatives(sets: Sequence[TrainingSet]) -> list[TrainingSet]:
    """Return the sets whose rows have negatives, others are named on stderr; UserError where there is none."""
    with_queries = query_sets(sets)
    usable = [dataset for dataset in with_queries if len(dataset.texts[0]) >= 3]
    if without := ", ".join(dataset.name for dataset in with_queries if dataset not in usable):
        rule, fix = "a reranker compares a positive with negatives", "mine them: hunmin embed mine"
        if not usable:
            raise UserError(f"{without} has no negatives", rule, f"{fix}, and name the mined file in embed.data")
        say(f"left out: {without} has no negatives; {fix}", style="yellow")
    return usable


def load_pairs(s: EmbedSettings) -> list[TrainingSet]:
    """Return a recipe's sets with queries as sets of pairs: 1 of a query and its positive, 0 of it and a negative.

    Raises:
        UserError: there is no set with queries, or one without negatives.
    """
    converted = []
    for dataset in with_negatives(load_sets(s)):
        pairs = dict.fromkeys(((query, text) for query, _, *negatives in dataset.texts for text in negatives), 0.0)
        pairs |= dict.fromkeys(((query, positive) for query, positive, *_ in dataset.texts), 1.0)
        settings = dataset.settings.model_copy(update={"prompts": PromptSettings()})
        changed: Any = {"settings": settings, "shape": "scored", "texts": list(pairs), "labels": list(pairs.values())}
        converted.append(replace(dataset, **changed))
    return converted


def load_head(folder: Path) -> Any:
    """Return a folder's model with its head of one output, in fp32."""
    return AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32, trust_remote_code=False)


class CrossTuner(ExactTrainer, CrossEncoderTrainer):
    """The Trainer of a cross-encoder; see `embed.trainer.Tuner`."""

    arguments: Any = CrossEncoderTrainingArguments
    within = "rerank."
    read_sets = staticmethod(load_pairs)
    load_weights = staticmethod(load_head)
    loss_of = staticmethod(lambda _, model, *__: BinaryCrossEntropyLoss(model))

    @staticmethod
    def begin(base: Path, s: EmbedSettings, device: str) -> CrossEncoder:
        torch.manual_seed(s.seed)
        return CrossEncoder(
            str(base), num_labels=1, max_length=s.max_seq_len, device=device, model_kwargs={"dtype": torch.float32},
            **LOCAL,
        )  # fmt: skip

    @staticmethod
    def save_folder(
        folder: Path, checkpoint: Path, tokenizer: Any, s: EmbedSettings, facts: Any, name: str,
        sets: Sequence[TrainingSet], described: list[dict[str, Any]],
    ) -> None:  # fmt: skip
        """Write a checkpoint as a cross-encoder without a card, and count the pairs that it cuts."""
        load_head(checkpoint).save_pretrained(folder)
        tokenizer.model_max_length = s.max_seq_len  # where CrossEncoder cuts
        save_tokenizer(tokenizer, folder)
        for description, dataset in zip(described, sets, strict=True):
            pairs = tokenizer(*map(list, zip(*dataset.texts, strict=True)), return_attention_mask=False, verbose=False)
            description |= {
                "texts": len(dataset.texts),
                "cut": sum(len(ids) > s.max_seq_len for ids in pairs["input_ids"]),
            }


def open_reranker(folder: Path) -> None:
    """Refuse a folder that holds no cross-encoder: a UserError."""

    def fits(config: Any) -> None:
        named = config.architectures
        kind = str(named[0]) if isinstance(named, list) and named else "no architecture"
        if not kind.endswith("ForSequenceClassification") or config.num_labels != 1:
            raise UserError(
                f"{folder} is no cross-encoder: {kind}",
                "a cross-encoder has a head with one output",
                "tune one (hunmin embed rerank train), or name another",
            )

    open_model(folder, AutoModelForSequenceClassification, fits)


def load_reranker(folder: Path, logits: bool = False) -> Any:
    """Return a folder's cross-encoder, of logits or of numbers from 0 to 1; UserError for no cross-encoder."""
    open_reranker(folder)
    with quiet(), refused(folder, "sentence-transformers does not compute with it"):
        activation = torch.nn.Identity() if logits else torch.nn.Sigmoid()
        model = CrossEncoder(str(folder), activation_fn=activation, **LOCAL)
        predicted(model, [(PROBE, PROBE)])
    return model


def predicted(reranker: Any, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """Return a cross-encoder's scores of pairs of texts; UserError where one is NaN or infinite."""
    scores = np.asarray(reranker.predict(pairs, show_progress_bar=False), np.float32)
    if not (finite := np.isfinite(scores)).all():
        query, text = pairs[int(np.argmin(finite))]
        raise UserError(
            f"the cross-encoder's score of {query[:40]!r} with {text[:40]!r} is {scores[int(np.argmin(finite))]}",
            "a score is a finite number",
            "train the cross-encoder again, or name another one",
        )
    return scores


def score_reranker(s: EmbedSettings, embedder: Path, reranker: Path) -> dict[str, Any]:
    """Return retrieval task → {"queries", "before", "after"}: nDCG@10 and MRR@10 in percent of the embedder's ranking,
    and of it with its first documents reordered.

    Raises:
        UserError: no retrieval task is scored, its files are missing, or a model is none.
    """
    require_mteb()
    tasks = [name for name in s.score if name in RETRIEVAL and not SCORED[name].reranking]
    if not tasks:
        rule, names = "a reranker reorders retrieved documents", "SQuADKorV1Retrieval, HunminKlueMrcRetrieval …"
        raise UserError("embed.score has no retrieval task", rule, f"add one to it: {names}")
    from embed.tasks import evaluate, local_task

    def evaluated(model: Any, task: Any, **options: Any) -> dict[tuple[str, str], dict[str, float]]:
        scores = evaluate(model, task, cache=None, **options).task_results[0].scores
        return {
            (row["hf_subset"], split): {"ndcg@10": 100 * row["ndcg_at_10"], "mrr@10": 100 * row["mrr_at_10"]}
            for split, rows in scores.items()
            for row in rows
        }

    model = load_model(embedder)
    cross = load_reranker(reranker, logits=True)
    table = {}
    for name in tasks:
        with TemporaryDirectory() as folder:
            before = evaluated(model, local_task(name, s.sources), prediction_folder=folder)
            task = local_task(name, s.sources).convert_to_reranking(folder, top_k=s.rerank.first)
            counts = {part: len(task.dataset[part[0]][part[1]]["queries"]) for part in before}
            after = evaluated(cross, task)
        for part, queries in counts.items():
            title = " ".join([name, *(part if len(counts) > 1 else ())])
            table[title] = {"queries": queries, "before": before[part], "after": after[part]}
    return table


def teach(s: EmbedSettings, reranker: Path, out: Path) -> dict[str, Any]:
    """Write `out/SET.jsonl` for each set with queries, its rows with the reranker's scores, 0 to 1, from which
    `distill` learns, and return {"sets": rows and licence}.

    Raises:
        UserError: there is no set with queries, one has no negatives, or the model is no cross-encoder.
    """
    sets = with_negatives(load_sets(s))
    model = load_reranker(reranker)
    counts = {}
    for dataset in sets:
        pairs = [(query, text) for query, *texts in dataset.texts for text in texts]
        scores = predicted(model, pairs).reshape(len(dataset.texts), -1).tolist()
        rows = [
            {"query": query, "positive": positive, "negatives": negatives, "scores": row}
            for (query, positive, *negatives), row in zip(dataset.texts, scores, strict=True)
        ]
        write_rows(out, dataset, rows)
        counts[dataset.name] = {"rows": len(rows), "licence": dataset.licence}
    return {"sets": counts}
