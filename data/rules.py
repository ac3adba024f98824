"""The rules and libraries that made the parts of a corpus: a folder of parts holds those of one version alone."""

from __future__ import annotations

from common.manifest import package_versions
from common.rules import rules_number

LIBRARIES = ("google-re2", "selectolax", "mwparserfromhell", "markdown-it-py", "rensa", "hypua2jamo")
"""Libraries that parse and judge texts; those whose output is fixed by a standard (JSON, Parquet) are none of them."""


def part_rules() -> dict[str, int | str]:
    """Return the number of the corpus's rules, and the version of each library that parses and judges texts."""
    return {"rules": rules_number("corpus"), **package_versions(*LIBRARIES)}
