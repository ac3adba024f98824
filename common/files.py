"""Files: atomic writes, published folders, transparent compression, remote paths through fsspec, hashes."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import io
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import islice, product
from pathlib import Path
from typing import IO, Any
from unicodedata import normalize

import xxhash

from common.compressed import decompressed, without_compression
from common.errors import DiskFullError, UserError
from common.output import MaskedFile, other_encoding
from common.secrets import MASK, masked_urls

CONNECT_SECONDS, ANSWER_SECONDS = 30.0, 60.0
"""Seconds that a web server may take until it is reached, and between two pieces of an answer."""
HUB = "hf:"
"""What paths of data sets on the hub begin with."""
MADE_BY = ".made-by"
"""File in a folder that a user named and a command continues in: the kind of its content (`common.destinations`)."""

MOST_FORMS = 1024
"""Most spellings of a path that are tried: three for each of its names that are not ASCII."""


def is_remote(path: str | Path) -> bool:
    """Return whether the path is a URL that fsspec opens (s3://, gs://, https://, memory://)."""
    return "://" in str(path)


def other_locale(name: str | Path) -> str:
    """Return what to do where a name may not be found because this process takes names in another encoding; else ""."""
    encoding = "" if str(name).isascii() else other_encoding()
    return encoding and (
        f"names of files are UTF-8, and the locale's encoding is {encoding}: set LC_ALL=C.UTF-8 or PYTHONUTF8=1"
    )


def stored(path: str | Path) -> Path:
    """Return a local path with its names composed or decomposed as the file system has them, else as given."""
    return next((form for form in map(Path, forms(str(path))) if form.exists()), Path(path))


def forms(pattern: str) -> list[str]:
    """Return the ways in which file systems may write a name: macOS decomposes the Hangul that keyboards compose."""
    if pattern.isascii() or Path(pattern).exists():
        return [pattern]
    parts = [dict.fromkeys([part, *(normalize(form, part) for form in ("NFC", "NFD"))]) for part in pattern.split("/")]
    return ["/".join(chosen) for chosen in islice(product(*parts), MOST_FORMS)]


def unreachable(action: str, url: str, error: Exception) -> UserError:
    """Return an error for a URL that cannot be listed or opened (`action`), secrets and stack left out."""
    if MASK in url:
        return UserError(
            f"cannot {action} {url}: what logs in there is masked",
            "a run's folder holds no passwords and signatures",
            "give the recipe that the run was begun with, or the URL again as key=value",
        )
    return UserError(
        f"cannot {action} {url}: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
        "a URL is one that fsspec opens",
        "check the URL, the network, your access, and that its package is installed (aiohttp and requests for "
        "https://, s3fs for s3://, gcsfs for gs://)",
    )


def stem(path: str) -> str:
    """Return a file's name, composed (NFC), without its folder, compression suffix and format suffix."""
    if path.startswith(HUB):
        return path.removeprefix(HUB).split("@", 1)[0].replace("/", "-")
    name = normalize("NFC", without_compression(path.rstrip("/").rsplit("/", 1)[-1]))
    return name.rsplit(".", 1)[0] if "." in name[1:] else name


def suffix_of(path: str) -> str:
    """Return a file's format suffix in lower case, without the compression suffix."""
    return Path(without_compression(path).lower()).suffix


def open_file(path: str | Path) -> IO[bytes]:
    """Open a local file for reading. Raises UserError for a pipe or a device, which would be waited for, unless the
    system names it (/dev/stdin)."""
    return open(path, "rb", opener=_opened)


def _opened(name: str, flags: int) -> int:
    descriptor = os.open(name, flags | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or str(name).startswith(("/dev/", "/proc/"))):
        os.close(descriptor)
        raise UserError(f"{name} is a pipe or a device", "files are read", "name a file, or move it away")
    os.set_blocking(descriptor, True)
    return descriptor


def read_bytes(path: str | Path) -> bytes:
    """Return what a local file holds; see `open_file`."""
    with open_file(path) as stream:
        return stream.read()


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
        raw = _open_remote(name) if is_remote(name) else open_file(stored(name))
    except OSError as error:
        raise UserError(f"cannot open {name}: {error.strerror or error}", "inputs are readable files") from None
    return decompressed(name, carry(name, raw) if carry and is_remote(name) else raw)


def store_of(url: str) -> tuple[Any, str]:
    """Return the fsspec file system of a URL and the name that the file has there.

    Web servers that stop answering are given up after `CONNECT_SECONDS` and `ANSWER_SECONDS`; clients of other stores
    have limits of their own.
    """
    import fsspec

    options: dict[str, Any] = {}
    if url.startswith(("http://", "https://")):
        import aiohttp

        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=ANSWER_SECONDS)
        options["client_kwargs"] = {"timeout": limits}
    system, name = fsspec.core.url_to_fs(url, **options)
    return system, str(name)


def _open_remote(url: str) -> Any:
    try:
        system, name = store_of(url)
        return system.open(name, "rb")
    except Exception as error:  # each file system raises what its own client does
        raise unreachable("open", url, error) from None


@contextmanager
def disk_errors(path: str | Path) -> Iterator[None]:
    """Turn "no space left", "quota exceeded" and "file too large" into one clear error that says what stays intact."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise DiskFullError(
                f"files may not be as large here: could not write {path}",
                "what was finished before stays intact",
                "raise the limit (ulimit -f unlimited) or use another file system, and run the same command again",
            ) from None
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFullError(
                f"the disk is full: could not write {path}",
                "what was finished before stays intact",
                "free some space and run the same command again",
            ) from None
        raise


@contextmanager
def atomic_write(
    path: str | Path, mode: str = "w", as_given: bool = False, before: Callable[[], None] = lambda: None
) -> Iterator[IO[Any]]:
    """Open a temporary file beside `path`; on a clean exit fsync it and rename it to `path`, else remove it.

    Args:
        path: of the file.
        mode: "w" for UTF-8 text, in which secrets told by their form are masked, or "wb".
        as_given: write text that is no message unmasked: documents, predictions, vocabularies.
        before: called before the rename; where it raises, `path` keeps what it held.

    Raises:
        DiskFullError: no space is left; `path` keeps what it held before.
    """
    path = Path(path)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            with temporary.open("xb") as stream:  # its mode is the umask's
                with text_stream(stream, as_given) if mode == "w" else nullcontext(stream) as taking:
                    yield taking
                stream.flush()
                os.fsync(stream.fileno())
            before()
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        fsync_folder(path.parent)


@contextmanager
def text_stream(stream: IO[bytes], as_given: bool = False) -> Iterator[io.TextIOWrapper]:
    """Yield a UTF-8 text stream that writes into one of bytes, which stays open; see `atomic_write`."""
    text = (io.TextIOWrapper if as_given else MaskedFile)(stream, encoding="utf-8")
    yield text
    text.flush()
    text.detach()


def write_text(path: str | Path, text: str) -> None:
    """Write a text file as `atomic_write` does."""
    with atomic_write(path) as stream:
        stream.write(text)


def append_line(path: str | Path, line: str) -> None:
    """Append a line of UTF-8 text to a log, secrets masked. Raises DiskFullError where there is no space."""
    with disk_errors(path), Path(path).open("ab") as stream:
        stream.write(f"{masked_urls(line)}\n".encode())


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
    """Remove files and folders that a killed command left half-written in a folder; nobody may be writing there."""
    for path in list(Path(folder).rglob(".*.tmp")):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def fsync_files(folder: Path) -> None:
    """Make the contents of all files below a folder durable, and the names in it."""
    for path in folder.rglob("*"):
        if path.is_file() or path.is_dir():
            _fsync(path)
    fsync_folder(folder)


def fsync_folder(folder: str | Path) -> None:
    """Make the names in a folder durable."""
    with suppress(OSError):
        _fsync(folder)


def _fsync(path: str | Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish_folder(temporary: str | Path, final: str | Path, replace: bool = False) -> None:
    """Give a finished folder its final name, after making its files durable.

    What is replaced goes in the same moment, where the system exchanges names at once (Linux, macOS); elsewhere it
    keeps its bytes, under a hidden name, until the new one has the name.

    Args:
        temporary: the finished folder, on the same file system.
        final: its name.
        replace: a folder of that name is this program's own, and goes; else only an empty one may be there.

    Raises:
        OSError: without `replace`, something else has the name.
        DiskFullError: no space; both folders stay.
    """
    temporary, final = Path(temporary), Path(final)
    old: Path | None = None
    with disk_errors(final):
        fsync_files(temporary)
        if replace and final.exists():
            old = temporary if _exchange(temporary, final) else free_name(final.with_name(f".{final.name}.old"))
        if old is None:
            temporary.rename(final)  # onto an empty folder, too
        elif old is not temporary:
            final.rename(old)
            try:
                temporary.rename(final)
            except OSError:
                with suppress(OSError):
                    old.rename(final)
                raise
        fsync_folder(final.parent)
    if old is not None:
        remove_folder(old)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange the names of two paths in one step, and return whether the system and the file system can."""
    library = ctypes.CDLL(None, use_errno=True)
    call = getattr(library, "renameat2", None) or getattr(library, "renameatx_np", None)
    # folders' descriptors take no part in absolute paths; 2 is RENAME_EXCHANGE, and RENAME_SWAP on macOS
    return call is not None and call(0, os.fsencode(first.absolute()), 0, os.fsencode(second.absolute()), 2) == 0


def free_name(path: Path) -> Path:
    """Return `path`, or the first of path-2, path-3 … that nothing has yet."""
    number, free = 1, path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free


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
    with open_file(path) as stream:
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
