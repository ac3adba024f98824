"""What a launch is asked for, and what comes of it: files to write and commands to run or submit."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from common.errors import UserError
from common.process import WITH_SAFE_PATH
from common.secrets import masked_words
from hunmin.launch.addresses import PORT, parse_address
from hunmin.recipe import Recipe
from pretrain.addresses import own_address

RANK_LOGS = Path("logs") / "ranks"
"""Folder, in that of a run, of the processes' own logs."""
RESTARTS = 3
"""How often training starts again by itself where nothing is said."""
SAVING_SECONDS = 300
"""That training has for saving its state once it is to stop, where nothing is said."""
JOBS = ("corpus", "train", "scores")
"""Of a launch by Slurm or Kubernetes, in their order; a scheduler's line may be for one of them."""


@dataclass(frozen=True)
class Cluster:
    """Where a recipe is to run."""

    nodes: int = 1
    devices: int = 1
    """Processes a node: one for each of its GPUs."""
    cpu: bool = False
    """The nodes have no GPUs."""
    node: int | None = None
    """This node, from 0, where the command is given on each of them."""
    address: str = ""
    """HOST or HOST:PORT of node 0, as the others reach it."""
    hosts: tuple[str, ...] = ()
    restarts: int | None = None
    """How often training starts again by itself after a failure; None: `RESTARTS`."""
    saving: int = SAVING_SECONDS
    """Seconds that training has for saving its state when it is stopped, until it is killed."""
    partition: str = ""
    account: str = ""
    time: str = ""
    """Time limit as the scheduler writes it."""
    lines: tuple[str, ...] = ()
    """Further lines for the scheduler: options of Slurm as they stand after `#SBATCH`, in Kubernetes RESOURCE=QUANTITY
    that a pod asks for. What begins with "corpus:", "train:" or "scores:" is for that job alone."""
    environment: str = ""
    """Variables for every process: for Slurm a file of NAME=VALUE lines, for Kubernetes the name of a Secret."""
    image: str = ""
    """Container image."""
    claim: str = ""
    """CLAIM:PATH of the shared volume in Kubernetes."""
    python: str = "python"
    fewest: int = 0
    """Nodes that are enough to go on with where others are lost; 0: all of them."""

    @property
    def nodes_given(self) -> str:
        """The nodes as the user gives them: "N", or "MIN:MAX"."""
        return f"{self.fewest}:{self.nodes}" if self.fewest else str(self.nodes)

    @property
    def host_and_port(self) -> tuple[str, int]:
        """Address of node 0, with the port that torchrun is used to where none is given."""
        return parse_address(self.address) if self.address else ("", PORT)

    @property
    def most_restarts(self) -> int:
        """How often training starts again."""
        return RESTARTS if self.restarts is None else self.restarts

    def lines_of(self, job: str) -> tuple[str, ...]:
        """Return the scheduler's lines of a job, without the prefix that says so.

        Args:
            job: one of `JOBS`.
        """
        split = [(before, after) for before, _, after in (line.partition(":") for line in self.lines)]
        return tuple(
            line if before not in JOBS else after
            for line, (before, after) in zip(self.lines, split, strict=True)
            if before not in JOBS or before == job
        )

    def address_of(self, node: int) -> str:
        """Return a node's address as the others reach it: by `hosts`, of node 0 by `address`, of this one by its route.

        Args:
            node: its number.
        """
        host, _ = self.host_and_port
        if self.hosts:
            return self.hosts[node]
        if node == 0:
            return host
        return own_address(host) if node == self.node else f"ADDRESS_OF_NODE_{node}"


def parse_nodes(text: str) -> tuple[int, int]:
    """Return the fewest nodes of "MIN:MAX", 0 where all are needed ("N"), and their number.

    Args:
        text: as the user gives it.

    Raises:
        UserError: it is neither, or MIN is more than MAX.
    """
    fewest, colon, most = text.rpartition(":")
    numbers = [fewest, most] if colon else [most]
    if not all(re.fullmatch("[1-9][0-9]{0,5}", number) for number in numbers) or (colon and int(fewest) > int(most)):
        raise UserError(
            f"--nodes {text}", "it is a number of nodes, or MIN:MAX with MIN not more than MAX", "e.g. --nodes 2:4"
        )
    return 0 if fewest in ("", most) else int(fewest), int(most)


@dataclass(frozen=True)
class Job:
    """A recipe to be launched."""

    recipe: Recipe
    path: str
    """Its file."""
    overrides: tuple[str, ...]
    cluster: Cluster

    @property
    def run(self) -> Path:
        """The run's folder."""
        return Path(self.recipe.out)

    def hunmin(self, command: str, *options: str, program: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Return the words of a `hunmin` command on the recipe.

        Args:
            command: its name.
            options: after the recipe.
            program: that runs the module; None: the cluster's Python.
        """
        program = ("env", WITH_SAFE_PATH, self.cluster.python, "-m", "hunmin.main") if program is None else program
        return (*program, command, self.path, *self.overrides, *options)

    def scores(self, program: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Return the command that exports and scores; where training is not done it refuses, and trains nothing.

        Args:
            program: see `hunmin`.
        """
        return self.hunmin("run", "--from", "export", program=program)


@dataclass(frozen=True)
class Step:
    """A command, and where it is run; as a string for people, without secrets."""

    where: str
    words: tuple[str, ...]
    after: bool = False
    """Submitted to begin when the one before it has ended well."""

    def __str__(self) -> str:
        return shlex.join(masked_words(self.words))


@dataclass(frozen=True)
class Launch:
    """What a launcher makes of a job."""

    steps: tuple[Step, ...]
    files: dict[Path, str] = field(default_factory=dict)
    """Path → content."""
