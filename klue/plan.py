"""The jobs of a klue stage: tasks × initialisations × training values × seeds, each described by one small file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Literal

from pydantic import SkipValidation

from common.errors import UserError
from common.progress import say
from common.rules import rules_number
from common.settings import Settings, settings_hash
from klue.examples import Splits
from klue.model_folder import ModelFacts
from klue.settings import KlueSettings
from klue.tasks import get_task
from klue.tasks.base import Example, Task
from klue.tasks.own import OwnFiles, OwnTask
from klue.training import Training, tried_values, values_name

Init = Literal["pretrained", "random"]
INITS: tuple[Init, ...] = ("pretrained", "random")


def jobs_of(folder: Path) -> Path:
    """Return where jobs have their folders: below the one that `klue finetune` writes, or what a run has made."""
    return folder / "jobs"


class Job(Settings):
    """One fine-tuning: everything that its process needs to know."""

    task: str
    """Name of the task."""
    init: Init
    """pretrained = the model's weights; random = its architecture, initialised anew from the seed."""
    seed: int
    """Seeds the head (and the model, when random), dropout and the order of examples."""
    name: str
    """Unique in its stage, and the same whenever this job is planned."""
    training: Training
    """The values it is fine-tuned with."""
    model: str
    """Folder of the model."""
    model_name: str
    """Name of the model."""
    model_hash: str
    """Identifies what of the model the result depends on."""
    data_hash: str
    """Identifies the files of the task."""
    pad_id: int
    """Id that inputs are padded with."""
    features: str = ""
    """Folder of the task's features, with splits train and dev; known when they are made."""
    root: str
    """Folder in which each job has a folder of its own."""
    threads: int
    """CPU threads."""
    device: str = "cpu"
    """Where it runs: "cpu", or on a GPU, "cuda" until it is known which, then "cuda:0" …"""
    own: OwnTask | None = None
    """Its row, labels listed, where the task is a user's own."""
    data_note: SkipValidation[str]
    """What must be said where the scores stand, as a message; may be empty."""
    examples: dict[str, int]
    """Counts of examples: train, dev, and those left out."""
    keep_head: bool = False
    """Whether the head begins as the model's folder has it, which was fine-tuned for the same task."""
    save_model: bool = False
    """Whether the model of the best evaluation is kept, too."""
    inputs: int = 0
    """Inputs of a model that the train examples make; known when the features are made."""

    @property
    def metric(self) -> str:
        """Return the metric by which its best evaluation is chosen."""
        return self.training.metric_for_best_model or get_task(self.task).selection

    @property
    def precision(self) -> str:
        """Return the type that the model computes in."""
        return "bfloat16" if self.device.startswith("cuda") else "float32"

    @property
    def fingerprint(self) -> str:
        """Return what identifies all that the result depends on: a finished job with the same one is not redone."""
        how = [self.training.values, self.threads, self.precision, *(["keep_head"] if self.keep_head else [])]
        of = [self.data_hash, self.model_hash, rules_number("klue")]
        row = [self.own.model_dump()] if self.own else []
        return settings_hash([self.task, self.init, self.seed, *how, *of, *row])

    @property
    def folder(self) -> Path:
        """Return the folder for its result, which no job of other settings, data or model writes to."""
        return Path(self.root) / f"{self.task}-{self.init}-{self.seed}-{self.fingerprint[:10]}"

    @property
    def history(self) -> Path:
        """Return the file for the scores of every evaluation, JSON Lines."""
        return self.folder / "logs" / "history.jsonl"


def not_served(family: str, title: str, reason: str) -> UserError:
    """Return the error for models of a family that a task is not served with."""
    return UserError(
        f"models of the family {family} are not served for {title}: {reason}",
        "a task needs the library's class for it, fed with token ids alone",
        "leave the task out (--task names the others), or take a model of another family: bert, roberta, electra …",
    )


def _check_family(model: ModelFacts, task: Task) -> None:
    from transformers.models.auto import modeling_auto

    named = {
        "sequence": modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
        "labels": modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
        "tokens": modeling_auto.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES,
        "span": modeling_auto.MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES,
        "choice": modeling_auto.MODEL_FOR_MULTIPLE_CHOICE_MAPPING_NAMES,
    }.get(task.head, modeling_auto.MODEL_MAPPING_NAMES)
    if model.family not in named:
        raise not_served(model.family, task.title, "the library has no class for it")


def counts_of(examples: Sequence[Example]) -> Counter[str]:
    """Return label → examples; those of other labels than text count as one."""
    return Counter(example.label if isinstance(example.label, str) else "" for example in examples)


def plan_jobs(
    settings: KlueSettings, model: ModelFacts, splits: dict[str, Splits], device: str, root: Path
) -> list[Job]:
    """Return all jobs, those with the most work first, so that the last ones to end are short. Raises UserError where a
    task has no such metric to choose by, or is not served with the model's family."""
    jobs = []
    for name in settings.tasks:
        task = get_task(name)
        _check_family(model, task)
        choices = tried_values(settings, task, model.hidden_size, counts_of(splits[name].train))
        if choices[0].max_seq_len > model.max_positions:
            say(f"klue: {task.title}: inputs of {model.max_positions} tokens at most, the model has no more positions")
            short = {"max_seq_len": model.max_positions}
            choices = [choice.model_copy(update=short) for choice in choices]
        keys = [*task.metrics, *task.as_published.values(), *task.extra_metrics]
        if (metric := choices[0].metric_for_best_model) not in (None, *keys):
            raise UserError(
                f"{name}: metric_for_best_model '{metric}' is none of its metrics",
                f"the best evaluation is chosen by one of {', '.join(keys)}",
                f"set klue.per_task.{task.name}.metric_for_best_model, each task has its own",
            )
        inits = INITS if settings.baseline_random else INITS[:1]
        for init, training, seed in product(inits, choices, settings.seed_list):
            values = "" if settings.search == "none" else f"{values_name(training.values)}-"
            jobs.append(
                Job(
                    task=name,
                    init=init,
                    seed=seed,
                    name=f"{name}-{init}-{values}{seed}",
                    training=training,
                    model=str(model.folder.resolve()),
                    model_name=model.name,
                    model_hash=model.hash_for(init),
                    data_hash=splits[name].data_hash,
                    pad_id=model.pad_id,
                    root=str(root.resolve()),
                    threads=settings.threads,
                    device=device,
                    own=task.row.published(task.labels) if isinstance(task, OwnFiles) else None,
                    data_note=splits[name].note,
                    examples=splits[name].counts,
                    keep_head=settings.keep_head and init == "pretrained",
                    save_model=settings.save_model == "best",
                )
            )
    return sorted(jobs, key=lambda job: -job.examples["train"] * job.training.epochs)


def steps_of(job: Job) -> int:
    """Return how many optimiser steps a job takes."""
    return job.training.epochs * -(-(job.inputs or job.examples["train"]) // job.training.global_batch)
