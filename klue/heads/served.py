"""One message for a family of encoders that the library cannot use for a task, instead of the library's own error."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from common.errors import HunminError
from common.model_files import read_object
from klue.plan import Job, not_served
from klue.tasks import get_task


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
