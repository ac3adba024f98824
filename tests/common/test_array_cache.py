"""Arrays are made once for a key; a damaged file, or a cache that cannot be used, costs time and nothing else."""

import multiprocessing
import os
import stat
from pathlib import Path

import numpy as np
import pytest
import xxhash

from common.array_cache import MOST, load_arrays, store_arrays
from common.lock import LOCK, locked

KINDS = {
    "numbers": np.arange(7, dtype=np.uint64) << np.uint64(60),
    "table": np.arange(6, dtype=np.float32).reshape(2, 3),
    "flags": np.array([True, False]),
    "nothing": np.empty(0, np.int32),
    "scalar": np.asarray(np.int64(-5)),
}


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "hunmin/arrays"


def made(key: str = "k") -> bool:
    """Return whether the arrays had to be made; what the cache holds are the same ones."""
    arrays = load_arrays(key)
    if arrays is None:
        store_arrays(key, KINDS)
        return True
    assert list(arrays) == list(KINDS)
    for name, array in KINDS.items():
        assert arrays[name].dtype == array.dtype and arrays[name].shape == array.shape
        assert arrays[name].tolist() == array.tolist()
        assert arrays[name].flags.writeable and arrays[name].flags.aligned  # code is compiled for such arrays
    return False


def stored(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file() and path.name != LOCK)


def test_arrays_are_made_once_and_for_this_user_alone(folder: Path) -> None:
    assert [made() for _ in range(3)] == [True, False, False]
    assert made("other") and not made("other") and not made()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE((folder / name).stat().st_mode) for name in stored(folder)} == {0o600}


def test_any_damage_is_seen(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made()
    whole = (folder / "k").read_bytes()
    cut = [whole[:end] for end in (0, 8, 16, 17, len(whole) // 2, len(whole) - 1)]
    flipped = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(0, len(whole), 7)]
    for content in (*cut, *flipped, whole + b"\0"):
        (folder / "k").write_bytes(content)
        assert made() and "is damaged" in capsys.readouterr().err
        assert (folder / "k").read_bytes()[:16] == whole[:16] and not made()
    (folder / "other").write_bytes(whole)  # whole, and of another key
    assert made("other") and "other is damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    "head", [b"", b"[", b"\xff", b"[" * 100_000, b'[["a","|O",[1]]]', b'[["a","<i8",[9999]]]', b"[1]"]
)
def test_a_hash_that_fits_makes_no_content_whole(head: bytes, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made()
    rest = len(head).to_bytes(8, "little") + head + b"12345678"
    (folder / "k").write_bytes(xxhash.xxh3_128_digest(b"k" + rest) + rest)
    assert made() and "is damaged" in capsys.readouterr().err and not made()


def test_nothing_is_written_beside_another_command_or_taken_from_another_user(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with locked(folder):
        assert made() and stored(folder) == []
    assert made() and not made()
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    assert load_arrays("k") is None


def test_without_an_absolute_place_there_is_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setattr(Path, "home", no_home)
    assert made() and made() and not [*tmp_path.iterdir()]


@pytest.mark.parametrize("place", ["file", "read-only"])
def test_a_cache_that_cannot_be_written_is_none(place: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    if place == "file":
        folder.parent.write_text("")
    else:  # root may write to any folder
        folder.mkdir(parents=True)
        monkeypatch.setattr("common.array_cache.atomic_write", refuse)
    assert made() and made()


def test_the_sets_used_last_stay(folder: Path) -> None:
    for number in range(MOST):
        made(str(number))
        os.utime(folder / str(number), (number, number))
    (folder / ".0.1234.tmp").write_bytes(b"left by a killed command")
    os.utime(folder / ".0.1234.tmp", (0, 0))
    (folder / "of-the-user").mkdir()
    assert not made("0")
    made("new")
    assert stored(folder) == ["0", *map(str, range(2, MOST)), "new"] and (folder / "of-the-user").is_dir()


def write(barrier, number: int) -> None:  # type: ignore[no-untyped-def]
    barrier.wait(30)
    store_arrays("k", {"a": np.full(200_000, number)})


def test_two_processes_that_write_at_once_leave_one_whole_file(folder: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    processes = [context.Process(target=write, args=(barrier, number)) for number in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert stored(folder) == ["k"]
    arrays = load_arrays("k")
    assert arrays is not None and arrays["a"].tolist() in ([0] * 200_000, [1] * 200_000)
