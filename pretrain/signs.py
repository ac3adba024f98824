"""Signs of life: what a process of a run writes into the lifeline's store at every heartbeat."""

from __future__ import annotations

from typing import NamedTuple

RUNNING, UNMET = "running", "unmet"
TOLD, CLOSED, RELEASED = LEAVING = ("told", "closed", "released")
"""States in which a process signs: it knows of a failure; it has ended in order; or rank 0 has, and takes the store."""


class Sign(NamedTuple):
    """A sign of life."""

    state: str
    """RUNNING, or UNMET of a process that has given none yet, or one of LEAVING."""
    number: int
    """Counts the process's signs."""
    step: int
    """Steps of which the process has done its own part: those who wait for another are a step ahead of it."""
    host: str

    def text(self) -> str:
        """Return what stands in the store."""
        return " ".join(map(str, self))

    @property
    def leaves(self) -> bool:
        """Whether the process is not missed any more."""
        return self.state in LEAVING


def read_sign(text: bytes) -> Sign:
    """Return a sign from the store."""
    state, number, step, host = text.decode().split(" ", 3)
    return Sign(state, int(number), int(step), host)
