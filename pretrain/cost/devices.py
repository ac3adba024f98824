"""Devices: what each computes, holds and sends, as its vendor publishes it, and the names that people give them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from common.errors import UserError, nearest

GPUS_IN_NODE = 8
"""GPUs in a node of the vendors' own machines."""
CHIPS_IN_POD = 256
"""TPU chips that one interconnect joins, at least."""


@dataclass(frozen=True)
class Device:
    """A device, which computes one micro-batch at a time: a GPU, a TPU chip or a CPU.

    Peaks are of dense products; bandwidths are of one direction.
    """

    name: str
    kind: Literal["gpu", "tpu", "cpu"]
    peak: float
    """FLOP/s of matrix products of 16 bits, summed in 32."""
    peak_fp32: float
    """FLOP/s of products of 32 bits."""
    memory: float
    """Bytes."""
    link: float
    """Bytes a second to the others of its node."""
    reached: float
    """Share of the peak that a training step in 16 bits is assumed to reach."""
    bf16: bool = True
    """Whether it computes in bfloat16; without it `dtype: auto` is fp32."""
    in_node: int = GPUS_IN_NODE
    """Devices that its link joins."""
    cores: int = 1
    """Cores of a chip that the number in a slice's name counts: 2 of a "TPU v4-8", 1 of a "TPU v5e-8"."""


def _gpu(
    name: str, tflops: float, tflops_fp32: float, gigabytes: float, link: float, reached: float, bf16: bool = True
) -> Device:
    return Device(name, "gpu", tflops * 1e12, tflops_fp32 * 1e12, gigabytes * 1e9, link * 1e9, reached, bf16=bf16)


def _tpu(name: str, tflops: float, gigabytes: float, link: float, reached: float, cores: int = 1) -> Device:
    """Return a TPU by what a chip has; unless told otherwise, XLA computes products of 32 bits in 16, too."""
    peak = tflops * 1e12
    return Device(name, "tpu", peak, peak, gigabytes * 1e9, link * 1e9, reached, in_node=CHIPS_IN_POD, cores=cores)


DEVICES: dict[str, Device] = {
    device.name: device
    for device in (
        # NVIDIA H100 Tensor Core GPU data sheet, PCIe: 1,513 TFLOP/s with sparsity; PCIe 5 x16
        _gpu("H100 PCIe", 756, 51, 80, 64, 0.30),
        # NVIDIA H100 NVL data sheet: 1,671 TFLOP/s with sparsity; 94 GB; PCIe 5 x16 beyond the bridge of two
        _gpu("H100 NVL", 835, 60, 94, 64, 0.30),
        # NVIDIA H200 data sheet, NVL: 1,671 TFLOP/s with sparsity; PCIe 5 x16 beyond the bridge of two or four
        _gpu("H200 NVL", 835, 60, 141, 64, 0.30),
        # NVIDIA V100 data sheet, SXM2: fp16 only; NVLink 300 GB/s both ways; sold with 16 GB, too
        _gpu("V100", 125, 15.7, 32, 150, 0.50, bf16=False),
        _gpu("V100-16GB", 125, 15.7, 16, 150, 0.50, bf16=False),
        # NVIDIA A100 80GB data sheet, SXM4: NVLink 600 GB/s both ways; sold with 40 GB, too
        _gpu("A100", 312, 19.5, 80, 300, 0.50),
        _gpu("A100-40GB", 312, 19.5, 40, 300, 0.50),
        # NVIDIA H100 data sheet, SXM5: 1,979 TFLOP/s with sparsity; NVLink 900 GB/s both ways
        _gpu("H100", 989, 67, 80, 450, 0.30),
        # NVIDIA H200 data sheet, SXM: as H100, with 141 GB; share measured of RoBERTa-base (docs/performance.md)
        _gpu("H200", 989, 67, 141, 450, 0.35),
        # NVIDIA HGX B200 data sheet: 4,500 TFLOP/s with sparsity; 180 GB; NVLink 1.8 TB/s both ways
        _gpu("B200", 2250, 75, 180, 900, 0.25),
        # NVIDIA L40S data sheet: 362 (733 with sparsity); PCIe 4 x16, 64 GB/s both ways
        _gpu("L40S", 362, 91.6, 48, 32, 0.40),
        # NVIDIA Ada GPU architecture white paper, appendix A: bf16 with fp32 sums; PCIe 4 x16
        _gpu("RTX 4090", 165.2, 82.6, 24, 32, 0.40),
        # Cloud TPU documentation, a page a version: peak, memory and interconnect a chip (the interconnect of v4:
        # Jouppi et al. 2023, table 4: 6 links of 50 GB/s). TorchTPU, by which a run reaches them, knows no older one
        _tpu("TPU v4", 275, 32, 300, 0.45, cores=2),
        _tpu("TPU v5e", 197, 16, 200, 0.40),
        _tpu("TPU v5p", 459, 95, 600, 0.40, cores=2),
        _tpu("TPU v6e", 918, 32, 400, 0.30),
    )
}
"""Name → device. The H200's share is measured; the others are assumed, near what has been published of such encoders:
BERT-large 52% on V100 (DeepSpeed), ModernBERT-base 25% and others up to 34% on H100 and H200; less where memory is
slower in proportion."""


@dataclass(frozen=True)
class Named:
    """A device, or a slice of several, by name."""

    name: str
    """Name in its usual spelling."""
    device: Device
    count: int = 1
    """Devices of one such thing: 4 of a "TPU v4-8", 1 of an "H100"."""


def named_device(name: str) -> Named:
    """Return the device of a name; case, spaces, hyphens and the maker's name do not matter.

    >>> [named_device(name).count for name in ("H100", "TPU v4", "tpu v4-8", "v5p-8", "TPU v5e-8")]
    [1, 1, 4, 4, 8]

    Raises:
        UserError: there is none of that name, or no slice of that size.
    """
    plain = _plain(name)
    for device in DEVICES.values():
        if _plain(device.name) == plain:
            return Named(device.name, device)
    slice_ = re.fullmatch(r"(?:cloud)?[\s_-]*(?:tpu)?[\s_-]*(v\d(?:litepod|[ep])?)-(\d+)", name.strip().lower())
    known = DEVICES.get("TPU " + slice_[1].replace("litepod", "e")) if slice_ else None
    if not slice_ or not known:
        raise UserError(
            f"unknown device '{name}'{nearest(name, list(DEVICES))}",
            f"known devices: {', '.join(DEVICES)}; of TPUs slices, too, such as 'TPU v4-8'",
        )
    count, remainder = divmod(int(slice_[2]), known.cores)
    if remainder or not count:
        raise UserError(
            f"there is no slice '{name}'",
            f"the number in its name counts {'cores, 2 a chip' if known.cores > 1 else 'chips'}",
        )
    return Named(f"{known.name}-{slice_[2]}", replace(known, in_node=max(known.in_node, count)), count)


def _plain(name: str) -> str:
    return re.sub(r"nvidia|geforce|[\s_-]", "", name.lower())


def known_device(name: str) -> str | None:
    """Return the key in `DEVICES` of a GPU by the name that its driver gives, None where there is none.

    >>> known_device("NVIDIA H100 80GB HBM3"), known_device("Tesla V100-SXM2-32GB"), known_device("NVIDIA RTX A1000")
    ('H100', 'V100', None)
    """
    gpus = (known for known, device in DEVICES.items() if device.kind == "gpu")
    return next((known for known in gpus if re.search(rf"\b{known}\b", name)), None)
