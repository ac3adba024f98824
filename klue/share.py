"""A part of a stage's jobs: this process is one of several with the same command, say the elements of a Slurm array."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from common.errors import UserError


class ShareDone(Exception):
    """The jobs of this process are finished, and others' are not."""


@dataclass(frozen=True)
class Share:
    """Job n is done by the process with rank n modulo `world`."""

    rank: int
    world: int
    array: str = "0"
    """Tells this array's files from another's that works in the same folder."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Share:
        """Return the share of the array element that Slurm's variables describe.

        Raises:
            UserError: they are missing, no numbers, or the array's ids do not follow one another.
        """
        rule = "an element of a Slurm array has SLURM_ARRAY_TASK_ID, _COUNT and _MIN in its environment"
        remedy = "submit the command with sbatch --array=0-7, or use --executor local"
        try:
            own, world, first = (int(environment[f"SLURM_ARRAY_TASK_{name}"]) for name in ("ID", "COUNT", "MIN"))
            step = int(environment.get("SLURM_ARRAY_TASK_STEP", "1"))
        except KeyError as error:
            raise UserError(f"{error.args[0]} is not set", rule, remedy) from None
        except ValueError:
            raise UserError("a SLURM_ARRAY_TASK variable is no number", rule, remedy) from None
        rank, odd = divmod(own - first, max(step, 1))
        if odd or not 0 <= rank < world:
            raise UserError(
                f"id {own} is not one of {world} consecutive array ids from {first}",
                "an array's ids follow one another, so that each element knows its jobs",
                "submit with --array=0-7; what is missing of an earlier array is done by any new one",
            )
        return cls(rank, world, environment.get("SLURM_ARRAY_JOB_ID", "0"))
