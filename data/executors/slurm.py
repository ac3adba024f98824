"""Slurm arrays: the same command runs once an element, and each does its share of the units into one work folder.

Nothing is started or asked here: rank and number of elements come from the environment that Slurm sets. Files of up to
half an average share belong to one element whole, and so do larger ones that can only be read from their beginning;
of other files each element reads and does every n-th unit. Which element did a unit makes no difference to it, so
another array, or a local run, can finish the rest.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import UserError
from common.progress import say
from data.executors.crew import ShareDone
from data.executors.phases import SharedExecutor, help_leader, start_leading

if TYPE_CHECKING:
    from data.executors.choice import Executor

RULE = "an element of a Slurm array has SLURM_ARRAY_TASK_ID, _COUNT and _MIN in its environment"


@dataclass(frozen=True)
class ArrayElement:
    """This process's place in the array: rank 0 … count - 1; `job` names the array."""

    rank: int
    count: int
    job: str

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> ArrayElement:
        """Return the element that Slurm's variables describe.

        Raises:
            UserError: they are missing, no numbers, or the array's ids are not consecutive.
        """
        try:
            own, count, first = (int(environment[f"SLURM_ARRAY_TASK_{name}"]) for name in ("ID", "COUNT", "MIN"))
            step = int(environment.get("SLURM_ARRAY_TASK_STEP", "1"))
        except KeyError as error:
            raise UserError(
                f"{error.args[0]} is not set",
                RULE,
                "submit the command with sbatch --array=0-7, or use --executor local",
            ) from None
        except ValueError:
            raise UserError("a SLURM_ARRAY_TASK variable is no number", RULE) from None
        rank, odd = divmod(own - first, max(step, 1))
        if odd or not 0 <= rank < count:
            raise UserError(
                f"id {own} is not one of {count} consecutive array ids from {first}",
                "an array's ids follow one another, so that each element knows its share",
                "submit with --array=0-7; what is missing of an earlier array is done by any new one",
            )
        return cls(rank, count, environment.get("SLURM_ARRAY_JOB_ID", "0"))

    @property
    def owner(self) -> str:
        """Return what this element signs the tasks with that it takes."""
        return f"{self.job}-{self.rank}"

    def claim(self, folder: Path) -> str | None:
        """Claim the end of the stage, which one element does; return None, or the rank of the element that has it.

        The claim is a file that only one can create, also on a network file system; an element that Slurm starts
        again after a fault finds its own claim and goes on.
        """
        path = folder / f"finish-{self.job}"
        try:
            with path.open("x", encoding="utf-8") as stream:
                stream.write(str(self.rank))
        except FileExistsError:
            owner = path.read_text(encoding="utf-8")
            return None if owner == str(self.rank) else owner
        return None


class ArrayShare:
    """The units of one element; every element makes the same shares out of the same sizes.

    Args:
        element: which share.
        sizes: bytes of each file.
        sought: whether each file can be read in parts; None: all of them.
    """

    def __init__(self, element: ArrayElement, sizes: Sequence[int], sought: Sequence[bool] | None = None) -> None:
        self._element = element
        self.name = f"element {element.rank}"
        self._owners: dict[int, int] = {}
        most = sum(sizes) / element.count / 2
        loads = [(0, rank) for rank in range(element.count)]
        for file in sorted(range(len(sizes)), key=lambda number: (-sizes[number], number)):
            if sizes[file] <= most or not (sought is None or sought[file]):
                load, self._owners[file] = heapq.heappop(loads)
                heapq.heappush(loads, (load + sizes[file], self._owners[file]))

    def owner(self, file: int, block: int | None = None) -> int | None:
        """Return the rank that does a block; without a block, the one that does the whole file, if there is one."""
        if file in self._owners or block is None:
            return self._owners.get(file)
        return (file + block) % self._element.count

    def reads(self, file: int) -> bool:
        """Return whether any unit of the file may be this element's."""
        return self.owner(file) in (None, self._element.rank)

    def portion(self, file: int) -> float:
        """Return which part of the file is this element's."""
        if not self.reads(file):
            return 0.0
        return 1.0 if file in self._owners else 1 / self._element.count

    def has(self, file: int, block: int) -> bool:
        """Return whether a block of a file is this element's."""
        return self.owner(file, block) == self._element.rank


class ArrayCrew:
    """The elements of the array that this process belongs to."""

    def share(self, sizes: Callable[[], Sequence[int]], sought: Callable[[], Sequence[bool]]) -> ArrayShare:
        """Return this element's units.

        Raises:
            UserError: the environment describes no element.
        """
        element = ArrayElement.from_environment()
        share = ArrayShare(element, sizes(), sought())
        say(f"{share.name} of {element.count}")
        return share

    def finishes(self, folder: Path, execute: Executor) -> None:
        """Return when this element is the one to end the stage; else help the one that is.

        Raises:
            ShareDone: another one is.
            FileNotFoundError: another one has.
        """
        element = ArrayElement.from_environment()
        owner = element.claim(folder)
        if owner is not None:
            say(f"element {element.rank} is done with its units; it helps element {owner}, which writes the shards")
            help_leader(folder, execute, element.owner, element.rank, element.count)
            raise ShareDone(f"element {element.rank} is done; element {owner} writes the shards")

    def together(self, folder: Path, execute: Executor) -> Executor:
        """Return what runs tasks here and in the elements that help."""
        start_leading(folder)
        return self.peers(folder, execute)

    def peers(self, folder: Path, execute: Executor) -> Executor:
        """Return what runs tasks that all elements have, each of them in one."""
        return SharedExecutor(execute, folder, ArrayElement.from_environment().owner)

    def ended(self, message: str) -> None:
        """Raise a `ShareDone`: another element has ended the stage."""
        raise ShareDone(message)


__all__ = ["ArrayCrew", "ArrayElement", "ArrayShare", "ShareDone"]
