"""Remote files: read again after a passing failure, and a failure that lasts told from damage of the content."""

from __future__ import annotations

import io
import time
from typing import IO, Any

from common.errors import HunminError

WAITS = (1.0, 5.0)
"""Seconds before a read that failed is tried again, as often as there are numbers here."""


class ReadFailedError(HunminError):
    """A file could not be read to its end for a reason that lies not in it: nothing is known of its content."""

    def __init__(self, path: str, error: BaseException | str) -> None:
        self._arguments = path, error if isinstance(error, str) else reason_of(error)
        super().__init__(
            f"cannot read {path}: {self._arguments[1]}",
            "an input is read to its end; where the connection or the disk fails, the stage does",
            "run the same command again when it is back: what is done is kept",
        )

    def __reduce__(self) -> Any:
        return type(self), self._arguments


def reason_of(error: BaseException) -> str:
    """Return one line that says what went wrong, never an empty one."""
    said = getattr(error, "strerror", None) or str(error)
    return next(iter(str(said).strip().splitlines()), "") or type(error).__name__


class Transport(io.RawIOBase):
    """A stream of a remote file whose failures are `ReadFailedError`s, after some more attempts where it can seek."""

    mode = "rb"

    def __init__(self, path: str, stream: IO[bytes]) -> None:
        self._path = path
        self._stream = stream

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        """Return whether it can be read from any place; a web server's answer of unknown length only says so."""
        return bool(self._stream.seekable()) and getattr(self._stream, "size", 0) is not None

    def tell(self) -> int:
        return int(self._stream.tell())

    def seek(self, offset: int, whence: int = 0) -> int:
        try:
            return int(self._stream.seek(offset, whence))
        except Exception as error:  # each store raises what its own client does
            raise ReadFailedError(self._path, error) from None

    def read(self, size: int | None = -1) -> bytes:
        place = self.tell() if self.seekable() else None
        for wait in (*WAITS, None):
            try:
                return bytes(self._stream.read(-1 if size is None else size))
            except Exception as error:
                if wait is None or place is None:
                    raise ReadFailedError(self._path, error) from None
            time.sleep(wait)
            self.seek(place)
        raise AssertionError

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()
