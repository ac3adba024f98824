"""Filters: which documents are worth keeping, judged one by one, after cleaning and before anything else.

* `settings`: a filter in a recipe; `chain`: all filters of a recipe at work;
* `measure`, `batch`, `characters`: what a filter is, and what filters share of a text;
* `licence`, `length`, `symbols`, `repetition`, `language`: a filter each.
"""

from data.filters.chain import NO_FILTERS, FilterChain, Filtered, build_filters, column_of
from data.filters.settings import FilterSettings

__all__ = ["NO_FILTERS", "FilterChain", "FilterSettings", "Filtered", "build_filters", "column_of"]
