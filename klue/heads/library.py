"""The library's own heads: a value an input, a value a token, start and end, the best of several texts.

Lengths: B examples a batch, C choices of an example, S tokens of all of them, T tokens of the longest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import (
    AutoModelForMultipleChoice,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)

from klue.heads.base import Head, encoder_inputs, load_encoder
from klue.plan import Job
from klue.tasks.base import Task


class ChoiceHead(Head):
    """One output a choice, from its first token; softmax over the choices of an example."""

    def __init__(self, job: Job, task: Task, shared: dict[str, Any]) -> None:
        super().__init__()
        self.model = load_encoder(AutoModelForMultipleChoice, job, shared)
        self.pad_id = job.pad_id

    def loss(self, inputs: dict[str, Tensor]) -> Tensor:
        return F.cross_entropy(self.predict(inputs)["logits"].float(), inputs["labels"])

    def predict(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `logits`, (B, C)."""
        return {"logits": self.model(**split_choices(inputs, self.pad_id)).logits}


def split_choices(inputs: dict[str, Tensor], pad_id: int) -> dict[str, Tensor]:
    """Return what the model takes, (B, C, T), of `inputs`, (B, S), with choices one behind the other."""
    lengths_BC = inputs["pair_lengths"]
    starts_BC = lengths_BC.cumsum(1) - lengths_BC
    steps_T = torch.arange(int(lengths_BC.max()), device=lengths_BC.device)
    mask_BCT = steps_T < lengths_BC[..., None]
    places_BCT = torch.where(mask_BCT, starts_BC[..., None] + steps_T, 0)
    model_inputs = {"attention_mask": mask_BCT.long()}
    for name, fill in (("input_ids", pad_id), ("token_type_ids", 0)):
        if name in inputs:
            rows_BCT = inputs[name].gather(1, places_BCT.flatten(1)).view_as(places_BCT)
            model_inputs[name] = rows_BCT.masked_fill(~mask_BCT, fill)
    return model_inputs


class SequenceHead(Head):
    """One output an input, from its first token: a label's logits, or a number (mean squared error)."""

    kind = ""
    weights_C: Tensor | None = None
    variance = 1.0

    def __init__(self, job: Job, task: Task, shared: dict[str, Any]) -> None:
        super().__init__()
        kind = self.kind or ("regression" if task.outputs == 1 else "single_label_classification")
        self.model = load_encoder(
            AutoModelForSequenceClassification, job, shared, num_labels=task.outputs, problem_type=kind
        )

    def loss(self, inputs: dict[str, Tensor]) -> Tensor:
        labels = inputs["labels"]
        if self.weights_C is not None:
            return F.cross_entropy(self.predict(inputs)["logits"].float(), labels, self.weights_C)
        labels = labels.float() if labels.is_floating_point() else labels
        return self.model(**encoder_inputs(inputs), labels=labels).loss / self.variance

    def scale_outputs(self, labels_N: np.ndarray, new: bool) -> None:
        self.variance = float(labels_N.var()) or 1.0
        if new:
            *_, last = (part for part in self.model.modules() if isinstance(part, nn.Linear) and part.out_features == 1)
            with torch.no_grad():
                last.weight.mul_(self.variance**0.5)
                last.bias.fill_(float(labels_N.mean()))

    def weigh_classes(self, labels_N: Tensor) -> None:
        if self.model.config.problem_type != "single_label_classification":
            return super().weigh_classes(labels_N)
        counts_C = torch.bincount(labels_N, minlength=self.model.config.num_labels).clamp_min(1)
        self.weights_C = len(labels_N) / (len(counts_C) * counts_C.float())

    def predict(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `logits`, (B, C)."""
        return {"logits": self.model(**encoder_inputs(inputs)).logits}


class LabelsHead(SequenceHead):
    """Any number of labels an input: an output each, and binary cross entropy."""

    kind = "multi_label_classification"

    def loss(self, inputs: dict[str, Tensor]) -> Tensor:
        return super().loss({**inputs, "labels": inputs["labels"].float()})


class TokenHead(Head):
    """A label a token; -100 in `labels` is ignored."""

    def __init__(self, job: Job, task: Task, shared: dict[str, Any]) -> None:
        super().__init__()
        self.model = load_encoder(AutoModelForTokenClassification, job, shared, num_labels=task.outputs)

    def loss(self, inputs: dict[str, Tensor]) -> Tensor:
        return self.model(**encoder_inputs(inputs), labels=inputs["labels"]).loss

    def predict(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `tags`, (B, S), the likeliest label of each token, and `certainty`, its probability."""
        certainty, tags = self.model(**encoder_inputs(inputs)).logits.float().softmax(-1).max(-1)
        return {"tags": tags, "certainty": certainty}


class SpanHead(Head):
    """Start and end of an answer among an input's tokens."""

    def __init__(self, job: Job, task: Task, shared: dict[str, Any]) -> None:
        super().__init__()
        self.model = load_encoder(AutoModelForQuestionAnswering, job, shared)

    def loss(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return the mean of the cross entropies of start and end, over the tokens that are there. The library's own
        loss takes padding for tokens: it depends on what else is in the batch."""
        padding = ~inputs["attention_mask"].bool()
        losses = [
            F.cross_entropy(logits.float().masked_fill(padding, float("-inf")), inputs[f"{name}_positions"])
            for name, logits in self.predict(inputs).items()
        ]
        return torch.stack(losses).mean()

    def predict(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `start` and `end`, (B, S) logits each."""
        outputs = self.model(**encoder_inputs(inputs))
        return {"start": outputs.start_logits, "end": outputs.end_logits}
