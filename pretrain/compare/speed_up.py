"""How much less work an arm needs than a base for the same quality, k = FLOP of the base / FLOP of the arm.

The base's FLOP at a quality is read off the line through its runs: logarithm of FLOP over bits per byte, between two
runs and not beyond them. The interval is a bootstrap over sentences, the same for all runs, and over seeds.

Shapes: N sentences, K seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DRAWS = 1000
LEVEL = 95.0


@dataclass(frozen=True)
class Measured:
    """A trained model on the ruler."""

    name: str
    """Of its arm; models of one name and equal steps are seeds."""
    steps: int
    flops: float
    bits_N: np.ndarray
    """Bits of each sentence."""


@dataclass(frozen=True)
class SpeedUp:
    """Of an arm at one budget; None where the base's runs do not enclose its quality."""

    k: float | None
    low: float | None
    high: float | None


def flops_at(flops: Sequence[float], bits: Sequence[float], quality: float) -> float | None:
    """Return the FLOP at which a base's runs reach a quality; None where they do not enclose it.

    Args:
        flops: of the runs.
        bits: per byte, of the runs; of runs that are worse than one with fewer FLOP, that one's count.
        quality: bits per byte.
    """
    best: list[tuple[float, float]] = []
    for work, value in sorted(zip(flops, bits, strict=True)):
        if not best or value < best[-1][1]:
            best.append((work, value))
    if len(best) < 2 or not best[-1][1] <= quality <= best[0][1]:
        return None
    works, values = np.array(best).T
    return float(np.exp(np.interp(-quality, -values, np.log(works))))


def speed_ups(
    models: Sequence[Measured], bytes_N: np.ndarray, base: str, seed: int = 0
) -> dict[tuple[str, int], SpeedUp]:
    """Return (name, steps) → how much less an arm of that name needs than the base.

    Args:
        models: of the base and of arms; a seed each.
        bytes_N: UTF-8 bytes of each sentence.
        base: name of the base, which has runs of two budgets or more.
        seed: of the bootstrap.
    """
    groups: dict[tuple[str, int], list[Measured]] = {}
    for model in models:
        groups.setdefault((model.name, model.steps), []).append(model)
    bits = {key: np.stack([model.bits_N for model in seeds]) for key, seeds in groups.items()}
    flops = {key: float(np.mean([model.flops for model in seeds])) for key, seeds in groups.items()}
    on_base = [key for key in groups if key[0] == base]
    draws: dict[tuple[str, int], list[float | None]] = {key: [] for key in groups if key[0] != base}
    generator = np.random.default_rng(seed)
    for draw in range(DRAWS + 1):  # the first is of all as they are
        drawn = generator.integers(len(bytes_N), size=len(bytes_N)) if draw else np.arange(len(bytes_N))
        quality = {}
        for key, bits_KN in bits.items():
            seeds = generator.integers(len(bits_KN), size=len(bits_KN)) if draw else np.arange(len(bits_KN))
            quality[key] = bits_KN[seeds][:, drawn].mean(0).sum() / bytes_N[drawn].sum()
        for key, values in draws.items():
            needed = flops_at([flops[of] for of in on_base], [quality[of] for of in on_base], quality[key])
            values.append(needed and needed / flops[key])
    return {key: _interval(values) for key, values in draws.items()}


def _interval(values: Sequence[float | None]) -> SpeedUp:
    inside = [value for value in values[1:] if value is not None]
    if values[0] is None or len(inside) < 0.95 * (len(values) - 1):
        return SpeedUp(values[0], None, None)
    low, high = np.percentile(inside, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return SpeedUp(values[0], float(low), float(high))
