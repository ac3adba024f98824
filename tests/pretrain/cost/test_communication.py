"""Times of rings, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pretrain.cost.communication import Cluster, Link, all_gather, all_reduce, reduce_scatter

FAST, SLOW = Link(1e11, 0.0), Link(1e10, 0.0)


def test_one_ring() -> None:
    four = Cluster(4, 1, FAST, SLOW)
    assert all_reduce(1e9, four) == pytest.approx(2 * 3 / 4 * 1e9 / 1e11)  # 15 ms
    assert reduce_scatter(1e9, four) == all_gather(1e9, four) == pytest.approx(0.0075)
    hops = Cluster(4, 1, Link(1e11, 1e-6), SLOW)
    assert all_reduce(1e9, hops) == pytest.approx(0.015 + 6e-6)  # 2 · 3 hops
    assert all_reduce(1e9, hops, calls=10) == pytest.approx(0.015 + 60e-6)
    assert all_reduce(1e9, Cluster(1, 1, FAST, SLOW)) == 0


def test_rings_within_nodes_and_over_them() -> None:
    # two nodes of four: inside 2 · 3/4 · 0.8 GB at 100 GB/s = 12 ms; between 2 · 1/2 · 0.8 GB at 10 GB/s = 80 ms
    assert all_reduce(8e8, Cluster(8, 2, FAST, SLOW)) == pytest.approx(0.092)
    # a device a node: between alone, 2 · 7/8 · 0.8 GB at 10 GB/s
    assert all_reduce(8e8, Cluster(8, 8, FAST, SLOW)) == pytest.approx(0.14)


@given(st.integers(1, 8), st.integers(1, 64), st.floats(1, 1e10))
def test_more_devices_and_more_bytes_never_take_less(in_node: int, nodes: int, size: float) -> None:
    def took(each: int, nodes: int, bytes_: float) -> float:
        return all_reduce(bytes_, Cluster(each * nodes, nodes, Link(1e11, 1e-6), Link(1e10, 1e-5)))

    assert took(in_node, nodes, size) <= took(in_node + 1, nodes, size)
    assert took(in_node, nodes, size) <= took(in_node, nodes + 1, size)
    assert took(in_node, nodes, size) <= took(in_node, nodes, 2 * size)
