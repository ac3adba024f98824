"""Hangul that word processors of the 1990s kept in the private-use area (the Hanyang code), mapped to jamo."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import cast

from common.errors import UserError

_PRIVATE = re.compile("[\ue0bc-\uefff\uf100-\uf66e\uf784-\uf8f7]")
"""Where the Hanyang code has its 5,661 syllables and letters."""


def map_old_hangul(text: str) -> str:
    """Return `text` with Hangul of the Hanyang code as Unicode writes it: syllables where they exist, else jamo.

    Icons of web fonts have the same code points, so this is for texts that hold old Hangul.

    Raises:
        UserError: hypua2jamo is not installed.
    """
    return require_old_hangul()(text) if _PRIVATE.search(text) else text


@cache
def require_old_hangul() -> Callable[[str], str]:
    """Return the function that maps the Hanyang code; UserError where hypua2jamo is not installed."""
    try:
        from hypua2jamo import translate
    except ImportError:
        raise UserError(
            "hypua2jamo is not installed",
            "a source with corpus.clean.old_hangul needs its table of the Hanyang code",
            "pip install hypua2jamo",
        ) from None
    return cast("Callable[[str], str]", translate)
