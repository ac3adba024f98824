"""A fine-tuned model in a folder: encoder, as transformers loads it, head, labels, a card; written and read."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from common.errors import UserError
from common.files import follow_umask, publish_folder, write_text
from common.names import pinned_name
from common.results import check_numbers, encoded, read_result
from klue.card import class_counts, write_card
from klue.heads import build_head
from klue.heads.base import Head
from klue.model_folder import BESIDE_TOKENIZER, HEAD_FILE, TOKENIZER_FILES
from klue.plan import Job, jobs_of
from klue.result_rows import bounds_of
from klue.tasks import get_task, know_own
from klue.tasks.base import Task
from pretrain.export.checkpoint import state_inputs
from pretrain.export.old_names import add_old_names

FACTS, REST = "klue.json", HEAD_FILE
_PLACES = ("model", "features", "root")
FOLDER = "model"
"""Name of the folder among a job's files."""
RULE = "a fine-tuned model is a folder jobs/NAME/model of `hunmin klue finetune --save-model best`"


def save_model(
    model: Head, job: Job, shared: dict[str, Any], scores: dict[str, Any], train_labels: Sequence[Any], seconds: float
) -> None:
    """Write the model into the job's folder; it appears only when it is whole. The card says the `seconds` it took."""
    task = get_task(job.task)
    inner = _library_part(model)
    if labels := task.labels:
        inner.config.id2label = dict(enumerate(labels))
        inner.config.label2id = {label: number for number, label in enumerate(labels)}
    folder = job.folder / f".{FOLDER}.tmp"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    inner.save_pretrained(folder)
    head_tensors = {name: part.detach().cpu().contiguous().clone() for name, part in _head_tensors(model).items()}
    save_file(head_tensors, folder / REST)
    follow_umask(*folder.iterdir())
    for name in (*TOKENIZER_FILES, *BESIDE_TOKENIZER):
        if (Path(job.model) / name).is_file():
            shutil.copyfile(Path(job.model) / name, folder / name)
    add_old_names(folder)
    state_inputs(folder, inner.config)
    # where it was made is not published
    base = pinned_name(Path(job.model)) or ""
    classes = class_counts(task, train_labels)
    facts = {
        "job": {**job.model_dump(), **dict.fromkeys(_PLACES, "")},
        "shared": shared,
        "scores": scores,
        "labels": list(labels),
        "classes": classes,
        "base": base,
        "seconds": round(seconds, 1),
    }
    write_text(folder / FACTS, encoded(facts).decode() + "\n")
    place = (jobs_of(Path()) / job.folder.name / FOLDER).as_posix()
    write_text(folder / "README.md", write_card(job, scores, place, classes, base, seconds=seconds))
    publish_folder(folder, job.folder / FOLDER, replace=True)  # of an earlier attempt at this job


def read_facts(folder: Path) -> dict[str, Any]:
    """Return what a saved model says of itself: its "job", what the head "shared" with the tokenizer, the "scores" of
    its weights, its "labels", how many train examples are of each of its "classes", its "base",
    hf:OWNER/NAME@COMMIT or "" of a folder, and the "seconds" that it took.

    Raises:
        UserError: the folder holds no saved model.
        DamagedError: what it says was edited.
    """

    def check(stored: dict[str, Any]) -> None:
        job = Job.model_validate(stored["job"])
        if job.own:
            know_own(job.own)
        check_numbers(stored["scores"], bounds_of)
        check_numbers([*stored["classes"].values(), stored["seconds"]])
        "".join([stored["base"], *stored["labels"], *stored["shared"]])

    if not (folder / FACTS).exists():
        raise UserError(f"{folder} holds no fine-tuned model ({FACTS})", RULE, "name such a folder")
    return dict(read_result(folder / FACTS, check, "fine-tune it again", sealed=True))


def load_model(folder: Path, task: Task) -> tuple[Head, Job]:
    """Return a saved model and its job. Raises UserError for no or another task's, HunminError for unfit weights."""
    stored = read_facts(folder)
    job = Job.model_validate(stored["job"])
    if job.task != task.name:
        raise UserError(f"{folder} was fine-tuned for {job.task}, not {task.name}", RULE, f"name the task {job.task}")
    changes = {"model": str(folder.resolve()), "init": "pretrained", "device": "cpu", "keep_head": True}
    job = job.model_copy(update=changes)
    return build_kept(job, task, stored["shared"]), job


def build_kept(job: Job, task: Task, shared: dict[str, Any]) -> Head:
    """Return the model of a fine-tuned job's folder. Raises UserError where the head's weights do not fit, HunminError
    where those of the encoder do not load."""
    model = build_head(job, task, shared)
    file = Path(job.model) / REST
    try:
        head_tensors = load_file(file)
        with torch.no_grad():
            for name, part in _head_tensors(model).items():
                part.copy_(head_tensors[name])
    except Exception as error:
        raise UserError(f"{file} does not load: {error}", RULE, "save the model again") from None
    return model


def check_kept(folder: Path, tasks: Sequence[Task]) -> None:
    """Raise a UserError where the folder holds no saved model, or one of another task or other labels."""
    stored = read_facts(folder)
    for task in tasks:
        if stored["job"]["task"] != task.name or stored["labels"] != list(task.labels):
            raise UserError(
                f"keep_head: {folder} was fine-tuned for {stored['job']['task']}, not {task.name} as it is here",
                "a head is kept for the task and the labels that it was fine-tuned for",
                f"name that task alone (--task {stored['job']['task']}), or leave keep_head out: the head begins anew",
            )


def _library_part(model: Head) -> Any:
    """Return what of a head the library can save: the model with its own head, or the encoder."""
    return getattr(model, "model", None) or model.encoder


def _head_tensors(model: Head) -> dict[str, torch.Tensor]:
    """Return what of a model's state the library does not save."""
    inner = _library_part(model)
    ours = {id(part) for part in [*inner.parameters(), *inner.buffers()]}
    saved_names = model.state_dict().keys()
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: part for name, part in named if name in saved_names and id(part) not in ours}
