"""Inputs that are damaged or do not fit their settings: read as far as possible and listed; too many end the stage."""

from __future__ import annotations

from common.errors import UserError
from common.progress import say

SHOWN = 20
"""Files named in the message that ends the stage."""


class TooManyDamagedError(UserError):
    """More inputs are damaged or unfit than may be."""


class Quarantine:
    """The inputs that were found damaged or unfit so far.

    Args:
        share: how many of them may be damaged, 0 … 1; of several at least one may, unless it is 0.
    """

    def __init__(self, files: int, share: float) -> None:
        self._files = files
        self._share = share
        self._most = max(int(share * files), 1 if share and files > 1 else 0)
        self._reasons: dict[str, str] = {}

    def add(self, path: str, reason: str, tell: bool = True) -> None:
        """Add a file, unless it is in already, and with `tell` print it; TooManyDamagedError beyond `share` of them."""
        if path in self._reasons:
            return
        self._reasons[path] = reason
        if tell:
            say(f"quarantined from there on: {path} {reason}", style="yellow")
        if len(self._reasons) > self._most:
            named = [f"  - {name} {why}" for name, why in self._reasons.items()]
            more = [f"  - and {len(named) - SHOWN} more"] if len(named) > SHOWN else []
            raise TooManyDamagedError(
                f"{len(named)} of {self._files} inputs are damaged or do not fit their settings:\n"
                + "\n".join(named[:SHOWN] + more),
                f"corpus.max_bad_file_share = {self._share:.1%} allows {self._most} of {self._files}",
                "download or write them again, fix their format or text_field, remove them from corpus.inputs, or "
                "raise corpus.max_bad_file_share; finished work is kept",
            )
