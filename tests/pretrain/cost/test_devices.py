"""Devices and the names that people give them."""

import pytest

from common.errors import UserError
from pretrain.cost.devices import DEVICES, named_device


@pytest.mark.parametrize(
    ("name", "device", "count"),
    [
        ("H100", "H100", 1),
        ("nvidia h100 pcie", "H100 PCIe", 1),
        ("GeForce RTX4090", "RTX 4090", 1),
        ("TPU v4", "TPU v4", 1),
        ("TPU v4-8", "TPU v4", 4),  # v4 and v5p count cores, two a chip
        ("v5p-16", "TPU v5p", 8),
        ("TPU v5e-8", "TPU v5e", 8),  # v5e and v6e count chips
        ("v5litepod-16", "TPU v5e", 16),
        ("tpu-v6e-1", "TPU v6e", 1),
        *((name, "", 0) for name in ("H10", "TPU v9-8", "TPU v3-8", "TPU v4-7", "TPU v4-0", "TPU v5e-0", "")),
    ],
)
def test_names(name: str, device: str, count: int) -> None:
    if device:
        named = named_device(name)
        assert (named.device.name, named.count) == (device, count)
    else:
        with pytest.raises(UserError):
            named_device(name)


def test_what_is_known_is_plausible() -> None:
    for device in DEVICES.values():
        assert device.peak >= device.peak_fp32 > 1e12 and 1e10 < device.memory < 1e12
        assert 1e10 < device.link < 1e12 and 0 < device.reached < 1
