"""Failures of work units: collected while the other units continue, reported by name at the end."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from common.errors import DiskFullError, HunminError, UserError
from common.progress import say

R = TypeVar("R")

MOST_FAILURES = 100
"""After as many failed units the run stops at once: the fault is then hardly in the units."""


class Task(Protocol):
    """A work unit; its name appears in messages."""

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Task)


@dataclass(frozen=True)
class Failure:
    """One unit or input that could not be done; `reason` never quotes a text of the corpus."""

    name: str
    reason: str
    error: HunminError | None = None

    @property
    def why(self) -> str:
        """Return the reason as a person reads it, without rule and fix."""
        return self.error.problem if self.error else self.reason

    def __str__(self) -> str:
        return self.why if self.name in self.why else f"{self.name}: {self.why}"


class WorkFailed(HunminError):
    """Some work units failed; the message names them."""

    def __init__(self, problem: str, rule: str = "", fix: str = "", exit_code: int = HunminError.exit_code) -> None:
        super().__init__(problem, rule, fix)
        self.exit_code = exit_code


def attempt(function: Callable[[T], R], task: T) -> R | Failure:
    """Return the function's result for the task, or its failure.

    Of an unforeseen exception only its type and the places in the code are kept: its message may quote the corpus.
    """
    try:
        return function(task)
    except Exception as error:
        return failure_of(task.name, error)


def failure_of(name: str, error: Exception) -> Failure:
    """Return an exception as the failure of the unit or input called `name`."""
    if isinstance(error, HunminError):
        return Failure(name, str(error), error)
    frames = traceback.extract_tb(error.__traceback__)[1:]
    places = "".join(f"\n      {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames)
    return Failure(name, f"{type(error).__name__} (its message may quote the corpus and is not shown), at{places}")


class Failures(list[Failure]):
    """The failures of a run so far."""

    def add(self, failure: Failure) -> None:
        """Note a failure and say so.

        Raises:
            DiskFullError: that is what happened; no other unit could do better.
            WorkFailed: too many failed to continue.
        """
        if isinstance(failure.error, DiskFullError):
            raise failure.error
        reported = any(failure.why == other.why for other in self)
        self.append(failure)
        if len(self) == 1:
            say("a work unit failed; the others continue:", style="yellow")
        say(f"  {failure.name}: likewise" if reported else f"  {failure}", style="yellow")
        if len(self) >= MOST_FAILURES:
            raise_failures(self)


def raise_failures(failures: Sequence[Failure]) -> None:
    """Raise one error for all failures; return when there are none.

    Raises:
        HunminError: the only failure's own error, as it was; else a `WorkFailed` that names each unit. It counts as
            a user's mistake (exit code 2) when every one of them does.
    """
    if not failures:
        return
    if len(failures) == 1 and failures[0].error:
        raise failures[0].error
    groups: dict[str, list[Failure]] = {}
    for failure in failures:
        groups.setdefault(failure.why, []).append(failure)
    lines = []
    for first, *alike in groups.values():
        lines.append(f"  - {first}")
        if alike:
            lines.append("    likewise: " + ", ".join(failure.name for failure in alike))
    mistakes: Any = all(isinstance(failure.error, UserError) for failure in failures)
    raise WorkFailed(
        f"{len(failures)} work unit{'s' if len(failures) > 1 else ''} failed; what the others did is kept\n"
        + "\n".join(lines),
        "a stage is finished when every unit of its inputs is done",
        "fix what is named above or take it out of the inputs; the same command then does only what is missing",
        UserError.exit_code if mistakes else HunminError.exit_code,
    )
