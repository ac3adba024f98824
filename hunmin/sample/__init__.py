"""The embedded sample, frozen: Korean corpora with planted faults, their truth, eight small KLUE-like tasks, and
instruction data sets. PROVENANCE.md says where the texts come from.
"""

from hunmin.sample.folder import make_sample, sample_files, write_sample

__all__ = ["make_sample", "sample_files", "write_sample"]
