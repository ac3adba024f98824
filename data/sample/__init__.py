"""The embedded sample: seeded Korean corpora with planted faults, their truth, and the eight KLUE tasks in small."""

from data.sample.write import write_sample

__all__ = ["write_sample"]
