"""What the page says of processes and of a failure: ranks, numbers of nodes and the kind of failure. Names of machines
and the text of an error, which can hold a path or a name, stay in the run's folder."""

from __future__ import annotations

from typing import Any

from hunmin.page.words import Words
from pretrain.parallel.monitor import ABSENT_KIND, CLOSED_KIND, SILENT_KIND

KINDS = {
    SILENT_KIND: "no heartbeat",
    ABSENT_KIND: "did not come where the others waited for it",
    CLOSED_KIND: "its connection has closed",
    "OutOfMemoryError": "out of memory",
    "MemoryError": "out of memory",
    "DiskFullError": "the disk is full",
    "TooManySkippedError": "too many batches skipped",
    "DamagedError": "damaged data",
    "DistError": "the network between the processes",
    "DistBackendError": "the network between the processes",
    "DistNetworkError": "the network between the processes",
    "DistStoreError": "the network between the processes",
    "HunminError": "an error",
    "UserError": "an error",
}
"""Kind of a failure, or class of an error → what is said of it; of other classes the name."""


def failure_kind(heartbeat: dict[str, Any], words: Words) -> str:
    """Return what has failed, and of which rank, without a word of the message itself; "" where nothing has.

    Args:
        heartbeat: of the training.
        words: of the page.
    """
    if not heartbeat.get("failure"):
        return ""
    kind, rank = str(heartbeat.get("failure_kind") or "an error"), heartbeat.get("failed_rank")
    where = "" if rank is None else words("rank {rank}: ", rank=rank)
    name = words(KINDS.get(kind, kind))
    return words("{failure} (full message: pretrain*/logs/heartbeat.json)", failure=f"{where}{name}")


def node_names(heartbeat: dict[str, Any], words: Words) -> dict[str, str]:
    """Return host → "node 1", "node 2" …, in the order of the lowest rank that is known of each.

    Args:
        heartbeat: with those that are late.
        words: of the page.
    """
    lowest: dict[str, int] = {}
    for late in heartbeat.get("late", []):
        host, rank = str(late["host"]), min(map(int, late["ranks"]))
        lowest[host] = min(rank, lowest.get(host, rank))
    ordered = sorted(lowest, key=lambda host: (lowest[host], host))
    return {host: words("node {number}", number=number) for number, host in enumerate(ordered, start=1)}
