"""Licences by the model hub's names: it shows no card's licence that has another one."""

from __future__ import annotations

import re

from common.errors import UserError, nearest

HUB_LICENSES = [
    "apache-2.0", "mit", "openrail", "bigscience-openrail-m", "creativeml-openrail-m", "bigscience-bloom-rail-1.0",
    "bigcode-openrail-m", "afl-3.0", "artistic-2.0", "bsl-1.0", "bsd", "bsd-2-clause", "bsd-3-clause",
    "bsd-3-clause-clear", "c-uda", "cc", "cc0-1.0", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0",
    "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nd-4.0",
    "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0", "cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0",
    "cdla-sharing-1.0", "cdla-permissive-1.0", "cdla-permissive-2.0", "wtfpl", "ecl-2.0", "epl-1.0", "epl-2.0",
    "etalab-2.0", "eupl-1.1", "eupl-1.2", "agpl-3.0", "gfdl", "gpl", "gpl-2.0", "gpl-3.0", "lgpl", "lgpl-2.1",
    "lgpl-3.0", "isc", "h-research", "intel-research", "lppl-1.3c", "ms-pl", "apple-ascl", "apple-amlr", "mpl-2.0",
    "odc-by", "odbl", "openmdw-1.0", "openrail++", "osl-3.0", "postgresql", "ofl-1.1", "ncsa", "unlicense", "zlib",
    "pddl", "lgpl-lr", "deepfloyd-if-license", "fair-noncommercial-research-license", "llama2", "llama3",
    "llama3.1", "llama3.2", "llama3.3", "llama4", "grok2-community", "gemma", "unknown",
]  # fmt: skip
"""The hub's names, from its documentation's page on licences."""
OTHER = re.compile(r"other:([a-z0-9][a-z0-9.-]*)")
"""A licence that the hub has no name for, with the name that the card gives it."""


def license_fault(value: str) -> str:
    """Return why a licence cannot stand in a card, with the name that is perhaps meant; "" if it can."""
    if value in HUB_LICENSES or OTHER.fullmatch(value):
        return ""
    meant = re.sub(r"[\s_]+", "-", value.strip().lower())
    close = f" (did you mean '{meant}'?)" if meant in HUB_LICENSES else nearest(meant, HUB_LICENSES)
    return f"the hub has no licence '{value}'{close}; for one that it has no name for: other:NAME (a-z, 0-9, . and -)"


def check_license(value: str) -> None:
    """Raise a UserError for a licence that cannot stand in a card."""
    if fault := license_fault(value):
        raise UserError(fault, fix="choose one from https://huggingface.co/docs/hub/repositories-licenses")


def license_fields(value: str) -> dict[str, str]:
    """Return the fields of a card's metadata that state a licence."""
    other = OTHER.fullmatch(value)
    return {"license": "other", "license_name": other[1]} if other else {"license": value}
