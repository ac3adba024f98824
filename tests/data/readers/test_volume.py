"""Sizes and versions of input files."""

import gzip
import os

import pytest

from data.readers.volume import TextSize, content_hash, file_bytes, file_version


def test_a_change_that_keeps_size_and_time_is_another_version(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one")
    facts = path.stat()
    before = file_version(str(path))
    path.write_text("two")
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert path.stat().st_mtime_ns == facts.st_mtime_ns
    assert file_version(str(path)).facts != before.facts


def test_a_fresh_file_is_not_settled_and_an_old_one_is(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("one")
    assert not file_version(str(path)).settled
    monkeypatch.setattr("data.readers.volume.time.time", lambda: path.stat().st_ctime + 5)
    assert file_version(str(path)).settled


def test_what_is_not_there_or_says_nothing_has_no_version(tmp_path):
    for path in (str(tmp_path / "none"), "hf:someone/text", "https://example.org/a.txt"):
        assert file_version(path).facts is None
    assert file_bytes(str(tmp_path / "none")) is None
    assert file_bytes("hf:someone/text") is None


def test_a_remote_file_has_a_version_that_changes_with_it():
    import fsspec

    with fsspec.open("memory://volume/a.txt", "wb") as stream:
        stream.write(b"one")
    before = file_version("memory://volume/a.txt")
    assert before.facts and file_bytes("memory://volume/a.txt") == 3
    with fsspec.open("memory://volume/a.txt", "wb") as stream:
        stream.write(b"three")
    assert file_version("memory://volume/a.txt").facts != before.facts


@pytest.mark.parametrize("error", [NotImplementedError(), PermissionError("no"), FileNotFoundError("gone")])
def test_a_store_that_does_not_say_or_refuses_gives_no_version_and_no_size(monkeypatch, error):
    from fsspec.implementations.memory import MemoryFileSystem

    def refuse(*_):
        raise error

    monkeypatch.setattr(MemoryFileSystem, "size", refuse)
    monkeypatch.setattr(MemoryFileSystem, "ukey", refuse)
    assert file_version("memory://volume/a.txt").facts is None
    assert file_bytes("memory://volume/a.txt") is None


def test_a_fault_of_the_program_is_not_taken_for_a_silent_store(monkeypatch):
    from fsspec.implementations.memory import MemoryFileSystem

    def broken(*_):
        raise ValueError("a fault")

    monkeypatch.setattr(MemoryFileSystem, "ukey", broken)
    with pytest.raises(ValueError, match="a fault"):
        file_version("memory://volume/a.txt")


def test_the_hash_is_of_the_content(tmp_path):
    for name, text in (("a", "x"), ("b", "x"), ("c", "y")):
        (tmp_path / name).write_text(text)
    a, b, c = (content_hash(str(tmp_path / name)) for name in "abc")
    assert a == b != c


def test_text_in_compressed_files_is_estimated_from_their_beginning(tmp_path, monkeypatch):
    text = "".join(f"{n} 번째 줄입니다.\n" for n in range(100_000)).encode()
    (tmp_path / "a.txt").write_bytes(text)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text))
    monkeypatch.setattr("common.compressed.RATIO_SAMPLE_BYTES", 1 << 16)
    size = TextSize(samples=1)
    assert size.of(str(tmp_path / "a.txt")) == len(text)
    assert size.of(str(tmp_path / "a.txt.gz")) == pytest.approx(len(text), rel=0.2)
    (tmp_path / "b.gz").write_bytes(b"not looked into")
    assert size.of(str(tmp_path / "b.gz")) == pytest.approx(
        15 * len(text) / (tmp_path / "a.txt.gz").stat().st_size, rel=0.2
    )
    assert size.of(str(tmp_path / "none.gz")) is None
