"""Sizes of sources → how often the documents of each come in a pass: temperature sampling with a bound."""

from __future__ import annotations

import math
from collections.abc import Mapping

from data.mixture.settings import MixtureSettings, SourceShare

DIGITS = 9
"""Decimals of a rate: what rounding leaves of a 1 is a 1."""


def rates_of(sizes: Mapping[str, int], settings: MixtureSettings) -> dict[str, float]:
    """Return the rate of each source: how often a document of it comes in a pass, on average, ≥ 0.

    A source with `epochs` has that rate. The others share out as many bytes as they have together: source i gets
    weight_i · n_i^α / Σ weight_j · n_j^α of them (Conneau and Lample 2019, section 3.1, for its n^α; Xue et al. 2021,
    section 3.2), but none more than `max_epochs` times what it has; what is left over goes to those below the bound in
    the same proportions (Chung et al. 2023, "UniMax", algorithm 1).

    Args:
        sizes: bytes of each source, what is held out or over a cap not counted.

    >>> rates_of({"news": 900, "talk": 100}, MixtureSettings(alpha=0.5))
    {'news': 0.833333333, 'talk': 2.5}
    """
    default = SourceShare()
    chosen = {name: settings.sources.get(name, default) for name in sizes}
    rates = {name: float(one.epochs) for name, one in chosen.items() if one.epochs is not None}
    open_ = sorted(name for name in sizes if name not in rates and sizes[name])
    rates |= {name: 1.0 for name in sizes if name not in rates and not sizes[name]}
    left = float(sum(sizes[name] for name in open_))
    while open_:
        weighted = {name: chosen[name].weight * float(sizes[name]) ** settings.alpha for name in open_}
        whole = math.fsum(weighted.values())
        open_rates = {name: round(left * weighted[name] / whole / sizes[name], DIGITS) for name in open_}
        full = [name for name in open_ if open_rates[name] > settings.max_epochs]
        if not full:
            rates |= open_rates
            break
        rates |= dict.fromkeys(full, float(settings.max_epochs))
        left -= settings.max_epochs * sum(sizes[name] for name in full)
        open_ = [name for name in open_ if name not in full]
    return {name: rates[name] for name in sizes}
