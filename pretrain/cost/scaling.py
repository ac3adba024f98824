"""A run on more and more devices: hours, efficiency, cost, and where more of them stop paying."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    """In the money that prices are in; None without a price or hours."""
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
    """Return a sentence about where more devices stop paying.

    Args:
        rows: by rising number of devices, efficiency against the same one.
        micro_batch: of the recipe.
    """
    for before, row in zip([None, *rows], rows, strict=False):
        if row.efficiency < WORTH and row.micro_batch:
            why = (
                f"on {row.devices:,} devices, which wait for each other's gradients, efficiency is {row.efficiency:.1%}"
            )
        elif not row.micro_batch:
            why = f"{row.devices:,} devices cannot share the global batch evenly"
        elif row.micro_batch < micro_batch:
            why = (
                f"on {row.devices:,} devices the global batch no longer divides into micro-batches of {micro_batch} "
                f"samples; those of {row.micro_batch} may keep a device less busy than this table assumes"
            )
        else:
            continue
        return f"Scaling pays up to {_devices(before.devices)}: {why}." if before else f"Scaling does not pay: {why}."
    return f"Scaling pays up to {_devices(rows[-1].devices)}, the last row here, and perhaps beyond."


def _devices(count: int) -> str:
    return "1 device" if count == 1 else f"{count:,} devices"
