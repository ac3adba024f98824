"""The embedded sample: seeded Korean corpora with planted faults, their truth, and the eight KLUE tasks in small."""
