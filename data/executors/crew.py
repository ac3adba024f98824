"""Who does a stage: one process alone, or several with one command that share out the units, and one of which ends it.

Executors run units; a crew says which units are this process's, and whether it is the one that goes on after them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from data.executors.choice import Executor


class ShareDone(Exception):
    """This process has done its share; the stage is finished by another one. The message says what is missing."""


class Share(Protocol):
    """Which units one of several processes with the same inputs does."""

    name: str
    """The process, as messages call it."""

    def reads(self, file: int) -> bool:
        """Return whether any unit of the file with this number is its own."""

    def has(self, file: int, block: int) -> bool:
        """Return whether a block of a file that it reads is its own."""

    def portion(self, file: int) -> float:
        """Return about which part of the file is its own, 0 … 1."""

    def owner(self, file: int, block: int | None = None) -> int | None:
        """Return the number of the process that does a block, or a whole file, if there is one."""


class Crew(Protocol):
    """The processes that do a stage."""

    def share(self, sizes: Callable[[], Sequence[int]], sought: Callable[[], Sequence[bool]]) -> Share | None:
        """Return which units are this process's; None: all of them.

        Args:
            sizes: gives the bytes of each file.
            sought: gives for each file whether it can be read in parts.

        Raises:
            UserError: what says which process this is, is missing.
        """

    def finishes(self, folder: Path, execute: Executor) -> None:
        """Return when this process is the one that ends the stage, all units being done; else help the one that does.

        Args:
            folder: of the units' parts, which all processes see.
            execute: runs tasks here.

        Raises:
            ShareDone: another one is.
            FileNotFoundError: another one has.
        """

    def together(self, folder: Path, execute: Executor) -> Executor:
        """Return what runs the steps after the units: `execute`, with the other processes that are still there.

        Args:
            folder: of the units' parts, which all processes see.
            execute: runs tasks here.
        """

    def ended(self, message: str) -> None:
        """Return when nobody else can have ended the stage.

        Raises:
            ShareDone: somebody may have, and there is nothing left to do here.
        """

    def peers(self, folder: Path, execute: Executor) -> Executor:
        """Return what runs tasks that every process of the crew has, so that each is done by one of them.

        Args:
            folder: of the units' parts, which all processes see.
            execute: runs tasks here.
        """


class Alone:
    """One process, which does all."""

    def share(self, sizes: Callable[[], Sequence[int]], sought: Callable[[], Sequence[bool]]) -> Share | None:
        """Return that all units are its own."""
        return None

    def finishes(self, folder: Path, execute: Executor) -> None:
        """Return: nobody else does."""

    def together(self, folder: Path, execute: Executor) -> Executor:
        """Return the executor: nobody helps."""
        return execute

    def peers(self, folder: Path, execute: Executor) -> Executor:
        """Return the executor: there are none."""
        return execute

    def ended(self, message: str) -> None:
        """Return: nobody else has."""


ALONE = Alone()
