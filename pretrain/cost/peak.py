"""Peak FLOP/s of a device: published for known GPUs, measured elsewhere.

torch is imported where something is measured: a plan for a known device does without.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pretrain.cost.devices import DEVICES, Device, known_device

if TYPE_CHECKING:
    import torch

CPU_SHARE = 0.65
"""Share of this machine's measured matrix product that a training step is assumed to reach on a CPU."""
UNKNOWN_SHARE = 0.30
"""The same of a GPU whose peak is not known."""
UNKNOWN_LINK = 10e9
"""Bytes a second that a device is assumed to send to its neighbours where nothing is known of it."""


def device_peak(device: torch.device) -> float:
    """Return the FLOP/s by which a run's utilisation is reckoned: a GPU's published peak, else a measured product."""
    if device.type == "cuda":
        import torch

        known = known_device(torch.cuda.get_device_name(device))
        if known:
            return DEVICES[known].peak
    return measured_rate(device)


def device_name(device: torch.device) -> str:
    """Return what a device calls itself: a GPU's name, or that of the processor."""
    if device.type == "cuda":
        import torch

        return torch.cuda.get_device_name(device)
    if device.type == "cpu":
        with suppress(OSError):
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    return device.type.upper()


def measured_rate(device: torch.device | None = None) -> float:
    """Return FLOP/s of a matrix product, the fastest of many: 384³ in fp32 by all threads, on a GPU 8192³ in bf16.

    The median would be what other users of the machine leave of it, and longer products on a CPU are interrupted each
    time. Threads that others' work has put on one core wait for each other at every product: where all together do less
    than half of what each does alone, the peak is that of one, times their number. A process measures once: it takes
    one to three seconds.
    """
    import torch

    return _measured_rate(device, torch.get_num_threads())


@cache
def _measured_rate(device: torch.device | None, threads: int) -> float:
    import torch

    if device is not None and device.type == "cuda":
        return _fastest_product(torch.randn(8192, 8192, device=device, dtype=torch.bfloat16), 15)
    a = torch.randn(384, 384)
    together = _fastest_product(a, 400)
    torch.set_num_threads(1)
    try:
        alone = threads * _fastest_product(a, 400)
    finally:
        torch.set_num_threads(threads)
    return together if together >= alone / 2 else alone


def _fastest_product(a: torch.Tensor, count: int) -> float:
    import torch

    a @ a
    times = []
    for _ in range(count):
        if a.is_cuda:
            torch.cuda.synchronize()
        began = time.perf_counter()
        a @ a
        if a.is_cuda:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return 2 * len(a) ** 3 / min(times)


def this_device() -> Device:
    """Return the device that a run on this machine would have: its GPUs, or its processor."""
    import torch

    if not torch.cuda.is_available():
        peak = measured_rate()
        memory = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        return Device(
            "this machine", "cpu", peak, peak, memory, UNKNOWN_LINK, CPU_SHARE, bf16=False, in_node=1
        )  # several of it are several machines
    name = torch.cuda.get_device_name()
    memory = float(torch.cuda.get_device_properties(0).total_memory)
    if known := known_device(name):
        return replace(DEVICES[known], memory=memory)
    bf16 = torch.cuda.is_bf16_supported()
    peak = measured_rate(torch.device("cuda"))
    return Device(name, "gpu", peak, measured_rate(), memory, UNKNOWN_LINK, UNKNOWN_SHARE, bf16)
