"""A value a text, the best of several texts: the library's own head for multiple choice.

Lengths: B examples a batch, C choices of an example, S tokens of all of them, T tokens of the longest.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import AutoModelForMultipleChoice

from klue.heads.base import Head, load_encoder
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
