"""The types of personal data, in the order in which they claim text: the first that takes a character keeps it."""

from data.pii.types.accounts import EMAIL, MENTION
from data.pii.types.address import ADDRESS
from data.pii.types.base import PiiType
from data.pii.types.identity import DRIVER_LICENSE, FRN, HEALTH_INSURANCE, PASSPORT, RRN
from data.pii.types.money import BANK_ACCOUNT, BRN, CARD
from data.pii.types.names import NAME
from data.pii.types.network import IP, MAC, URL
from data.pii.types.nicknames import NICKNAME
from data.pii.types.telephone import TEL
from data.pii.types.vehicle import VEHICLE_PLATE

TYPES: tuple[PiiType, ...] = (
    URL,
    EMAIL,
    MAC,
    IP,
    CARD,
    RRN,
    FRN,
    DRIVER_LICENSE,
    BRN,
    TEL,
    BANK_ACCOUNT,
    PASSPORT,
    HEALTH_INSURANCE,
    VEHICLE_PLATE,
    MENTION,
    ADDRESS,
)
"""The types replaced by default."""
ON_REQUEST: tuple[PiiType, ...] = (NAME, NICKNAME)
"""Types replaced only where the settings name them."""
BY_NAME: dict[str, PiiType] = {kind.name: kind for kind in (*TYPES, *ON_REQUEST)}
PII_TYPES: tuple[str, ...] = tuple(kind.name for kind in TYPES)
"""Names of the types replaced by default, in the order in which they claim text."""

__all__ = ["BY_NAME", "ON_REQUEST", "PII_TYPES", "TYPES", "PiiType"]
