"""Files whose content is damaged: read as far as they are whole, and quarantined from there on.

Damage is what decompressors and parsers say of the content. A failure of the disk or of the connection is none: it
says nothing of the content, ends the stage and is stored nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

from common.compressed import DAMAGE, EXPANDS, ExpandsTooFarError, compression_of
from common.errors import HunminError, UserError
from common.files import is_remote
from data.readers.transport import ReadFailedError, reason_of


class DamagedInputError(UserError):
    """A file whose content is broken, from some place on or as a whole; other files are none the worse for it.

    `reason` says what is broken, without the path.
    """

    def __init__(self, path: str, reason: str, fix: str = "", rule: str = "") -> None:
        super().__init__(
            f"{path} {reason}",
            rule or "an input is whole and readable",
            fix or "fetch or write the file again, or take it out of the inputs",
        )
        self.reason = reason

    def __reduce__(self) -> Any:
        return type(self), (self.problem.removesuffix(f" {self.reason}"), self.reason, self.fix, self.rule)


class UnfitInputError(DamagedInputError):
    """A file that its format, or what its source's settings say of it, does not fit: a table without the column.

    `columns` are the columns or fields that it has instead, `arrays` its arrays that may hold the records.
    """

    columns: Sequence[str] = ()
    arrays: Sequence[str] = ()


def _says_damage(error: Exception) -> bool:
    # kinds of EOFError are other things, such as a connection that ended; and bz2 has no exception of its own
    if isinstance(error, EOFError):
        return type(error) is EOFError
    return isinstance(error, DAMAGE) or (type(error) is OSError and error.args == ("Invalid data stream",))


class UntilDamage:
    """A binary stream that ends where its archive is damaged, cut, or expands too far; `damage` then says so."""

    def __init__(self, path: str, stream: IO[bytes]) -> None:
        self._path = path
        # one read of the archive at a time: what came before the damage is not lost with it
        self._read = getattr(stream, "read1", stream.read)
        self.damage: str | None = None

    def read(self, count: int) -> bytes:
        """Return at most `count` bytes; none at the end.

        Raises:
            OSError: the disk failed.
            ReadFailedError: the connection did.
        """
        if self.damage is not None:
            return b""
        try:
            return bytes(self._read(count))
        except Exception as error:  # a store's client raises what it likes
            if compression_of(self._path) and _says_damage(error):
                too_far = isinstance(error, ExpandsTooFarError)
                self.damage = EXPANDS if too_far else f"is damaged or cut short: {reason_of(error)}"
                return b""
            if is_remote(self._path) and not isinstance(error, HunminError):
                raise ReadFailedError(self._path, error) from None
            raise
