"""Connections that fail: tried again, then a failure of the stage; never damage, and never kept."""

import gzip
import io
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.exceptions import FSTimeoutError
from fsspec.implementations.memory import MemoryFileSystem

from common.errors import HunminError
from data.readers.damage import DamagedInputError
from data.readers.transport import ReadFailedError, Transport
from data.readers.volume import content_hash, file_version, fingerprint

from ..building import OFF, build, listed, rows, settings
from .reading import COMPRESS, read, texts

TEXTS = [f"{n}번 글이 여기에 있고, 뒤에는 {n * n}이라는 수가 있다." for n in range(60_000)]


class Faults:
    """How many of the reads that come fail, and with what; -1: all of them. The first of a file are spared."""

    left = 0
    spared = 1
    error: BaseException = FSTimeoutError()


class FlakyFile(io.BytesIO):
    reads = 0

    def read(self, size: int | None = -1) -> bytes:
        self.reads += 1
        if Faults.left and self.reads > Faults.spared:
            Faults.left -= 1
            raise Faults.error
        return super().read(size)

    read1 = read


class FlakyFileSystem(MemoryFileSystem):
    """Files in memory behind a connection that fails."""

    protocol = "flaky"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.removeprefix("flaky://").strip("/")

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        return FlakyFile(self.store[path].getvalue()) if mode == "rb" else super()._open(path, mode, **options)

    def ukey(self, path: str) -> str:
        return "the same"


@pytest.fixture
def flaky(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[FlakyFileSystem]]:
    fsspec.register_implementation("flaky", FlakyFileSystem, clobber=True)
    monkeypatch.setattr("data.readers.transport.WAITS", (0.0, 0.0))
    Faults.left, Faults.spared, Faults.error = 0, 1, FSTimeoutError()
    yield FlakyFileSystem
    FlakyFileSystem.store.clear()


def put(name: str, content: bytes) -> str:
    with fsspec.open(f"flaky://in/{name}", "wb") as stream:
        stream.write(content)
    return f"flaky://in/{name}"


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_timeout_ends_the_stage_and_nothing_of_it_is_kept(
    flaky: object, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = put(f"a.txt{suffix}", COMPRESS[suffix]("\n".join(TEXTS).encode()))
    monkeypatch.setattr(Faults, "left", -1)
    with pytest.raises(HunminError, match=r"cannot read flaky://.*in/a\.txt") as caught:
        build(settings(url, pii=OFF, unit_mb=0.5), tmp_path / "out")
    assert "FSTimeoutError" in str(caught.value)
    monkeypatch.setattr(Faults, "left", 0)
    build(settings(url, pii=OFF, unit_mb=0.5), tmp_path / "out")
    assert len(rows(tmp_path / "out")) == len(TEXTS) and listed(tmp_path / "out") == []


ERRORS = [OSError("connection reset"), ConnectionResetError(104, "reset"), RuntimeError("payload"), EOFError("closed")]


@pytest.mark.parametrize(("suffix", "error"), zip([*COMPRESS, ".parquet"], [*ERRORS, *ERRORS[1:3]], strict=True))
def test_what_passes_is_tried_again_and_what_stays_is_no_damage(
    flaky: object, suffix: str, error: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if suffix == ".parquet":
        pq.write_table(pa.table({"text": TEXTS}), tmp_path / "a.parquet", row_group_size=20_000)
        url = put("a.parquet", (tmp_path / "a.parquet").read_bytes())
    else:
        url = put(f"a.txt{suffix}", COMPRESS[suffix]("\n".join(TEXTS).encode()))
    monkeypatch.setattr(Faults, "error", error)
    monkeypatch.setattr(Faults, "left", 2)
    assert texts(read(url)) == TEXTS and Faults.left == 0
    monkeypatch.setattr(Faults, "left", -1)
    with pytest.raises(ReadFailedError) as caught:
        read(url)
    assert not isinstance(caught.value, DamagedInputError) and error.args[-1] in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (ReadFailedError, str(caught.value))


def test_a_stream_that_cannot_go_back_is_not_tried_again(flaky: object, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = FlakyFile(b"abc")
    monkeypatch.setattr(stream, "seekable", lambda: False)
    monkeypatch.setattr(Faults, "left", 1)
    reader = Transport("x://a", stream)
    assert reader.read(1) == b"a"
    with pytest.raises(ReadFailedError, match="cannot read x://a: FSTimeoutError"):
        reader.read(1)


def test_a_cut_remote_archive_is_damaged_still(flaky: object) -> None:
    packed = gzip.compress("\n".join(TEXTS).encode())
    url = put("a.txt.gz", packed[: len(packed) // 2])
    with pytest.raises(DamagedInputError, match="is damaged or cut short: Compressed file ended"):
        read(url)


def test_a_remote_file_of_unknown_version_is_known_by_its_content(
    flaky: type[FlakyFileSystem], monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(*_: object) -> str:
        raise NotImplementedError

    monkeypatch.setattr(FlakyFileSystem, "ukey", silent)
    urls = [put("a.bin", b"one"), put("b.bin", b"two"), put("c.bin", b"one")]
    assert file_version(urls[0]).facts is None
    first, second, same = map(content_hash, urls)
    assert first == same != second and "None" not in (first, second)
    assert fingerprint(urls[0]) == first


def test_a_fingerprint_needs_no_reading_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data.readers.volume.xxh3_file", None)
    path = tmp_path / "a.bin"
    with path.open("wb") as stream:
        stream.seek(3 << 30)
        stream.write(b"end")  # a file of three gigabytes, none of them on the disk
    first = fingerprint(str(path))
    assert fingerprint(str(path)) == first
    with path.open("r+b") as stream:
        stream.seek(3 << 30)
        stream.write(b"END")
    assert fingerprint(str(path)) != first
    Path(f"{path}-wal").write_bytes(b"more rows")
    assert fingerprint(str(path)) not in (first,)
