"""Decontamination: exact, fast search for benchmark sentences in corpus sentences (BM25 containment and more)."""

from data.decontaminate.criteria import Criteria
from data.decontaminate.matcher import Decontaminator, Hit
from data.decontaminate.settings import NOT_DECONTAMINATED, DecontaminateSettings
from data.decontaminate.stored import stored_decontaminator

__all__ = ["NOT_DECONTAMINATED", "Criteria", "DecontaminateSettings", "Decontaminator", "Hit", "stored_decontaminator"]
