"""The embedded sample: seeded Korean corpora with planted faults, their truth, and the eight KLUE tasks in small.

Its texts stay as they are: figures in the documentation are made with them (`tests/hunmin/sample/test_write.py`).
"""

from hunmin.sample.folder import make_sample
from hunmin.sample.write import write_sample

__all__ = ["make_sample", "write_sample"]
