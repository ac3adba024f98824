"""Devices and the names that people give them."""

from __future__ import annotations

import pytest

from common.errors import UserError
from pretrain.cost.devices import DEVICES, named_device


@pytest.mark.parametrize(
    ("name", "device", "count", "chips"),
    [
        ("H100", "H100", 1, 1),
        ("nvidia h100 pcie", "H100 PCIe", 1, 1),
        ("RTX4090", "RTX 4090", 1, 1),
        ("GeForce RTX 4090", "RTX 4090", 1, 1),
        ("TPU v3", "TPU v3", 2, 1),  # a chip: two cores, each with its memory
        ("TPU v3-8", "TPU v3", 8, 4),  # v2 to v4 and v5p count cores, two a chip
        ("TPU v3-32", "TPU v3", 32, 16),
        ("TPU v4-8", "TPU v4", 4, 4),  # whose cores share memory and work as one
        ("v5p-16", "TPU v5p", 8, 8),
        ("TPU v5e-8", "TPU v5e", 8, 8),  # v5e and v6e count chips
        ("v5litepod-16", "TPU v5e", 16, 16),
        ("tpu-v6e-1", "TPU v6e", 1, 1),
    ],
)
def test_names(name: str, device: str, count: int, chips: int) -> None:
    found = named_device(name)
    assert (found.device.name, found.count, found.chips) == (device, count, chips)


@pytest.mark.parametrize("name", ["H10", "TPU v9-8", "TPU v3-7", "TPU v3-0", "TPU v5e-0", ""])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UserError):
        named_device(name)


def test_a_core_of_v3_has_half_of_its_chip() -> None:
    core = DEVICES["TPU v3"]
    assert (core.peak, core.memory, core.link) == (61.5e12, 16e9, 140e9)


def test_what_is_known_is_plausible() -> None:
    for device in DEVICES.values():
        assert device.peak >= device.peak_fp32 > 1e12 and 1e10 < device.memory < 1e12
        assert 1e10 < device.link < 1e12 and 0 < device.reached < 1
