"""Filters: which documents are worth keeping, judged one by one, after cleaning and before anything else."""

from data.filters.chain import NO_FILTERS, FilterChain, Filtered, build_filters, column_of
from data.filters.settings import FilterSettings

__all__ = ["NO_FILTERS", "FilterChain", "FilterSettings", "Filtered", "build_filters", "column_of"]
