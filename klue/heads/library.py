"""The library's own heads: a value an input, a value a token, start and end."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import (
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)

from klue.heads.base import Head, encoder_inputs, load_encoder
from klue.plan import Job
from klue.tasks.base import Task


class SequenceHead(Head):
    """One output an input, from its first token: a label's logits, or a number (mean squared error)."""

    def __init__(self, job: Job, task: Task, shared: dict[str, Any]) -> None:
        super().__init__()
        kind = "regression" if task.outputs == 1 else "single_label_classification"
        self.model = load_encoder(
            AutoModelForSequenceClassification, job, shared, num_labels=task.outputs, problem_type=kind
        )

    def loss(self, inputs: dict[str, Tensor]) -> Tensor:
        labels = inputs["labels"]
        labels = labels.float() if labels.is_floating_point() else labels
        return self.model(**encoder_inputs(inputs), labels=labels).loss

    def predict(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `logits`, (B, C)."""
        return {"logits": self.model(**encoder_inputs(inputs)).logits}


class TokenHead(Head):
    """A label a token; -100 in `labels` is ignored."""

    def __init__(self, job: Job, task: Task, shared: dict[str, Any]) -> None:
        super().__init__()
        self.model = load_encoder(AutoModelForTokenClassification, job, shared, num_labels=task.outputs)

    def loss(self, inputs: dict[str, Tensor]) -> Tensor:
        return self.model(**encoder_inputs(inputs), labels=inputs["labels"]).loss

    def predict(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `tags`, (B, S): the likeliest label of each token."""
        return {"tags": self.model(**encoder_inputs(inputs)).logits.argmax(-1)}


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
