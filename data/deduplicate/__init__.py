"""Repeated documents, near copies, paragraphs and sentences: keys made in the units, survivors chosen in the assembly.

* `exact` gives texts 128-bit keys and says which keys an earlier text had;
* `equal_documents` says the same of the documents of a corpus of any size, by tasks of an executor;
* `near` gives documents MinHash signatures, `cluster` decides which of those with like signatures go, and `near_copies`
  finds them in a corpus of any size, by tasks of an executor;
* `groups` are the parts as those tasks see them, `tables` and `copies` their files, `report` says which document went
  for which;
* `sides` are the files of keys that a unit leaves beside its part, `decide` reads them and says what stays.
"""

from data.deduplicate.exact import keys_of
from data.deduplicate.settings import DeduplicateSettings

__all__ = ["DeduplicateSettings", "keys_of"]
