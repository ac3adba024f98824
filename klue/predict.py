"""Predictions of a saved model for texts without labels."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from common.bounded import json_lines
from common.compressed import decompression_errors
from common.destinations import OutputFile
from common.errors import UserError
from common.files import open_bytes
from common.progress import say
from klue.examples import missing_file, read_examples, tell_contradictions
from klue.features import check_reading, cut_note, load_tokenizer, make_features
from klue.finetune import predict
from klue.model_folder import read_model_folder
from klue.saved import load_model, read_facts
from klue.score_file import write_predictions
from klue.tasks import TASKS, canonical, get_task
from klue.tasks.base import Example, Task
from klue.tasks.files import SUFFIX
from klue.tasks.klue.ner import Ner
from klue.tasks.own import OwnFiles
from klue.tasks.own_files import form_of
from klue.tasks.own_row import FORMS_OF, RECORDS
from klue.tasks.sentences import Classification
from pretrain.parallel.accelerator import named_device


def predict_file(
    folder: Path,
    name: str | None,
    source: Path,
    out: Path,
    device: str = "cpu",
    probabilities: bool = False,
    overwrite: bool = False,
) -> dict[str, int]:
    """Write {"guid", "prediction"} lines for every text of a file, in its order.

    Returns:
        {"predictions": how many, "cut": inputs that were cut for want of room}.

    Args:
        name: the task; None: the one that the model was fine-tuned for.
        source: JSON Lines with the fields of the task's records but for the label, `guid` where there is one (else
            the line's number from 0); or a file of the benchmark, whose labels are not looked at. Of an own task a
            file of any of its forms.
        probabilities: write "probabilities", too: {label: probability} of each text.

    Raises:
        UserError: the folder holds no model of the task, a line lacks what the task reads, or the task has no
            probabilities of labels; or `out` may not be written.
    """
    where = named_device(device)
    file = OutputFile(out, b'"prediction":', overwrite, [source])
    if not (name and canonical(name)):  # a task of the user's own is known by what its model says
        stored = read_facts(folder)["job"]["task"]
        name = name or stored
    task = get_task(name)
    labelled = [task_name for task_name, kind in TASKS.items() if isinstance(kind, Classification)]
    if probabilities and task.name not in labelled:
        raise UserError(
            f"{task.title} has no probabilities: its prediction is no single label of a text",
            f"probabilities are of tasks with one label a text, {', '.join(labelled)}",
            "leave --probabilities out",
        )
    facts = read_model_folder(folder)
    examples = read_texts(task, source)
    model, job = load_model(folder, task)
    if job.training.pos_tags and any(example.given is None for example in examples if task.name == "klue-dp"):
        raise UserError(
            f"{source}: there are words without a part of speech (pos)",
            "this parser was trained with gold parts of speech and reads them",
            "give them, or train one without: hunmin klue finetune … per_task.dp.pos_tags=false",
        )
    torch.set_num_threads(job.threads)
    tokenizer = load_tokenizer(folder)
    check_reading(task, examples, tokenizer, folder)
    features = make_features(task, examples, tokenizer, facts, job.training.max_seq_len)
    if note := cut_note({"": features}, job.training.max_seq_len):
        say(f"{source}: {note}", style="yellow")
    outputs = predict(model.to(where), features, task, job, where)
    predictions = task.decode(outputs, features, tokenizer)
    with file.open(as_given=True) as stream:
        more: list[dict[str, Any]] | None = None
        if probabilities and isinstance(task, Classification):
            more = [{"probabilities": shares} for shares in task.probabilities(outputs)]
        elif isinstance(task, Ner):
            more = [{"entities": entities} for entities in task.entities(outputs, features)]
        write_predictions(stream, [example.guid for example in examples], predictions, more)
    return {"predictions": len(predictions), "cut": features.cut}


def read_texts(task: Task, path: Path) -> list[Example]:
    """Return the examples of a file, labelled or not; see `predict_file`. Raises UserError that names a line without a
    field."""
    if isinstance(task, OwnFiles):
        return read_own(task, path)
    if {f".{task.suffix}", SUFFIX} & set(path.suffixes):
        return read_examples(task, path)
    return unlabelled_examples(task, path, json_lines(path, f"a line is an object with {task.unlabelled_fields}"))


def read_own(task: OwnFiles, path: Path) -> list[Example]:
    """Return the examples of a file of an own task, labelled or not. Raises UserError as `read_texts`."""
    forms = FORMS_OF.get(task.row.kind, RECORDS)
    rule = f"a record of {task.name} ({task.row.kind}) has {', '.join(task.text_columns or task.row.text)}"
    if not path.is_file() or form_of(path) not in forms:
        problem = f"{path} ends in none of {', '.join(forms)}" if path.is_file() else missing_file(path)
        raise UserError(problem, rule, "name a file with texts")
    try:
        with decompression_errors(path), open_bytes(path) as stream:
            records = task.records_of(stream, path, labelled=False)
    except (ValueError, KeyError) as error:
        raise UserError(f"{path}: {error}", rule, task.fix) from None
    return unlabelled_examples(task, path, enumerate(records, start=1))


def unlabelled_examples(task: Task, path: Path, records: Iterable[tuple[int, Any]]) -> list[Example]:
    """Return the examples of numbered records without labels. Raises UserError that names one without a field."""
    rule = f"a line is an object with the fields of {task.name}: {task.unlabelled_fields}"
    examples: dict[str, Example] = {}
    odd = []
    for number, record in records:
        try:
            read = [*task.unlabelled(record, str(record.get("guid", number - 1)))]
            if what := task.contradiction(record):
                odd.append(f"{next((example.guid for example in read), number - 1)}: {what}")
        except KeyError as error:
            raise UserError(f"{path}, line {number}: field {error} is missing", rule) from None
        except (ValueError, TypeError, AttributeError) as error:
            raise UserError(f"{path}, line {number}: {error}", rule) from None
        of_guid = {example.guid: example for example in read}
        if twice := [guid for guid in of_guid if guid in examples]:
            raise UserError(f"{path}, line {number}: guid {twice[0]!r} is there twice", rule)
        examples |= of_guid
    tell_contradictions(path, odd, len(examples))
    if not examples:
        raise UserError(f"{path} holds no texts", rule)
    return list(examples.values())
