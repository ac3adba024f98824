"""What a device can do at most, measured: by hand from the times of a clock that is not the machine's."""

import itertools
from collections.abc import Iterator

import pytest
import torch

from pretrain.cost import peak


@pytest.fixture(autouse=True)
def _not_measured() -> Iterator[None]:
    peak._measured_rate.cache_clear()
    yield
    peak._measured_rate.cache_clear()


def test_the_peak_is_that_of_the_fastest_product(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.chain([0.05, 0.4, 0.025, 0.3], itertools.repeat(0.1))  # others take the machine now and then
    ticks = itertools.chain.from_iterable((0.0, duration) for duration in seconds)
    monkeypatch.setattr(peak.time, "perf_counter", lambda: next(ticks))
    assert [peak.measured_rate(), peak.measured_rate()] == [pytest.approx(2 * 384**3 / 0.025)] * 2  # measured once
    assert next(ticks) == 0.0 and next(ticks) == 0.1


def test_threads_that_share_a_core_are_not_its_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that wait for each other take 4 ms, where one alone takes 0.7: the machine does 0.35."""
    asked: list[int] = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    monkeypatch.setattr(peak, "_fastest_product", lambda a, count: next(rates))
    for together, expected in ((2 / 4e-3, 2 / 0.7e-3), (1.9 / 0.7e-3, 1.9 / 0.7e-3)):
        rates = iter((together, 1 / 0.7e-3))
        assert peak.measured_rate() == pytest.approx(expected)
        peak._measured_rate.cache_clear()
    assert asked == [1, 2, 1, 2]  # as many as before
