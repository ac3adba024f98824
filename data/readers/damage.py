"""Files whose content is damaged: read as far as they are whole, and set aside from there on."""

from __future__ import annotations

import gzip
import lzma
import zlib
from typing import IO

import zstandard

from common.errors import UserError


class DamagedInputError(UserError):
    """A file whose content is broken, from some place on or as a whole; other files are none the worse for it.

    Args:
        path: the file.
        reason: what is broken, without the path.
        remedy: what the user can do.
    """

    def __init__(self, path: str, reason: str, remedy: str = "") -> None:
        super().__init__(
            f"{path} {reason}",
            "an input is whole and readable",
            remedy or "fetch or write the file again, or take it out of the inputs",
        )
        self.reason = reason

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        """Return what it is made of again in another process."""
        return type(self), (self.problem.removesuffix(f" {self.reason}"), self.reason, self.remedy)


class UntilDamage:
    """A binary stream that ends where its archive is damaged or cut; `damage` then says how.

    Args:
        stream: a stream of decompressed content.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        # one read of the archive at a time: what came before the damage is not lost with it
        self._read = getattr(stream, "read1", stream.read)
        self.damage: str | None = None

    def read(self, count: int) -> bytes:
        """Return at most `count` bytes; none at the end.

        Raises:
            OSError: the disk or the connection failed.
        """
        if self.damage is not None:
            return b""
        try:
            return bytes(self._read(count))
        except (EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, gzip.BadGzipFile) as error:
            self.damage = str(error)
        except OSError as error:
            if error.errno is not None:
                raise
            self.damage = str(error)  # what bz2 says of damaged data
        return b""
