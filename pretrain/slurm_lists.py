"""Lists as Slurm abbreviates them in a job's environment: machines, and tasks on each of them."""

from __future__ import annotations

import re

from common.errors import UserError

HOSTS = "Slurm writes them as gpu[03-05,9],other7"


def tasks_per_node(text: str) -> list[int]:
    """Return the tasks of each machine as Slurm writes them.

    >>> tasks_per_node("4(x2),3")
    [4, 4, 3]
    """
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]+)(?:\(x([0-9]+)\))?", part)
        if not match:
            raise UserError(f"tasks per machine '{text}'", "Slurm writes them as 4(x2),3", "leave them to srun")
        found += [int(match[1])] * int(match[2] or 1)
    return found


def expand_hosts(text: str) -> list[str]:
    """Return the machines of a Slurm list, in its order.

    >>> expand_hosts("gpu[03-05,9],login,r[1-2]n[1-2]")
    ['gpu03', 'gpu04', 'gpu05', 'gpu9', 'login', 'r1n1', 'r1n2', 'r2n1', 'r2n2']

    Raises:
        UserError: it is no such list.
    """
    numbers = r"[0-9]+(?:-[0-9]+)?"
    name = rf"(?:[^,\[\]\s]|\[{numbers}(?:,{numbers})*\])+"  # commas within brackets belong to a name
    if text and not re.fullmatch(rf"{name}(?:,{name})*", text):
        raise UserError(f"machines '{text}'", HOSTS, "set MASTER_ADDR")
    return [host for part in re.findall(name, text) for host in _expand_host(part)]


def _expand_host(text: str) -> list[str]:
    before, bracket, rest = text.partition("[")
    if not bracket:
        return [text]
    inside, _, after = rest.partition("]")
    numbers: list[str] = []
    for part in inside.split(","):
        first, _, last = part.partition("-")
        if int(last or first) < int(first):
            raise UserError(f"machines '{text}'", HOSTS, "set MASTER_ADDR")
        numbers += [str(n).zfill(len(first)) for n in range(int(first), int(last or first) + 1)]
    return [before + number + end for number in numbers for end in _expand_host(after)]
