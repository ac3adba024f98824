"""Importing this module warms up a process before workers are forked from it.

It runs one document through a unit, which loads compiled code and what libraries import at their first use.
"""

from pathlib import Path

from data.cleaning.settings import CleanSettings
from data.decontaminate.matcher import Decontaminator
from data.deduplicate.settings import DeduplicateSettings
from data.filters.chain import build_filters
from data.filters.settings import BARE_KINDS, FilterSettings
from data.pii.type_names import PII_TYPES
from data.readers.records import Document
from data.units.work import UnitState, UnitWork

_nothing = Decontaminator.build([])
_filters = build_filters([FilterSettings.model_validate({kind: {}, "drop": False}) for kind in BARE_KINDS])
"""The filters that are compiled."""
_work = UnitWork(Path(), CleanSettings(), _nothing, b"no key", tuple(PII_TYPES), DeduplicateSettings(), _filters)
_document = Document("id", "source", "", "훈민정음은 글자이다. 백성을 가르치는 바른 소리이다.")
UnitState(_work).process([_document], CleanSettings())
