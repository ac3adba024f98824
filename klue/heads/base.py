"""What every head can do, how an encoder comes from a model folder, and one message for a family of encoders that the
library cannot use for a task, instead of the library's own error."""

from __future__ import annotations

import traceback
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoConfig

from common.errors import HunminError, UserError
from common.model_files import read_object
from klue.model_folder import is_finetuned
from klue.plan import Job, not_served
from klue.tasks import get_task

ENCODER_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
DROPOUTS = (
    *("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout", "summary_last_dropout"),
    *("pooler_dropout", "cls_dropout", "embedding_dropout", "attention_dropout", "mlp_dropout", "hidden_dropout"),
)
"""What configurations of encoders call their dropouts."""


class Head(nn.Module):
    """An encoder with a task's head, made of a job, its task, and what the head must know of the tokenizer. Inputs are
    the columns of the features as tensors, (B, …), filled up at their ends, with `attention_mask`."""

    @abstractmethod
    def loss(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return the mean loss of a batch."""

    def scale_outputs(self, labels_N: np.ndarray, new: bool) -> None:
        """Give outputs of a new head the mean and standard deviation of the labels, and divide the loss by their
        variance. Only a head of one number an input has this."""
        raise NotImplementedError

    def weigh_classes(self, labels_N: Tensor) -> None:
        """Weigh classes in the loss by n / (classes × examples of the class); `labels_N` are the train examples'.
        Raises UserError for a head whose loss is not of one class an input."""
        raise UserError(
            "klue.training.class_weights=true of a task that has no single class an example",
            "classes are weighted where each example has one",
            "leave klue.training.class_weights out",
        )

    @abstractmethod
    def predict(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the outputs that the task decodes, by its names for them, (B, …) each."""


def load_encoder(auto: Any, job: Job, shared: dict[str, Any], **configuration: Any) -> Any:
    """Return a model of the library, in single precision.

    Args:
        shared: `embeddings`, where the task has added tokens, is how many ids there are.

    Raises:
        HunminError: the model does not load, or a head that is to be kept lacks weights.
    """
    finetuned = is_finetuned(Path(job.model)) and not job.keep_head
    model, info = _load(auto, job, configuration, finetuned)
    if job.init == "pretrained" and finetuned:
        _renew_head(model, auto)
    if job.keep_head and (missing := sorted(info.get("missing_keys", ()))):
        raise HunminError(
            f"{job.model} lacks {len(missing)} weights: {missing[0]} …",
            "a head that is kept is whole",
            "save the model again",
        )
    if shared.get("embeddings", 0) > model.config.vocab_size:
        try:
            model.resize_token_embeddings(shared["embeddings"], mean_resizing=False)
        except Exception as error:  # of many kinds, by the family
            raise family_error(job, f"no token can be added to them ({' '.join(str(error).split())})") from None
    return model


def _renew_head(model: Any, auto: Any) -> None:
    """Draw all weights outside the encoder anew: those of a folder that was fine-tuned are of another task, or seed."""
    if model.base_model is model:
        return
    inside = f"{model.base_model_prefix}."
    fresh = auto.from_config(model.config, dtype=torch.float32).state_dict()
    with torch.no_grad():
        for name, part in model.state_dict().items():
            if not name.startswith(inside):
                part.copy_(fresh[name])


def _load(auto: Any, job: Job, configuration: dict[str, Any], finetuned: bool) -> tuple[Any, dict[str, Any]]:
    """Return the model and the library's loading report; a fine-tuned folder's head may have other shapes."""
    where: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = AutoConfig.from_pretrained(job.model, **where, **configuration)
        for name in DROPOUTS if job.training.dropout is not None else ():
            if hasattr(config, name):
                setattr(config, name, job.training.dropout)
        if job.init == "random":
            return auto.from_config(config, dtype=torch.float32), {}
        loaded: tuple[Any, dict[str, Any]] = auto.from_pretrained(
            job.model,
            config=config,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=finetuned,
            **where,
        )
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise HunminError(
            f"the model in {job.model} does not load: {reason}", f"{auto.__name__} loads it", "export the model again"
        ) from None
    return loaded


def encoder_inputs(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the part of a batch that an encoder takes."""
    return {name: inputs[name] for name in ENCODER_INPUTS if name in inputs}


@contextmanager
def served(job: Job) -> Iterator[None]:
    """Turn an error that the library raises of a job's model into one that names its family and the task. Faults
    elsewhere, and want of memory, pass through."""
    try:
        yield
    except (HunminError, torch.OutOfMemoryError, torch.AcceleratorError):
        raise
    except Exception as error:
        frames = [Path(frame.filename).parts for frame in traceback.extract_tb(error.__traceback__)]
        called_wrongly = isinstance(error, TypeError) and frames[-1][-3:] == ("nn", "modules", "module.py")
        if not called_wrongly and not any("transformers" in parts for parts in frames):
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise family_error(job, reason) from error


def family_error(job: Job, reason: str) -> HunminError:
    """Return the error that says that a job's model is of a family that its task is not served with."""
    family = str(read_object(Path(job.model) / "config.json").get("model_type", "these"))
    return not_served(family, get_task(job.task).title, reason)
