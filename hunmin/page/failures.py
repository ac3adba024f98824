"""What the page says of processes and of a failure: ranks, numbers of nodes and the kind of failure. Names of machines
and the text of an error, which can hold a path or a name, stay in the run's folder."""

from __future__ import annotations

import re
from typing import Any

from hunmin.page.words import Words

KINDS = (
    ("out of memory", r"out of memory|MemoryError|cannot allocate"),
    ("the disk is full", r"disk is full|no space left|quota exceeded"),
    ("too many batches skipped", r"batches? (were )?skipped|max_skipped"),
    ("its connection has closed", r"its connection has closed"),
    ("no heartbeat", r"heartbeat|no sign of life"),
    ("the network between the processes", r"nccl|gloo|connection|socket|timed out|unreachable"),
    ("damaged data", r"is damaged|checksum|cut short"),
)
"""(kind, what a message of it holds), the first that fits."""
NAMED = re.compile(r"(?:^|failed: )([A-Z][A-Za-z]{2,40}(?:Error|Exception|Exit|Interrupt))\b")
"""The class of an exception, which a message begins with where no kind fits."""


def failure_kind(message: str, words: Words) -> str:
    """Return what has failed, and of which rank, without a word of the message itself.

    Args:
        message: of the heartbeat.
        words: of the page.
    """
    found = re.match(r"rank (\d+) on ", message)
    kind = next((name for name, pattern in KINDS if re.search(pattern, message, re.IGNORECASE)), None)
    if kind is None:
        named = NAMED.search(message)
        kind = named[1] if named else "an error"
    where = words("rank {rank}: ", rank=found[1]) if found else ""
    return words("{failure} (full message: pretrain*/logs/heartbeat.json)", failure=f"{where}{words(kind)}")


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
