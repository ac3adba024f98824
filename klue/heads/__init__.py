"""What stands on an encoder for a task: a loss to train on, and outputs to predict from."""

from __future__ import annotations

from typing import Any

import torch

from klue.heads.base import Head
from klue.heads.biaffine import BiaffineParser
from klue.heads.library import ChoiceHead, LabelsHead, SequenceHead, SpanHead, TokenHead
from klue.heads.trade import Trade
from klue.plan import Job
from klue.tasks.base import Task

HEADS: dict[str, type[Head]] = {
    "sequence": SequenceHead,
    "labels": LabelsHead,
    "tokens": TokenHead,
    "span": SpanHead,
    "choice": ChoiceHead,
    "biaffine": BiaffineParser,
    "trade": Trade,
}
"""Every kind of head, by the name that tasks give."""


def build_head(job: Job, task: Task, shared: dict[str, Any]) -> Head:
    """Return encoder and head in float32; the seed decides every new weight. Raises HunminError for missing weights."""
    torch.manual_seed(job.seed)
    return HEADS[task.head](job, task, shared)
