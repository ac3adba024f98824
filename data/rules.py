"""Which rules a corpus is made by: hashes of the code, and the versions of the libraries that read and judge texts."""

from __future__ import annotations

from pathlib import Path

from common.code import code_hash
from common.manifest import package_versions

_HERE = Path(__file__).parent
OF_PARTS = (
    *(
        "benchmark",
        "cleaning",
        "decontaminate",
        "deduplicate",
        "filters",
        "lines",
        "nfc",
        "pii",
        "readers",
        "shards",
        "splitting",
    ),
    "units/work",
)
"""Modules and folders of this package that the parts of a corpus depend on."""
OF_CORPUS = (*OF_PARTS, "assemble", "mixture", "statistics")
"""The same for the finished corpus."""
LIBRARIES = ("google-re2", "selectolax", "mwparserfromhell", "markdown-it-py", "rensa", "hypua2jamo")
"""What parses and judges texts; libraries whose output is fixed by a standard (JSON, Parquet) are none of them."""


def rules_of(names: tuple[str, ...]) -> dict[str, str]:
    """Return name → hash of its code, or its version, for modules and folders of this package and for the libraries.

    Args:
        names: as in `OF_PARTS`.
    """
    paths = {name: _HERE / name for name in names}
    code = {f"data/{name}": code_hash(p if p.is_dir() else p.with_suffix(".py")) for name, p in paths.items()}
    return code | package_versions(*LIBRARIES)
