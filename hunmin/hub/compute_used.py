"""What training a model took: hours, FLOPs, devices and energy, by the log, the starts and the checkpoints of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pretrain.cost.devices import known_device

WATTS = {
    "V100": 300, "V100-16GB": 300, "A100": 400, "A100-40GB": 400, "H100": 700, "H100 PCIe": 350, "H100 NVL": 400,
    "H200": 700, "H200 NVL": 600, "B200": 1000, "L40S": 350, "RTX 4090": 450,
}  # fmt: skip
"""Board power of GPUs as their makers' data sheets state it, by the names of `pretrain.cost.devices`."""


@dataclass
class ComputeUsed:
    """Of the steps up to a checkpoint."""

    hours: float = 0.0
    """In which steps were taken, without pauses, starts and validation."""
    flops: float = 0.0
    device_hours: dict[str, float] = field(default_factory=dict)
    """Device → hours × the number of them."""
    devices: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Device → the fewest and the most at once."""

    @property
    def kilowatt_hours(self) -> float | None:
        """Energy of the devices at their stated power; None where the power of one of them is not known."""
        watts = {name: WATTS.get(known_device(name) or "") for name in self.device_hours}
        if not watts or None in watts.values():
            return None
        return sum(hours * (watts[name] or 0) for name, hours in self.device_hours.items()) / 1000

    def __add__(self, other: ComputeUsed) -> ComputeUsed:
        hours, counts = dict(self.device_hours), dict(self.devices)
        for name, more in other.device_hours.items():
            hours[name] = hours.get(name, 0.0) + more
        for name, (fewest, most) in other.devices.items():
            known = counts.get(name, (fewest, most))
            counts[name] = (min(known[0], fewest), max(known[1], most))
        return ComputeUsed(self.hours + other.hours, self.flops + other.flops, hours, counts)


def compute_used(
    metrics: Sequence[dict[str, Any]],
    starts: Sequence[dict[str, Any]],
    checkpoints: Sequence[dict[str, Any]],
    saved: dict[str, Any],
) -> ComputeUsed:
    """Return the work of the steps up to a checkpoint, from the rates of the log's lines.

    Args:
        metrics: lines of the log.
        starts: {"step", "processes"} of each start of the training, in the order of time: how many devices took the
            steps after it.
        checkpoints: metadata of those that are there, ascending: which device took the steps before each.
        saved: metadata of the checkpoint; its numbers hold where nothing else tells.
    """
    work = ComputeUsed()
    began = starts[0]["step"] if starts else 0
    tokens: float | None = None if began else 0.0
    for row in metrics:
        if row["step"] > saved["step"] or not (row.get("tokens_per_second") or 0) > 0:
            continue
        if tokens is None:  # a branch: its log begins amid the tokens of its parent
            tokens = row["tokens"] * min(1.0, began / max(1, row["step"]))
        hours = max(0.0, row["tokens"] - tokens) / row["tokens_per_second"] / 3600
        tokens = row["tokens"]
        count = next((entry["processes"] for entry in reversed(starts) if entry["step"] < row["step"]), saved["world"])
        device = next(
            (entry.get("device") for entry in checkpoints if entry["step"] >= row["step"]), saved.get("device")
        )
        name = str(device or "?")
        fewest, most = work.devices.get(name, (count, count))
        work.devices[name] = (min(fewest, count), max(most, count))
        work.device_hours[name] = work.device_hours.get(name, 0.0) + count * hours
        work.hours += hours
        work.flops += hours * 3600 * row.get("tflops", 0.0) * 1e12
    if not work.devices:
        work.devices[str(saved.get("device", "?"))] = (saved["world"], saved["world"])
    return work
