"""The element of a Slurm array that this process is, as Slurm's environment variables say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from common.errors import UserError


class ShareDone(Exception):
    """This process has done its share; a later command ends the stage. The message says what is missing."""


@dataclass(frozen=True)
class ArrayElement:
    """This process's place in the array: rank 0 … count - 1; `job` is the number of the array."""

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
                "an element of a Slurm array has SLURM_ARRAY_TASK_ID, _COUNT and _MIN in its environment",
                "submit the command with sbatch --array=0-7, or use --executor local",
            ) from None
        except ValueError:
            raise UserError("a SLURM_ARRAY_TASK variable is no number", "Slurm sets them to numbers") from None
        rank, odd = divmod(own - first, max(step, 1))
        if odd or not 0 <= rank < count:
            raise UserError(
                f"id {own} is not one of {count} consecutive array ids from {first}",
                "an array's ids follow one another, so that each element knows its share",
                "submit with --array=0-7; what is missing of an earlier array is done by any new one",
            )
        return cls(rank, count, environment.get("SLURM_ARRAY_JOB_ID", "0"))
