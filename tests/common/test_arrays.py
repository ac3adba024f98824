"""Arrays in files."""

import ast
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from common.arrays import map_array, save_array


def test_an_array_comes_back(tmp_path: Path) -> None:
    rows = np.array([(1, 2.5), (3, 4.5)], [("key", "<u8"), ("value", "<f4")])
    save_array(tmp_path / "rows.npy", rows)
    mapped = map_array(tmp_path / "rows.npy")
    assert mapped.dtype == rows.dtype and mapped.tolist() == [(1, 2.5), (3, 4.5)]
    assert not mapped.flags.writeable


def test_threads_read_one_header_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once end now and then in SystemError: Python counts the depth of all its syntax trees in one place."""
    save_array(tmp_path / "numbers.npy", np.arange(8))
    read, at_once, most = ast.literal_eval, threading.Semaphore(1), []

    def slow(text: str) -> object:
        most.append(at_once.acquire(blocking=False))
        time.sleep(0.01)
        if most[-1]:
            at_once.release()
        return read(text)

    monkeypatch.setattr(ast, "literal_eval", slow)
    with ThreadPoolExecutor(4) as pool:
        sums = list(pool.map(lambda _: int(map_array(tmp_path / "numbers.npy").sum()), range(16)))
    assert sums == [28] * 16
    assert len(most) == 16 and all(most), "two headers were read at once"


@pytest.mark.parametrize("bytes_left", [0, 5, 100, 130])
def test_a_cut_file_is_an_error_of_its_own(tmp_path: Path, bytes_left: int) -> None:
    path = tmp_path / "numbers.npy"
    save_array(path, np.arange(8))
    path.write_bytes(path.read_bytes()[:bytes_left])
    with pytest.raises((OSError, ValueError, EOFError)):
        map_array(path)
