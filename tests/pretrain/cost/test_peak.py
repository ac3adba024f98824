"""What a device can do at most, measured: by hand from the times of a clock that is not the machine's."""

from __future__ import annotations

import itertools

import pytest

from pretrain.cost import peak


def test_the_peak_is_that_of_the_fastest_product(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.chain([0.05, 0.4, 0.025, 0.3], itertools.repeat(0.1))  # others take the machine now and then
    ticks = itertools.chain.from_iterable((0.0, one) for one in seconds)
    monkeypatch.setattr(peak.time, "perf_counter", lambda: next(ticks))
    assert peak.measured_rate() == pytest.approx(2 * 384**3 / 0.025)
