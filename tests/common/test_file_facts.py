"""What reading files has shown is kept while they are the same, by size, times and inode."""

import os
from pathlib import Path

import pytest

from common import file_facts
from common.file_facts import file_fact


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The reads of files, in an empty cache whose files are settled at once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(file_facts, "SETTLED", -1)
    return []


def fact(path: Path, read: list[str], name: str = "content") -> str:
    def look(path: Path) -> str:
        read.append(path.name)
        return path.read_text()

    return file_fact(path, name, look)


def test_a_file_is_read_once_until_it_changes(read: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one")
    assert [fact(path, read) for _ in range(3)] == ["one"] * 3 and read == ["a"]
    assert fact(path, read, "another") == "one" and fact(path, read) == "one" and read == ["a", "a"]
    times = path.stat()
    path.write_text("two")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a copy with its times has it: the inode's time tells
    assert fact(path, read) == "two" and len(read) == 3
    (tmp_path / "b").write_text("six")
    (tmp_path / "b").replace(path)
    assert fact(path, read) == "six" and len(read) == 4
    (tmp_path / "link").symlink_to(path)
    assert fact(tmp_path / "link", read) == "six" and len(read) == 4


def test_a_file_that_was_just_written_is_read_again(
    read: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second change within a tick of the file system's clock leaves size and times as they are."""
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a").write_text("one")
    assert fact(tmp_path / "a", read) == fact(tmp_path / "a", read) == "one" and len(read) == 2


@pytest.mark.parametrize("content", ["", "[]", "{", "[" * 100_000, '{"a": 1}', '{"a": {"state": 1}}'])
def test_a_damaged_cache_is_no_cache(content: str, read: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache" / "hunmin").mkdir(parents=True)
    (tmp_path / "cache" / "hunmin" / "files.json").write_text(content)
    (tmp_path / "a").write_text("one")
    assert [fact(tmp_path / "a", read) for _ in range(2)] == ["one"] * 2 and read == ["a"]


def test_a_cache_that_cannot_be_written_is_none(
    read: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "a").write_text("one")
    assert [fact(tmp_path / "a", read) for _ in range(2)] == ["one"] * 2 and len(read) == 2
