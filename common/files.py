"""Files: atomic writes, published folders, transparent compression, remote paths through fsspec, hashes."""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import io
import lzma
import os
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import xxhash
import zstandard

from common.errors import DiskFullError, UserError
from common.secrets import MASK

ZSTD_MAX_WINDOW = 1 << 31
"""Largest zstd window accepted, in bytes: archives made with --long=27 to --long=31 open without a flag."""


COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""Suffixes of files that are decompressed as they are read."""
HUB = "hf:"
"""What paths of data sets on the hub begin with."""
RATIO_SAMPLE_BYTES = 1 << 20


def is_remote(path: str | Path) -> bool:
    """Return whether the path is a URL that fsspec opens (s3://, gs://, https://, memory://)."""
    return "://" in str(path)


def expand(pattern: str) -> list[str]:
    """Return the files a path, folder (its files, none hidden or in a hidden folder) or glob stands for, sorted.

    Raises:
        UserError: nothing is there, or the name is none that a file can have.
    """
    try:
        found = _found(pattern)
    except (OSError, ValueError, RuntimeError) as error:  # too long, with a zero byte, of an unknown ~user
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"cannot look for {pattern[:100]!r}: {reason}", "an input path names files") from None
    if not found:
        raise UserError(
            f"nothing found at {pattern}",
            "an input path names a file, a folder or a glob with files",
            "check the path: it is relative to the folder that the command is started in",
        )
    return sorted(found)


def _found(pattern: str) -> list[str]:
    if is_remote(pattern):
        return [pattern] if pattern.startswith(("http://", "https://")) else _expand_remote(pattern)
    path = Path(pattern).expanduser()
    if path.is_dir():
        return [str(p) for p in path.rglob("*") if not _is_hidden(str(p.relative_to(path))) and p.is_file()]
    if path.exists():
        return [str(path)]
    import glob

    return [p for p in glob.glob(str(path), recursive=True) if Path(p).is_file()]


def _is_hidden(relative: str) -> bool:
    return any(part.startswith(".") for part in relative.split("/"))


def _expand_remote(pattern: str) -> list[str]:
    """Return the files a URL of a file, folder or glob stands for."""
    import fsspec

    protocol = pattern.split("://", 1)[0]
    try:
        system, path = fsspec.core.url_to_fs(pattern)
        if system.isdir(path):
            names = [name for name in system.find(path) if not _is_hidden(name.removeprefix(path).lstrip("/"))]
        else:
            names = [n for n in system.glob(path) if not _is_hidden(n.rsplit("/", 1)[-1]) and system.isfile(n)]
    except Exception as error:  # each file system raises what its own client does
        raise _unreachable("list", pattern, error) from None
    return [f"{protocol}://{name}" for name in names]


def _unreachable(what: str, url: str, error: Exception) -> UserError:
    if MASK in url:
        return UserError(
            f"cannot {what} {url}: what logs in there is masked",
            "a run's folder holds no passwords and signatures",
            "give the recipe that the run was begun with, or the URL again as key=value",
        )
    return UserError(
        f"cannot {what} {url}: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
        "a URL is one that fsspec opens",
        "check the URL, the network, your access, and that its package is installed (aiohttp and requests for "
        "https://, s3fs for s3://, gcsfs for gs://)",
    )


def stem(path: str) -> str:
    """Return a file's name without its folder, compression suffix and format suffix."""
    if path.startswith(HUB):
        return path.removeprefix(HUB).split("@", 1)[0].replace("/", "-")
    name = path.rstrip("/").rsplit("/", 1)[-1]
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    return name.rsplit(".", 1)[0] if "." in name[1:] else name


def suffix_of(path: str) -> str:
    """Return a file's format suffix in lower case, without the compression suffix."""
    name = path.lower()
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    return Path(name).suffix


def open_bytes(path: str | Path, carry: Callable[[str, IO[bytes]], Any] | None = None) -> IO[bytes]:
    """Return a readable binary stream of the *decompressed* content (.gz, .bz2, .xz, .zst by name; local or URL).

    Args:
        path: a file or URL.
        carry: takes a URL and the stream of its bytes as they are stored, and returns the stream to read instead.

    Raises:
        UserError: the file is missing or unreadable. A truncated or damaged archive raises on reading:
            wrap the reading in `decompression_errors`.
    """
    name = str(path)
    try:
        raw = _open_remote(name) if is_remote(name) else Path(name).open("rb")
    except OSError as error:
        raise UserError(f"cannot open {name}: {error.strerror or error}", "inputs are readable files") from None
    return _decompressed(name, carry(name, raw) if carry and is_remote(name) else raw)


def _open_remote(url: str) -> Any:
    """Return a readable binary stream of what a URL names.

    Raises:
        UserError: it cannot be reached or read.
    """
    import fsspec

    try:
        return fsspec.open(url, "rb").open()
    except Exception as error:  # each file system raises what its own client does
        raise _unreachable("open", url, error) from None


def compression_ratio(path: str | Path) -> float:
    """Return how many bytes of content a stored byte of a local file gives, by its beginning; 1 if that cannot tell."""
    try:
        with Path(path).open("rb") as stream:
            sample = stream.read(RATIO_SAMPLE_BYTES)
    except OSError:
        return 1.0
    count = 0
    with suppress(EOFError, OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError):  # a sample ends in mid-stream
        content = _decompressed(str(path), io.BytesIO(sample))
        while piece := content.read(1 << 16):
            count += len(piece)
    return count / len(sample) if count else 1.0


def _decompressed(name: str, raw: Any) -> IO[bytes]:
    if name.endswith(".gz"):
        return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
    if name.endswith(".bz2"):
        return bz2.BZ2File(raw)
    if name.endswith(".xz"):
        return lzma.LZMAFile(raw)
    if name.endswith(".zst"):
        return io.BufferedReader(_ZstdFile(raw), 1 << 20)
    return raw


def open_zstd_from(path: str | Path, start: int, end: int) -> IO[bytes]:
    """Return a stream of the content of a local zstd file's frames from byte `start`, where one begins, to `end`."""
    raw = Path(path).open("rb")
    raw.seek(start)
    return io.BufferedReader(_ZstdFile(_Bounded(raw, end - start)), 1 << 20)  # type: ignore[arg-type]


class _Bounded:
    """A stream that ends after so many bytes."""

    def __init__(self, raw: IO[bytes], left: int) -> None:
        self._raw, self._left = raw, left

    def read(self, count: int) -> bytes:
        found = self._raw.read(min(count, self._left))
        self._left -= len(found)
        return found

    def close(self) -> None:
        self._raw.close()


class _ZstdFile(io.RawIOBase):
    """A zstd stream that reports truncation: zstandard's own reader takes a cut file for a finished one."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._context = zstandard.ZstdDecompressor(max_window_size=ZSTD_MAX_WINDOW)
        self._object: Any = None
        self._pending = memoryview(b"")
        self._input = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with decompressed bytes and return how many; 0 at the end of the last whole frame."""
        while not self._pending:
            data = self._input or self._raw.read(1 << 17)
            self._input = b""
            if not data:
                if self._object is not None:
                    raise EOFError("the zstd stream ends before its end mark")
                return 0
            if self._object is None:
                self._object = self._context.decompressobj()
            self._pending = memoryview(self._object.decompress(data))
            if self._object.eof:
                self._input, self._object = self._object.unused_data, None
        count = min(len(buffer), len(self._pending))
        buffer[:count] = self._pending[:count]
        self._pending = self._pending[count:]
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


@contextmanager
def decompression_errors(path: str | Path) -> Iterator[None]:
    """Turn a truncated or damaged archive into one clear error."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, gzip.BadGzipFile) as error:
        raise UserError(
            f"{path} is damaged or cut short: {error}",
            "a compressed input is read to its end",
            "fetch or compress the file again, or take it out of the recipe",
        ) from None


@contextmanager
def disk_errors(path: str | Path) -> Iterator[None]:
    """Turn "no space left" and "quota exceeded" into one clear error that says what stays intact."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFullError(
                f"the disk is full: could not write {path}",
                "what was finished before stays intact",
                "free some space and run the same command again",
            ) from None
        raise


@contextmanager
def atomic_write(path: str | Path, mode: str = "w", **kwargs: Any) -> Iterator[IO[Any]]:
    """Open a temporary file beside `path`; on a clean exit fsync it and rename it to `path`, else remove it.

    Raises:
        DiskFullError: no space is left; `path` keeps what it held before.
    """
    path = Path(path)
    if "b" not in mode:
        kwargs.setdefault("encoding", "utf-8")
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            with temporary.open(mode.replace("w", "x"), **kwargs) as stream:  # its mode is the umask's
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        fsync_folder(path.parent)


def follow_umask(*paths: Path) -> None:
    """Give files of one folder the mode that `open` creates files with there: safetensors makes its own 0600.

    Args:
        paths: files, in a folder that may be written to.
    """
    if not paths:
        return
    probe = paths[0].with_name(f".{secrets.token_hex(4)}.tmp")
    with probe.open("xb") as stream:
        mode = os.fstat(stream.fileno()).st_mode & 0o777
    probe.unlink()
    for path in paths:
        path.chmod(mode)


def remove_leftovers(folder: str | Path) -> None:
    """Remove what `atomic_write` left anywhere in a folder when it was killed; nobody may be writing there."""
    for path in Path(folder).rglob(".*.tmp"):
        if path.is_file():
            path.unlink(missing_ok=True)


def fsync_folder(folder: str | Path) -> None:
    """Make the names in a folder durable."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def publish_folder(temporary: str | Path, final: str | Path, replace: bool = False) -> None:
    """Give a finished folder its final name, after making its files durable.

    At every moment a whole folder is there: what is replaced keeps its bytes, under a hidden name, until the new one
    has the name.

    Args:
        temporary: the finished folder, on the same file system.
        final: its name.
        replace: a folder of that name is this program's own, and goes; else only an empty one may be there.

    Raises:
        UserError: without `replace`, something else has the name.
        DiskFullError: no space; both folders stay.
    """
    temporary, final = Path(temporary), Path(final)
    old: Path | None = None
    with disk_errors(final):
        for file in temporary.rglob("*"):
            if file.is_file():
                descriptor = os.open(file, os.O_RDONLY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
        if replace and final.exists():
            old = free_name(final.with_name(f".{final.name}.old"))
            final.rename(old)
        try:
            temporary.rename(final)  # onto an empty folder, too
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            raise UserError(
                f"{final} holds something else", "a result never replaces what is not its own", "give another name"
            ) from None
        fsync_folder(final.parent)
    if old is not None:
        remove_folder(old)


def free_name(path: Path) -> Path:
    """Return `path`, or the first of path-2, path-3 … that nothing has yet."""
    number, found = 1, path
    while os.path.lexists(found):
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found


def remove_folder(path: Path) -> None:
    """Remove a folder of this program's own, as far as that is allowed; of a link only the link."""
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)


def sha256_file(path: str | Path) -> str:
    """Return the SHA-256 of a local file's bytes as 64 hex digits."""
    return hash_file(path, hashlib.sha256())[0]


def xxh3_file(path: str | Path) -> str:
    """Return the 128-bit xxh3 of a local file's bytes as 32 hex digits: fast, but no guard against forgers."""
    return hash_file(path, xxhash.xxh3_128())[0]


def hash_file(path: str | Path, *digests: Any) -> list[str]:
    """Return the hex digits of several hashes of a local file's bytes, which are read once."""
    with Path(path).open("rb", buffering=0) as stream:
        while block := stream.read(1 << 20):
            for digest in digests:
                digest.update(block)
    return [str(digest.hexdigest()) for digest in digests]


def human_size(count: float) -> str:
    """Return a byte count for people: 512 B, 1.4 KB, 62.7 GB (decimal units)."""
    for unit in ("B", "KB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
