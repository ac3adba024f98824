"""Versions: the processes of a run agree on the code that they run, before anything is computed.

An older image on one node trains a model that is no version's, and nothing shows it. All processes therefore tell what
they run when they meet: in torch's key-value store, as collectives fail where NCCL's versions differ, and by a
collective, which an earlier version takes part in as well.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import torch

from common.code import code_changes, running_code
from common.errors import UserError

STEP = ("numpy", "transformers", "deepspeed")
"""Packages beside torch that take part in a step of pretraining."""
TRAINER = (*STEP, "tokenizers", "accelerate", "peft", "sentence-transformers")
"""Packages of a step of transformers' Trainer, whose processes encode their texts themselves."""
GRACE = 5.0
"""Seconds that a process waits for the others to hear of a refusal."""
UNKNOWN_VERSION = "an earlier version, which does not tell what it runs"
MOST_SHOWN = 8
"""Ranks and hosts of one kind, and kinds, that a message names at most."""

HostVersions = tuple[str, Mapping[str, str]]
"""Host of a process, and the versions that it runs."""


def versions_of(packages: Sequence[str]) -> dict[str, str]:
    """Return the versions that this process runs: Hunmin, its sources, Python, torch with its build, the packages."""
    return {**running_code(*packages), "torch": torch.__version__}


def publish_versions(store: Any, rank: int, host: str) -> dict[str, str]:
    """Return the versions that this process runs, and write them into the store, for where no collective works."""
    code = versions_of(STEP)
    store.set(str(rank), json.dumps([host, code]))
    return code


def read_versions(store: Any, world: int, own: HostVersions) -> list[HostVersions]:
    """Return the versions by rank that the store holds so far; a process without any counts as this one."""
    keys = [str(rank) for rank in range(world)]
    versions = [json.loads(store.get(key)) if store.check([key]) else own for key in keys]
    return [(host, code) for host, code in versions]


def refuse_together(versions: Sequence[HostVersions], store: Any) -> None:
    """Raise a UserError on all processes where they run different code; all call it.

    The store goes with rank 0's process, which therefore waits for the others.
    """
    if fault := difference(versions):
        heard, until = store.add("heard", 1), time.monotonic() + GRACE
        with suppress(RuntimeError):  # rank 0 has left: all have heard
            while heard < len(versions) and time.monotonic() < until:
                time.sleep(0.05)
                heard = store.add("heard", 0)
        refuse(fault)


def difference(versions: Sequence[HostVersions]) -> str:
    """Return which processes run what, a line for each kind; "" where all run the same."""
    kinds: dict[str, list[int]] = {}
    for rank, (_, code) in enumerate(versions):
        kinds.setdefault(json.dumps(code, sort_keys=True), []).append(rank)
    if len(kinds) == 1:
        return ""
    known = [code for _, code in versions if code]
    differing = {line.partition(":")[0] for code in known for line in code_changes(known[0], code)}
    names = dict.fromkeys(["hunmin", *sorted(differing)])
    lines = []
    for ranks in list(kinds.values())[:MOST_SHOWN]:
        hosts = [*dict.fromkeys(versions[rank][0] for rank in ranks)]
        code = versions[ranks[0]][1]
        shown = ", ".join(f"{name} {code.get(name, 'none')}" for name in names) if code else UNKNOWN_VERSION
        lines.append(f"  {few('rank', ranks)} on {few('', hosts)}: {shown}")
    more = [f"  {len(kinds) - MOST_SHOWN} more"] if len(kinds) > MOST_SHOWN else []
    return "\n".join(["the processes of this run run different code:", *lines, *more])


def refuse(difference: str) -> None:
    """Raise a UserError for a difference that is not ""."""
    if difference:
        raise UserError(
            difference,
            "all processes of a run compute one model: Hunmin's sources, Python and the packages are the same on all",
            "install the same commit and packages on every machine (one image, or one environment on the shared file "
            "system); hunmin --version prints what a machine has",
        )


def few(noun: str, items: Iterable[Any]) -> str:
    """Return the first of some items as text, with their number beyond that.

    >>> few("rank", [3, 5]), few("", range(10))
    ('ranks 3, 5', '0, 1, 2, 3, 4, 5, 6, 7 and 2 more')
    """
    items = list(items)
    shown = ", ".join(map(str, items[:MOST_SHOWN]))
    more = f" and {len(items) - MOST_SHOWN} more" if len(items) > MOST_SHOWN else ""
    return f"{noun}{'s' * (len(items) > 1)} {shown}{more}" if noun else f"{shown}{more}"
