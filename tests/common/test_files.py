"""Files: atomic writes, compression by name, truncation found, a full disk told, folders published whole."""

import bz2
import errno
import gzip
import lzma
import os
import stat
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest
import zstandard

from common.compressed import decompression_errors
from common.errors import DiskFullError, UserError
from common.files import (
    atomic_write,
    follow_umask,
    human_size,
    open_bytes,
    publish_folder,
    remove_leftovers,
    sha256_file,
)
from common.globs import expand

TEXT = "훈민정음 해례본\n".encode() * 50_000
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize(("mask", "mode"), [(0o027, 0o640), (0o002, 0o664), (0o077, 0o600)])
def test_files_have_the_mode_that_the_umask_leaves(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        for text in ("one", "two"):  # also of a file that is replaced
            with atomic_write(tmp_path / "made" / "a.json") as stream:
                stream.write(text)
        private = tmp_path / "b.safetensors"
        os.close(os.open(private, os.O_CREAT, 0o600))
        follow_umask(private)
        follow_umask()
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "made" / "a.json", private)} == {mode}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.safetensors", "made"]


@pytest.mark.parametrize("suffix", ["", *COMPRESS])
def test_reads_what_was_compressed(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(COMPRESS.get(suffix, bytes)(TEXT))
    with open_bytes(path) as stream:
        assert stream.read() == TEXT
    with open_bytes(path) as stream:
        assert [*stream][7].decode() == "훈민정음 해례본\n"


def test_reads_several_zstd_frames_and_long_windows(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=27, enable_ldm=True)
    frames = [zstandard.ZstdCompressor(compression_params=parameters).compress(TEXT) for _ in range(3)]
    (tmp_path / "a.zst").write_bytes(b"".join(frames))
    with open_bytes(tmp_path / "a.zst") as stream:
        assert stream.read() == TEXT * 3


@pytest.mark.parametrize("suffix", list(COMPRESS))
@pytest.mark.parametrize("share", [0.5, 0.99])
def test_a_truncated_archive_is_one_clear_error(tmp_path: Path, suffix: str, share: float) -> None:
    import random

    content = random.Random(0).randbytes(500_000)
    packed = COMPRESS[suffix](content)
    path = tmp_path / f"a{suffix}"
    path.write_bytes(packed[: int(len(packed) * share)])
    with pytest.raises(UserError, match="damaged or cut short"), decompression_errors(path), open_bytes(path) as stream:
        stream.read()


def test_reads_urls() -> None:
    with fsspec.open("memory://corpus/a.txt.gz", "wb") as stream:
        stream.write(gzip.compress(TEXT))
    assert expand("memory://corpus/*.gz") == ["memory:///corpus/a.txt.gz"]
    with open_bytes("memory://corpus/a.txt.gz") as stream:
        assert stream.read() == TEXT


def test_urls_of_folders_and_of_unknown_systems() -> None:
    import fsspec

    for name in ("b.txt", "sub/a.txt", ".hidden"):
        with fsspec.open(f"memory://folder/{name}", "wb") as stream:
            stream.write(TEXT)
    assert expand("memory://folder") == ["memory:///folder/b.txt", "memory:///folder/sub/a.txt"]
    with pytest.raises(UserError, match="nothing found"):
        expand("memory://folder/none*")
    with pytest.raises(UserError, match="cannot list nosuch://x"):
        expand("nosuch://x/y.txt")


def test_expand_names_files_folders_and_globs(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", ".hidden", "sub/c.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    names = [Path(p).name for p in expand(str(tmp_path))]
    assert names == ["a.txt", "b.txt", "c.txt"]
    assert [Path(p).name for p in expand(f"{tmp_path}/*.txt")] == ["a.txt", "b.txt"]
    with pytest.raises(UserError, match="nothing found"):
        expand(f"{tmp_path}/*.json")


def test_files_in_hidden_folders_are_left_out(tmp_path: Path) -> None:
    top = tmp_path / ".data"  # what is asked for by name may be hidden itself
    for name in ("a.txt", "sub/b.txt", ".git/description", "sub/.cache/huggingface/c.metadata", ".d"):
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        with fsspec.open(f"memory://hidden/.data/{name}", "wb") as stream:
            stream.write(b"x")
    assert expand(str(top)) == [str(top / "a.txt"), str(top / "sub/b.txt")]
    assert expand("memory://hidden/.data") == ["memory:///hidden/.data/a.txt", "memory:///hidden/.data/sub/b.txt"]


@pytest.mark.parametrize("name", ["x" * 300, "~nobody-of-this-name/x"])
def test_a_name_that_no_file_can_have_is_one_clear_error(name: str) -> None:
    with pytest.raises(UserError, match="cannot look for"):
        expand(name)


@pytest.mark.parametrize(
    ("fault", "error", "said"),
    [
        (RuntimeError("a fault"), RuntimeError, "a fault"),
        *((OSError(number, "no space"), DiskFullError, "disk is full") for number in (errno.ENOSPC, errno.EDQUOT)),
    ],
)
def test_a_failed_write_leaves_the_old_content_and_no_litter(
    fault: Exception, error: type[Exception], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(error, match=said), atomic_write(path) as stream:
        stream.write("new")
        raise fault
    assert path.read_text() == "old" and [*tmp_path.iterdir()] == [path]


def test_publish_replaces_a_folder_as_a_whole(tmp_path: Path) -> None:
    for name, content in (("final", "old"), ("partial", "new")):
        (tmp_path / name).mkdir()
        (tmp_path / name / content).write_text(content)
    with pytest.raises(OSError, match="not empty"):
        publish_folder(tmp_path / "partial", tmp_path / "final")
    assert (tmp_path / "final" / "old").exists() and (tmp_path / "partial" / "new").exists()
    publish_folder(tmp_path / "partial", tmp_path / "final", replace=True)
    assert [p.name for p in tmp_path.iterdir()] == ["final"]
    assert [p.name for p in (tmp_path / "final").iterdir()] == ["new"]


def test_sizes_and_hashes(tmp_path: Path) -> None:
    assert [human_size(n) for n in (512, 1400, 62_650_000_000)] == ["512 B", "1.4 KB", "62.6 GB"]
    (tmp_path / "a").write_bytes(b"abc")
    assert sha256_file(tmp_path / "a").startswith("ba7816bf")


def test_what_killed_writers_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in (".a.txt.x1.tmp", "deep/.b.json.y2.tmp", "a.txt", "deep/b.tmp", ".hidden"):
        (tmp_path / name).touch()
    (tmp_path / "deep" / ".model.z3.tmp").mkdir()
    (tmp_path / "deep" / ".model.z3.tmp" / "weights").touch()
    remove_leftovers(tmp_path)
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["b.tmp"]
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == [".hidden", "a.txt", "b.tmp"]
