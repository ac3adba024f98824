"""Names of the types of personal data: settings know them without the patterns, which take a second to compile."""

from __future__ import annotations

PII_TYPES: tuple[str, ...] = (
    "URL",
    "EMAIL",
    "MAC",
    "IP",
    "CARD",
    "RRN",
    "FRN",
    "DRIVER_LICENSE",
    "BRN",
    "TEL",
    "BANK_ACCOUNT",
    "PASSPORT",
    "HEALTH_INSURANCE",
    "VEHICLE_PLATE",
    "MENTION",
    "ADDRESS",
)
"""The types replaced by default, in the order in which they claim text: the first that takes a character keeps it."""
ON_REQUEST: tuple[str, ...] = ("NAME", "NICKNAME")
"""Types replaced only where the settings name them."""
