"""A run: its stages in order, what each reads, which are done, and the work on those that are not."""
