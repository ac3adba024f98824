"""A run on more and more devices: hours, efficiency, cost, and where more of them stop paying."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

WORTH = 0.8
"""Efficiency below which more devices are not worth their price."""


@dataclass(frozen=True)
class Row:
    """The run on so many devices."""

    devices: int
    nodes: int
    micro_batch: int
    """The recipe's, or the largest below it that divides the global batch; 0 where none does."""
    hours: float | None
    """None where no micro-batch divides the global batch."""
    efficiency: float
    """Speed by that of as many devices which would not have to wait for each other."""
    cost: float | None
    """Cost in the currency of the price; None without a price or hours."""
    memory: float
    """Bytes a device."""
    fits: bool


def counts(devices: int) -> list[int]:
    """Return the device counts of a table: 1, 2, 4 … to four times as many as there are, and these.

    >>> counts(6)
    [1, 2, 4, 6, 8, 16, 24]
    """
    powers = [1 << k for k in range((4 * devices).bit_length()) if 1 << k <= 4 * devices]
    return sorted({*powers, devices, 4 * devices})


def nodes_of(devices: int, in_node: int) -> int:
    """Return the nodes of so many devices, each node with the same number, at most `in_node`.

    >>> nodes_of(4, 8), nodes_of(16, 8), nodes_of(12, 8)
    (1, 2, 2)
    """
    least = -(-devices // in_node)
    return next(nodes for nodes in range(least, devices + 1) if devices % nodes == 0)


def verdict(rows: Sequence[Row], micro_batch: int) -> str:
    """Return sentences about up to which row of rising device counts more pay: the last of `WORTH` or better."""
    shared = [row for row in rows if row.micro_batch]
    good = list(takewhile(lambda row: row.efficiency >= WORTH, shared))
    text = f"Scaling pays up to {_devices(good[-1].devices)}, where efficiency is at least {WORTH:.0%}; "
    if good != shared:
        text += f"on {_devices(shared[len(good)].devices)} it is {shared[len(good)].efficiency:.1%}."
    elif rows[-1].micro_batch:
        text += "it is the last row here, and more may pay as well."
    else:
        text += f"{_devices(rows[-1].devices)} cannot share the global batch evenly."
    text += " Efficiency is the share of the time in which no device waits for others."
    if smaller := next((row for row in good if row.micro_batch < micro_batch), None):
        text += (
            f" From {_devices(smaller.devices)} on, micro-batches are smaller than {micro_batch} samples "
            f"({smaller.micro_batch} on {smaller.devices:,}), which may keep a device less busy than assumed here."
        )
    return text


def _devices(count: int) -> str:
    return "1 device" if count == 1 else f"{count:,} devices"
