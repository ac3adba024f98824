"""A launch: the job that is asked for, the files to write, and the commands to run or submit."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from common.errors import UserError
from common.process import WITH_SAFE_PATH
from common.secrets import masked_words
from hunmin.recipes.recipe import Recipe

FILES = Path("launch")
"""Folder, in that of a run, of what a launcher writes."""
RANK_LOGS = Path("logs") / "ranks"
"""Folder, in that of a run, of the processes' own logs."""
JOBS = ("corpus", "train", "scores")
"""Jobs of Slurm or Kubernetes, in order; a scheduler's line may be for one of them."""
PORT = 29500
"""torchrun's default."""


@dataclass(frozen=True)
class Cluster:
    """Where a recipe is to run: the options of `hunmin launch`, whose help says what each of them is."""

    nodes: int = 1
    devices: int = 1
    cpu: bool = False
    node: int | None = None
    address: str = ""
    hosts: tuple[str, ...] = ()
    restarts: int = 3
    grace_period: int = 300
    partition: str = ""
    account: str = ""
    time: str = ""
    scheduler_options: tuple[str, ...] = ()
    env_file: str = ""
    image: str = ""
    volume_claim: str = ""
    python: str = "python"
    fewest: int = 0
    """Nodes that are enough to continue with where others are lost; 0: all of them."""

    @property
    def nodes_given(self) -> str:
        """The nodes as the user gives them: "N", or "MIN:MAX"."""
        return f"{self.fewest}:{self.nodes}" if self.fewest else str(self.nodes)

    @property
    def host_and_port(self) -> tuple[str, int]:
        """Address of node 0, as `parse_address` returns it; no host where none is given."""
        return parse_address(self.address) if self.address else ("", PORT)

    def lines_of(self, job: str) -> list[str]:
        """Return the scheduler's lines of one of `JOBS`, without the prefix that says so."""
        split = [(re.fullmatch(f"({'|'.join(JOBS)}):(.*)", line, re.DOTALL), line) for line in self.scheduler_options]
        return [match[2] if match else line for match, line in split if not match or match[1] == job]


def parse_nodes(text: str) -> tuple[int, int]:
    """Return the fewest nodes of "MIN:MAX", 0 where all are needed ("N"), and their number.

    Raises:
        UserError: it is neither, or MIN is more than MAX.
    """
    match = re.fullmatch("(?:([1-9][0-9]{0,5}):)?([1-9][0-9]{0,5})", text)
    if not match or int(match[1] or 0) > int(match[2]):
        raise UserError(
            f"--nodes {text}", "it is a number of nodes, or MIN:MAX with MIN not more than MAX", "e.g. --nodes 2:4"
        )
    return 0 if match[1] in (None, match[2]) else int(match[1]), int(match[2])


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of "HOST", "HOST:PORT", "[IPV6]" or "[IPV6]:PORT"; `PORT` where none is given.

    Raises:
        UserError: it is none of these.
    """
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)\]|([\w.-]+))(?::([0-9]{1,5}))?", text)
    if not match or not 0 < int(match[3] or PORT) < 2**16:
        raise UserError(
            f"--address {text}",
            "it is HOST or HOST:PORT, with a port from 1 to 65535; an IPv6 address stands in brackets",
            "e.g. --address node0:29500, --address 10.0.0.1:29500 or --address [fd00::1]:29500",
        )
    return match[1] or match[2], int(match[3] or PORT)


@dataclass(frozen=True)
class Job:
    """A recipe to be launched."""

    recipe: Recipe
    path: str
    """File of the recipe."""
    overrides: tuple[str, ...]
    cluster: Cluster

    @property
    def run(self) -> Path:
        """The run's folder."""
        return Path(self.recipe.out)

    @property
    def values(self) -> dict[str, Any]:
        """Return the values for the templates."""
        paths = {"run": self.run, "rank_logs": self.run / RANK_LOGS}
        return {**vars(self.cluster), **paths, "name": self.recipe.name, "recipe": [self.path, *self.overrides]}

    def hunmin(self, command: str, *options: str) -> tuple[str, ...]:
        """Return the words of a `hunmin` command on the recipe, by the cluster's Python."""
        program = ("env", WITH_SAFE_PATH, self.cluster.python, "-m", "hunmin.main")
        return (*program, command, self.path, *self.overrides, *options)


class Step(NamedTuple):
    """A command, and where it is run; as a string for people, without secrets."""

    where: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return shlex.join(masked_words(self.words))


@dataclass(frozen=True)
class Launch:
    """The files and commands of a launcher for a job."""

    steps: tuple[Step, ...]
    files: dict[Path, str] = field(default_factory=dict)
    """Path → content."""
