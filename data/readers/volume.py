"""Before reading: how large the input files are, how much text a compressed byte gives, and which version they are."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import xxhash

from common.compressed import compression_of, compression_ratio
from common.errors import HunminError
from common.files import HUB, is_remote, store_of, xxh3_file
from common.names import COMMIT
from data.readers.transport import ReadFailedError, Transport

HUB_SECONDS = 10.0
"""Seconds that the hub may take to name the version of a data set."""
SETTLED_SECONDS = 2.0
"""A file changed more recently may change again within one tick of its file system's clock."""


@dataclass(frozen=True)
class FileVersion:
    """The version of a file, which tells its contents apart without reading them.

    Args:
        facts: size, inode and times of change of a local file (the last of them cannot be set back by a program);
            what the store says of a remote one; None when nothing is known.
        settled: whether the facts would differ after any later change.
    """

    facts: list[Any] | None
    settled: bool


def file_version(path: str) -> FileVersion:
    """Return the version of a local file, a URL or a data set of the hub."""
    if path.startswith(HUB):
        return _hub_version(path)
    if path.startswith(("http://", "https://")):
        return _web_version(_ask_store(path, "info") or {})
    if is_remote(path):
        key = _ask_store(path, "ukey")
        return FileVersion(None, False) if key is None else FileVersion([key], True)
    try:
        status = Path(path).stat()
    except OSError:
        return FileVersion(None, False)
    facts = [status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns]
    return FileVersion(facts, time.time() - status.st_ctime > SETTLED_SECONDS)


def _web_version(said: dict[str, Any]) -> FileVersion:
    for header in ("ETag", "Content-MD5", "Digest"):
        if said.get(header):
            return FileVersion([said[header], said.get("size")], True)
    changed = said.get("Last-Modified")
    if not changed:  # a web server need not say when a file changed
        return FileVersion(None, False)
    try:
        settled = time.time() - parsedate_to_datetime(changed).timestamp() > SETTLED_SECONDS
    except ValueError:
        settled = False
    return FileVersion([changed, said.get("size")], settled)


def _hub_version(path: str) -> FileVersion:
    from huggingface_hub import HfApi
    from huggingface_hub.constants import HF_HUB_OFFLINE

    name = "/".join(path.removeprefix(HUB).partition("@")[0].split("/")[:2])
    revision = path.rpartition("@")[2]
    if COMMIT.fullmatch(revision):
        return FileVersion([revision], True)
    if HF_HUB_OFFLINE:
        return FileVersion(None, False)
    try:
        commit = HfApi().dataset_info(name, timeout=HUB_SECONDS).sha
    except Exception:  # the hub cannot be asked now; whoever reads the data set is told why
        return FileVersion(None, False)
    return FileVersion([commit], True) if commit else FileVersion(None, False)


def _ask_store(path: str, question: str, fresh: bool = True) -> Any:
    """Return the answer of the store of a remote file, None when it has none.

    `question` is a method of fsspec's file systems that takes a name; `fresh` asks the store, not the client's memory.
    """
    try:
        system, name = store_of(path)
        if fresh:
            system.invalidate_cache()
        return getattr(system, question)(name)
    except (NotImplementedError, OSError, ImportError, asyncio.TimeoutError):
        # the store keeps nothing of the kind; or the file is gone since it was listed or not allowed, or the store's
        # client is not installed: whoever reads the file is told so
        return None


def file_bytes(path: str) -> int | None:
    """Return a file's size as it is stored, None when it is not known before reading."""
    if is_remote(path):
        size = _ask_store(path, "size", fresh=False)
        return None if size is None else int(size)
    try:
        return Path(path).stat().st_size
    except OSError:
        return None


def content_hash(path: str) -> str:
    """Return the 128-bit xxh3 of a file's bytes as hex; of a remote one what the store says of its version, if it does.

    Raises:
        ReadFailedError: the store says nothing, and the file cannot be read.
    """
    if path.startswith(HUB) or not (is_remote(path) or Path(path).exists()):
        return repr(file_version(path).facts)
    if not is_remote(path):
        return xxh3_file(path)
    facts = file_version(path).facts
    if facts is not None:
        return repr(facts)
    try:
        system, name = store_of(path)
        stored = Transport(path, system.open(name, "rb"))
    except Exception as error:  # each file system raises what its own client does
        raise ReadFailedError(path, error) from None
    digest = xxhash.xxh3_128()
    with stored as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


ENDS_BYTES = 1 << 20
"""Bytes at the beginning and at the end of a file that its fingerprint covers."""


def fingerprint(path: str) -> str:
    """Return a fingerprint by which workers that read parts of a file know that it did not change.

    Of a local file that is its size, its time of change, and a hash of its beginning and its end, where formats of
    rows say what else is in them; also of what SQLite keeps beside it. Of a remote one see `content_hash`.
    """
    if is_remote(path):
        return content_hash(path)
    facts: list[Any] = []
    for name in (path, f"{path}-wal"):
        try:
            status = Path(name).stat()
        except OSError:
            continue
        if name == path or status.st_size:
            facts += [status.st_size, status.st_mtime_ns]
    digest = xxhash.xxh3_128(repr(facts).encode())
    with Path(path).open("rb") as stream:
        digest.update(stream.read(ENDS_BYTES))
        stream.seek(max(0, facts[0] - ENDS_BYTES))
        digest.update(stream.read(ENDS_BYTES))
    return digest.hexdigest()


def refuse_changed(path: str, before: str | FileVersion) -> None:
    """Raise HunminError where a file is not the one that reading began with.

    `before` is its `fingerprint` or `file_version` then; a version without facts tells nothing.
    """
    if isinstance(before, FileVersion):
        same = before.facts is None or file_version(path).facts == before.facts
    elif is_remote(path) and file_version(path).facts is None:
        same = True  # to read all of it again for each of its parts would take too long
    else:
        same = fingerprint(path) == before
    if not same:
        raise has_changed(path)


def has_changed(path: str) -> HunminError:
    """Return the error of a file that is another one than when reading began."""
    return HunminError(
        f"{path} has changed while it was read",
        "inputs stay as they are while a corpus is built",
        "run the same command again when the file is whole",
    )


class TextSize:
    """Estimates how many bytes of text files hold, for an expected end; compressed ones go by their beginning.

    Of each kind of compression `samples` files are looked into; the others are taken to be alike.
    """

    def __init__(self, samples: int = 8) -> None:
        self._samples = samples
        self._ratios: dict[str, list[float]] = {}

    def of(self, path: str) -> float | None:
        """Return the bytes of text in a file, about; None when its size is not known."""
        size = file_bytes(path)
        suffix = compression_of(path)
        if size is None or suffix is None or is_remote(path):
            return size if suffix is None else None
        known = self._ratios.setdefault(suffix, [])
        if len(known) < self._samples:
            known.append(compression_ratio(path))
            return size * known[-1]
        return size * sum(known) / len(known)
