"""Postal addresses: a head, which says where a building is, and a tail, which says where in it."""

from __future__ import annotations

from data.pii.types.address.head import EVIDENCE, GATE, PATTERN, check
from data.pii.types.address.pseudonym import make, normalise
from data.pii.types.base import PiiType

ADDRESS = PiiType("ADDRESS", PATTERN, GATE, make, check=check, normalise=normalise, evidence=EVIDENCE)
