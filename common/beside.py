"""Names of files that are none of a folder's data: hidden ones, and what programs write beside their data."""

from __future__ import annotations

import re

LEFT_BESIDE = re.compile(
    "_(?:SUCCESS|FAILURE|metadata|common_metadata|delta_log|spark_metadata|temporary|(?:committed|started)_[0-9]+)"
)
"""Names of files and folders that Spark, Hive and the like write beside their data."""


def is_beside(relative: str) -> bool:
    """Return whether a path inside a folder, or a part of it, is hidden or written beside the data."""
    return any(part.startswith(".") or LEFT_BESIDE.fullmatch(part) for part in relative.split("/"))
