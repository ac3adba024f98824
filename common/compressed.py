"""Compressed files as streams of their content: told by name, truncation found, expansion bounded."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import zstandard

from common.errors import UserError

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""Suffixes of files that are decompressed as they are read, in small letters or capitals."""
ZSTD_MAX_WINDOW = 1 << 31
"""Largest zstd window accepted, in bytes: archives made with --long=27 to --long=31 open without a flag."""
MAX_EXPANSION, FREE_BYTES = 250, 256_000_000
"""A compressed file may give `FREE_BYTES` of content, and more of it up to so many times what was read of the file.
Texts and tables take a third to a fiftieth of their size; only files made to fill a machine take a thousandth."""
EXPANDS = f"expands to more than {MAX_EXPANSION} times its size"
FEED_BYTES = 1 << 11
"""Compressed bytes that zstd is given at once: 4 of them give 128 KB at most, so these give 64 MB."""
STORED_BYTES = 1 << 17
RATIO_SAMPLE_BYTES = 1 << 20


class ExpandsTooFarError(ValueError):
    """A compressed file gives more content than its size can stand for."""

    def __init__(self) -> None:
        super().__init__(EXPANDS)


def compression_of(path: str | Path) -> str | None:
    """Return which of `COMPRESSED` a file's name ends in, in small letters; None for none."""
    name = str(path)[-8:].lower()
    return next((suffix for suffix in COMPRESSED if name.endswith(suffix)), None)


def without_compression(name: str) -> str:
    """Return a name without the suffix of a compression."""
    suffix = compression_of(name)
    return name[: -len(suffix)] if suffix else name


def decompressed(name: str, raw: Any) -> IO[bytes]:
    """Return a stream of the content of `raw`, a stream of a file called `name` as it is stored.

    Reading raises EOFError or the decompressor's own error where it is damaged or cut, and `ExpandsTooFarError` where
    it gives too much: see `decompression_errors`.
    """
    suffix = compression_of(name)
    if suffix is None:
        return raw  # type: ignore[no-any-return]
    stored = _Counted(raw)
    return io.BufferedReader(_Bounded(_OPENERS[suffix](stored), stored), 1 << 20)


def _gzip(raw: Any) -> gzip.GzipFile:
    return gzip.GzipFile(fileobj=raw)


def compression_ratio(path: str | Path) -> float:
    """Return how many bytes of content a stored byte of a local file gives, by its beginning; 1 if that cannot tell."""
    try:
        with Path(path).open("rb") as stream:
            sample = stream.read(RATIO_SAMPLE_BYTES)
    except OSError:
        return 1.0
    count = 0
    with suppress(OSError, *DAMAGE):  # a sample ends in mid-stream
        content = decompressed(str(path), io.BytesIO(sample))
        while piece := content.read(1 << 16):
            count += len(piece)
    return count / len(sample) if count else 1.0


class _Counted:
    def __init__(self, raw: Any) -> None:
        self._raw, self.count = raw, 0

    def read(self, count: int = -1) -> bytes:
        piece: bytes = self._raw.read(count)
        self.count += len(piece)
        return piece

    def close(self) -> None:
        self._raw.close()


class _Bounded(io.RawIOBase):
    """A stream of content that ends in an error where it is too much for what was read of the file."""

    def __init__(self, content: Any, stored: _Counted) -> None:
        self._content = content
        self._stored = stored
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count: int = self._content.readinto1(buffer)
        self._count += count
        if self._count > FREE_BYTES and self._count > MAX_EXPANSION * self._stored.count:
            raise ExpandsTooFarError
        return count

    def close(self) -> None:
        if not self.closed:
            self._content.close()
            self._stored.close()
        super().close()


class _ZstdFile:
    """A zstd stream that reports truncation: zstandard's own reader takes a cut file for a finished one."""

    def __init__(self, raw: _Counted) -> None:
        self._raw = raw
        self._context = zstandard.ZstdDecompressor(max_window_size=ZSTD_MAX_WINDOW)
        self._object: Any = None
        self._pending = memoryview(b"")
        self._input = memoryview(b"")

    def readinto1(self, buffer: Any) -> int:
        """Fill the buffer with decompressed bytes and return how many; 0 at the end of the last whole frame."""
        while not self._pending:
            data = self._input or memoryview(self._raw.read(STORED_BYTES))
            if not data:
                if self._object is not None:
                    raise EOFError("the zstd stream ends before its end mark")
                return 0
            if self._object is None:
                self._object = self._context.decompressobj()
            self._pending = memoryview(self._object.decompress(data[:FEED_BYTES]))
            left = len(self._object.unused_data) if self._object.eof else 0
            self._input = data[min(FEED_BYTES, len(data)) - left :]
            if self._object.eof:
                self._object = None
        count = min(len(buffer), len(self._pending))
        buffer[:count] = self._pending[:count]
        self._pending = self._pending[count:]
        return count

    def close(self) -> None:
        self._pending = self._input = memoryview(b"")


_OPENERS: dict[str, Callable[[Any], Any]] = {
    ".gz": _gzip,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _ZstdFile,
}
DAMAGE = (EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, gzip.BadGzipFile, ExpandsTooFarError)
"""What decompressors raise of their data; bz2 raises an OSError, too."""


@contextmanager
def decompression_errors(path: str | Path) -> Iterator[None]:
    """Turn an archive that is damaged, cut short or expands too far into one clear error."""
    try:
        yield
    except DAMAGE as error:
        problem = EXPANDS if isinstance(error, ExpandsTooFarError) else f"is damaged or cut short: {error}"
        raise UserError(
            f"{path} {problem}",
            "a compressed input is read to its end",
            "fetch or compress the file again, or take it out of the recipe",
        ) from None
