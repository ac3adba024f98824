"""What a device can compute at most: published for known GPUs, measured elsewhere."""

from __future__ import annotations

import statistics
import time

import torch

PEAKS = {"V100": 125e12, "A100": 312e12, "H100": 989e12, "H200": 989e12}
"""GPU → published dense bf16 or fp16 peak, FLOP/s."""


def device_peak(device: torch.device) -> float:
    """Return the FLOP/s by which a run's utilisation is reckoned: a GPU's published peak, else a measured product."""
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
        for known, peak in PEAKS.items():
            if known in name:
                return peak
    return measured_rate(device)


def measured_rate(device: torch.device | None = None) -> float:
    """Return FLOP/s of a single-precision matrix product (bf16 on a GPU) of 1024³ (8192³), the median of five."""
    gpu = device is not None and device.type == "cuda"
    size = 8192 if gpu else 1024
    a = torch.randn(size, size, device=device, dtype=torch.bfloat16 if gpu else torch.float32)
    a @ a
    times = []
    for _ in range(5):
        if gpu:
            torch.cuda.synchronize()
        began = time.perf_counter()
        a @ a
        if gpu:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return 2 * size**3 / statistics.median(times)
