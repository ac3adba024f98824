"""What reaches a worker is what was sent, arrays of every shape among it, and stays its own."""

import errno
import io
import multiprocessing
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from common.errors import DiskFullError
from data.executors import payload
from data.executors.payload import Payload, receive

VALUES = {
    "no array": {"a": [1, "가"], "b": b"\0" * 100},
    "order of the columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "read only": np.frombuffer(b"1234", np.uint8),
    "one number": np.array(7),
    "objects": np.array([None, "가"], object),
    "arrays": [np.arange(12, dtype=np.uint8).reshape(3, 4), np.array(["가"]), np.empty((0, 3)), np.arange(3)],
    "a table": pa.table({"a": ["가", None], "b": [[1], []]}),
}


def through(value: Any, readers: int = 1) -> list[Any]:
    """Return what so many readers get, one after the other."""
    payload, received = Payload(value), []
    for _ in range(readers):
        ours, theirs = multiprocessing.Pipe()
        payload.send(ours)
        received.append(receive(theirs))
    return received


def same(value: Any, other: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype == other.dtype and np.array_equal(value, other) and value.flags.fnc == other.flags.fnc
    return all(map(same, value, other)) if isinstance(value, list) else bool(value == other)


def test_what_is_received_is_what_was_sent():
    for name, value in VALUES.items():
        assert same(value, through(value)[0]), name
    gapped = np.arange(20)[::3]
    assert np.array_equal(gapped, through(gapped)[0])


def test_arrays_can_be_written_to_stay_the_readers_own_and_begin_at_a_cache_line():
    sent = [np.zeros(n, np.uint8) for n in range(1, 70)]
    first, second = through(sent, readers=2)
    for array in first:
        array[:] = 1
    assert not any(array.any() for array in (*second, *sent))
    assert all(array.ctypes.data % 64 == 0 for array in first)


def test_a_limit_on_files_is_one_clear_error(monkeypatch):
    class Limited(io.BytesIO):
        def write(self, part):
            raise OSError(errno.EFBIG, "File too large")

    monkeypatch.setattr(payload.os, "fdopen", lambda *_: Limited())
    with pytest.raises(DiskFullError, match="ulimit -f"):
        payload.Payload([1])
