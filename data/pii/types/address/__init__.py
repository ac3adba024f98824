"""Postal addresses: a head, which says where a building is, and a tail, which says where in it.

* `words`: the dictionary, every word that the grammar knows;
* `head`: regions, roads, lots and towns, with the number of a house;
* `tail`: buildings, units and their numbers, whatever joins them;
* `spaced`: addresses whose letters stand apart;
* `pseudonym`: invented names and numbers in the shape of the original.
"""

from __future__ import annotations

from data.pii.types.address.head import EVIDENCE, GATE, PATTERN, check
from data.pii.types.address.pseudonym import make, normalise
from data.pii.types.base import PiiType

ADDRESS = PiiType("ADDRESS", PATTERN, GATE, make, check=check, normalise=normalise, evidence=EVIDENCE)
