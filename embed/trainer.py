"""sentence-transformers' Trainer as tuning uses it: loss by shape, drawn batches, exact resuming, no generated card."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset, DatasetDict
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.trainer import BaseTrainer
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator
from sentence_transformers.util import pairwise_cos_sim

from common.files import disk_errors, sha256_file, write_text
from common.names import find
from common.results import encoded
from common.settings import dump_settings
from embed.base import begin_model, load_encoder, load_model, quiet_libraries, read_base
from embed.batches import Drawn, draw_batches, epoch_batches
from embed.card import FACTS, facts_of, loss_name, write_card
from embed.data import TrainingSet, describe_sets, load_sets, refuse_small_sets
from embed.sets import set_files
from embed.settings import EmbedSettings, PromptSettings
from pretrain.callbacks.checkpoint import library_disk_errors
from pretrain.callbacks.hf_trainer import Follow, WholeCheckpoints, begin_or_resume, publish_tuned, train_or_stop
from pretrain.export.old_names import save_tokenizer
from pretrain.export.sentence_embeddings import write_embedding_files
from pretrain.kernels.precision import resolve_dtype
from pretrain.train import StopFlag

FIXED: dict[str, Any] = {
    "num_train_epochs": 1, "save_strategy": "steps", "report_to": [], "log_level": "error", "disable_tqdm": True,
    "dataloader_drop_last": True, "ddp_find_unused_parameters": False, "logging_nan_inf_filter": False,
}  # fmt: skip
"""Arguments that are the same in every run; the Trainer's one epoch is the whole run, whose batches are drawn here."""


@dataclass
class GuidedCollator(SentenceTransformerDataCollator):
    """Batches in which a ranked text stands with the guide's vector of it, by the guide's own ids, prompts, length.

    Of B rows, `COLUMN_guide` holds vectors of the shape (B, 1, width).
    """

    guide: Any = None

    def __call__(self, features: list[dict[str, Any]]) -> dict[str, Any]:
        batch = super().__call__(features)
        texts = {*features[0]} - {"dataset_name"} if self.guide and "label" not in features[0] else {}
        for column in texts:
            encode = self.guide.encode_query if column == "query" else self.guide.encode_document
            vectors = encode([row[column] for row in features], convert_to_tensor=True, show_progress_bar=False)
            # a second axis of 1: sentence-transformers cuts one as long as the batch's ids where padding ends
            batch[f"{column}_guide"] = vectors.unsqueeze(1)
        return batch


class GuideVectors:
    """A guide as the loss takes it; a batch brings its vectors, since the loss itself would decode the model's ids."""

    def __init__(self, model: Any) -> None:
        self.tokenizer = model.tokenizer
        self.max_seq_length = model.max_seq_length

    def __call__(self, features: dict[str, Any]) -> dict[str, Any]:
        return {"sentence_embedding": features["guide"].squeeze(1)}


def loss_of(dataset: TrainingSet, model: Any, s: EmbedSettings, world: int) -> Any:
    """Return the loss of a set, by its shape; a guide drops false negatives, which several processes gather."""
    kind = loss_name(dataset.shape, dataset.settings.distill, s.guide, s.mini_batch)
    ranking: Any = {"gather_across_devices": world > 1}
    ranking |= {"mini_batch_size": s.mini_batch or s.batch // world} if kind.startswith("Cached") else {}
    ranking |= {"guide": GuideVectors(model), "temperature": s.temperature} if s.guide else {"scale": 1 / s.temperature}
    options: Any = {
        "CoSENTLoss": {"scale": 1 / s.temperature},
        "MarginMSELoss": {"similarity_fct": pairwise_cos_sim},
        "DistillKLDivLoss": {  # its student_temperature would scale the loss by the square
            "similarity_fct": lambda a, b: pairwise_cos_sim(a, b) / s.temperature,
            "teacher_temperature": s.temperature,
        },
    }.get(kind, ranking)
    loss = getattr(losses, kind)(model, **options)
    if s.matryoshka:
        width = model[0].auto_model.config.hidden_size
        loss = losses.MatryoshkaLoss(model, loss, [width, *sorted(s.matryoshka, reverse=True)])
    return loss


class ExactTrainer(WholeCheckpoints, BaseTrainer):
    """The Trainer of drawn batches; its checkpoints hold weights and state alone."""

    drawn: Drawn
    load_weights: Any

    def get_multi_dataset_batch_sampler(self, *_: Any, **__: Any) -> Drawn:
        return self.drawn

    def add_model_card_callback(self, default_args_dict: Any) -> None:
        """Add none: the generated card holds training texts."""

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        self.model[0].auto_model.save_pretrained(output_dir)

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:
        self.model[0].auto_model.load_state_dict(self.load_weights(Path(checkpoint_path)).state_dict())


def write_embedder(
    folder: Path, checkpoint: Path, tokenizer: Any, s: EmbedSettings, facts: dict[str, Any], name: str, *_: Any
) -> None:
    """Write a checkpoint as a model of sentence embeddings with its card."""
    write_model(folder, checkpoint, tokenizer, s)
    write_text(folder / "README.md", write_card(facts, name))


def write_model(folder: Path, checkpoint: Path, tokenizer: Any, s: EmbedSettings) -> None:
    """Write an encoder in the form that sentence-transformers has read since 5.1."""
    encoder = load_encoder(checkpoint)
    encoder.save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    prompts = s.prompts.model_dump() if s.prompts != PromptSettings() else {}
    write_embedding_files(folder, encoder.config.hidden_size, s.max_seq_len, s.pooling, prompts)


class Tuner(ExactTrainer, SentenceTransformerTrainer):
    """The Trainer of an embedder, and what a reranker's does otherwise."""

    arguments: Any = SentenceTransformerTrainingArguments
    within = ""
    data_collator_class = GuidedCollator
    read_sets = staticmethod(load_sets)
    begin = staticmethod(begin_model)
    load_weights = staticmethod(load_encoder)
    save_folder = staticmethod(write_embedder)
    loss_of = staticmethod(loss_of)


def columns_of(dataset: TrainingSet) -> list[str]:
    """Return the names of a set's columns of texts."""
    return ["query", "document", *(f"negative_{n}" for n in range(1, len(dataset.texts[0]) - 1))]


def as_datasets(sets: list[TrainingSet]) -> DatasetDict:
    """Return the sets as the Trainer takes them: columns of texts in their order, then the label."""
    by_name = {}
    for dataset in sets:
        columns = dict(zip(columns_of(dataset), map(list, zip(*dataset.texts, strict=True)), strict=True))
        by_name[dataset.name] = Dataset.from_dict(columns | ({"label": dataset.labels} if dataset.labels else {}))
    return DatasetDict(by_name)


def train_to_end(
    s: EmbedSettings, base: Path, out: Path, stop: StopFlag, world: int, name: str, kind: Any
) -> dict[str, Any] | None:
    """Return what `embed.train.tune_embeddings` does, in one of `world` processes, by a kind of trainer."""
    quiet_libraries()
    facts, tokenizer = read_base(base, s, kind.within)
    sets = kind.read_sets(s)
    refuse_small_sets(sets, s.batch)
    epoch = sum(epoch_batches(dataset, s.batch) for dataset in sets)
    steps = s.steps or s.epochs * epoch
    for _ in draw_batches(sets, s.batch, min(steps, epoch), s.seed):
        pass  # refuses a set whose rows fill no batch, before training
    prompts = {
        dataset.name: dict.fromkeys(columns_of(dataset), own.document) | {"query": own.query}
        for dataset in sets
        if (own := dataset.settings.prompts) != PromptSettings()
    }
    folder, dtype = out / "checkpoints", resolve_dtype(s.dtype)
    arguments = kind.arguments(  # it meets the other processes
        **FIXED, output_dir=str(folder), max_steps=steps, seed=s.seed, learning_rate=s.learning_rate,
        warmup_steps=s.warmup_share, per_device_train_batch_size=s.batch // world, prompts=prompts,
        bf16=dtype == "bf16", fp16=dtype == "fp16", use_cpu=not torch.cuda.is_available(),
        save_steps=s.checkpoint_every, save_total_limit=s.keep_last, logging_steps=s.log_every,
    )  # fmt: skip
    read = [sha256_file(path) for path in set_files(s)]
    identity = [dump_settings(s), world, read, facts.hash_for("pretrained")]
    done, checkpoint = begin_or_resume(arguments, identity, "settings, data, base and number of processes")
    with disk_errors(out), library_disk_errors(out):
        if done < steps:
            model = kind.begin(base, s, str(arguments.device))
            cure = "lower embed.learning_rate, or compute in fp32 or bf16"
            follow = Follow("embed", s, out, stop, done, steps, arguments.process_index == 0, cure)
            kind.drawn = Drawn(sets, s, steps, world)
            loss = {dataset.name: kind.loss_of(dataset, model, s, world) for dataset in sets}
            trainer = kind(model, arguments, as_datasets(sets), callbacks=[follow], loss=loss)
            if s.guide:
                trainer.data_collator.guide = load_model(find(s.guide, "model"), str(arguments.device))
            torch.manual_seed(s.seed)
            if not train_or_stop(trainer, follow, checkpoint, out):
                return None
            del model, trainer
        described = describe_sets(sets, tokenizer, s.max_seq_len, 0)
        counts = {"steps": steps, "batch": s.batch, "processes": world, "sets": described}
        if arguments.process_index == 0:
            partial, model_facts = out / ".partial", facts_of(s, base, sets)
            shutil.rmtree(partial, ignore_errors=True)
            last = folder / f"checkpoint-{steps}"
            kind.save_folder(partial, last, tokenizer, s, model_facts, name, sets, described)
            write_text(partial / FACTS, encoded(model_facts).decode())
            publish_tuned(partial, out, counts)
    return counts
