"""The types of personal data, each with its pattern; `data.pii.type_names` says which are replaced, in which order."""

from data.pii.types import accounts, address, identity, money, names, network, telephone, vehicle
from data.pii.types.base import PiiType

_MODULES = (accounts, address, identity, money, names, network, telephone, vehicle)
BY_NAME = {kind.name: kind for module in _MODULES for kind in vars(module).values() if isinstance(kind, PiiType)}

__all__ = ["BY_NAME", "PiiType"]
