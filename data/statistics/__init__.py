"""Statistics of a corpus: counted (`counts`, `strings`), shown as tables (`table`), drawn (`plots`)."""

from data.statistics.counts import (
    Counters,
    count_documents,
    histograms,
    merge,
    shard_statistics,
    sort_counters,
    text_size,
    total,
)

__all__ = [
    "Counters",
    "count_documents",
    "histograms",
    "merge",
    "shard_statistics",
    "sort_counters",
    "text_size",
    "total",
]
