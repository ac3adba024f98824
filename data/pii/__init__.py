"""Detection and keyed pseudonymisation of 16 types of Korean personal data."""

from data.pii.apply import Pseudonymizer, Replacement
from data.pii.detect import Span, find_many, find_spans
from data.pii.names import refuse_personal_labels, refuse_personal_names
from data.pii.settings import PiiSettings, key_fingerprint, resolve_key
from data.pii.types import PII_TYPES

__all__ = [
    "PII_TYPES",
    "PiiSettings",
    "Pseudonymizer",
    "Replacement",
    "Span",
    "find_many",
    "find_spans",
    "key_fingerprint",
    "refuse_personal_labels",
    "refuse_personal_names",
    "resolve_key",
]
