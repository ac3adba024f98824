"""Filters: which documents are worth keeping, judged one by one, after cleaning and before anything else."""
