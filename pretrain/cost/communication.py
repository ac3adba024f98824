"""Travel times of gradients and weights between devices: an α–β model of rings, one inside each node, one over them.

A call that moves b bytes over a ring of n takes, at α seconds a hop and β bytes a second,

    reduce-scatter, all-gather    (n − 1)·α + (n − 1)/n · b/β
    all-reduce                    twice that: it is the one and then the other

(Patarasuk and Yuan 2009; β is what a device sends in one direction while it receives as much). Over m nodes of g
devices a reduce-scatter goes over the devices of a node first, which leaves each of them b/g; then the g of a node,
each with a ring of its own over the nodes, share its network, so that the node sends (m − 1)/m · b in all:

    (g − 1)·α₁ + (g − 1)/g · b/β₁  +  (m − 1)·α₂ + (m − 1)/m · b/β₂

α₁, β₁ are of the device's link inside a node, α₂, β₂ of a node's network. With one node the second half is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

REACHED = 0.8
"""Share of a link's published bandwidth that is assumed to be reached."""
HOP_INSIDE, HOP_BETWEEN = 3e-6, 10e-6
"""Seconds that a hop is assumed to take inside a node, and over the network."""
NETWORK = 25e9
"""Bytes a second of a node to the others in one direction where nothing is said: one port of 200 Gbit/s."""


@dataclass(frozen=True)
class Link:
    """A connection between devices or nodes."""

    bandwidth: float
    """Bytes a second in one direction."""
    latency: float
    """Seconds a hop."""


@dataclass(frozen=True)
class Cluster:
    """Devices that share a run, evenly over nodes."""

    devices: int
    nodes: int
    inside: Link
    """Link of a device to the others of its node."""
    between: Link
    """Link of a node to the others; its devices share it."""

    @property
    def in_node(self) -> int:
        """Devices of a node."""
        return self.devices // self.nodes


def all_reduce(size: float, cluster: Cluster, calls: int = 1) -> float:
    """Return the seconds in which every device has the sum of all; each of the `calls` costs the latency anew."""
    return 2 * reduce_scatter(size, cluster, calls)


def reduce_scatter(size: float, cluster: Cluster, calls: int = 1) -> float:
    """Return the seconds in which every device has its part of the sum; gathering the parts takes as long."""
    inside = _half_ring(size, cluster.in_node, cluster.inside, calls)
    return inside + _half_ring(size, cluster.nodes, cluster.between, calls)


all_gather = reduce_scatter
"""Every device has all parts: the same way backwards."""


def _half_ring(size: float, members: int, link: Link, calls: int) -> float:
    return (members - 1) * link.latency * calls + (members - 1) / members * size / link.bandwidth
