"""The size of vocabulary that suits an amount of text.

Korean text of many kinds yields some 2,000 entries from 0.1 MB, 5,000 from 0.3 MB, 11,000 from 1 MB, 21,000 from 3 MB
and 31,000 from 6 MB (`min_pair_count` 2, measured); the last of them occur a few times. The sizes here are a third of
that or less.
"""

from __future__ import annotations

SIZES = ((0.3e6, 2_000), (3e6, 4_000), (20e6, 8_000), (100e6, 16_000))
"""Vocabularies for less than so many bytes of text."""
LARGEST = 32_000
"""Size for any more text: the paper's."""
SPARE = 2
"""Factor beyond the size that suits from which a vocabulary is reported as too large."""
LITTLE_TEXT = 20e6
"""Below so many bytes, characters that are seen less than 20 times are more than half a percent of a text, or of the
benchmark: of 6 MB of petitions, speeches and reviews, 3.4% of YNAT's."""


def fitting_size(text_bytes: float) -> int:
    """Return the entries of a vocabulary that suits a text of so many bytes."""
    return next((size for below, size in SIZES if text_bytes < below), LARGEST)


def fitting_character_count(text_bytes: float) -> int:
    """Return the `min_character_count` that suits a text of so many bytes."""
    return 5 if text_bytes < LITTLE_TEXT else 20


def is_too_large(vocab_size: int, text_bytes: float) -> bool:
    """Return whether a vocabulary is larger than a text of so many bytes can fill well."""
    return text_bytes < SIZES[-1][0] and vocab_size > SPARE * fitting_size(text_bytes)
