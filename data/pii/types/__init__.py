"""The types of personal data, each with its pattern."""

from data.pii.type_names import PII_TYPES
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

_ALL = (
    *(URL, EMAIL, MAC, IP, CARD, RRN, FRN, DRIVER_LICENSE, BRN, TEL, BANK_ACCOUNT, PASSPORT, HEALTH_INSURANCE),
    *(VEHICLE_PLATE, MENTION, ADDRESS, NAME, NICKNAME),
)
BY_NAME: dict[str, PiiType] = {kind.name: kind for kind in _ALL}
TYPES: tuple[PiiType, ...] = tuple(BY_NAME[name] for name in PII_TYPES)
"""The types replaced by default, in the order in which they claim text."""

__all__ = ["BY_NAME", "TYPES", "PiiType"]
