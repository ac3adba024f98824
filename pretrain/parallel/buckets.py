"""Size of the buckets in which gradients are averaged."""

from __future__ import annotations

from pretrain.settings import PretrainSettings

LEAST, MOST = 25, 200
"""MB of gradients a bucket, where the settings say nothing."""
PER_MB = 2**20 // 4
"""Elements of fp32 a MB."""


def bucket_elements(settings: PretrainSettings, parameters: float) -> int:
    """Return the elements of a gradient bucket, which the processes average at a time.

    An eighth of them, so that the first leave early in the backward pass; smaller ones suffer from a network's latency,
    larger ones cost more memory than they save time.
    """
    if settings.bucket_cap_mb:
        return settings.bucket_cap_mb * PER_MB
    return min(max(int(parameters) // 8, LEAST * PER_MB), MOST * PER_MB)
