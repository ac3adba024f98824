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
    "arrays": [np.arange(5), np.arange(12, dtype=np.uint8).reshape(3, 4), np.array(["가", "나"])],
    "order of the columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "not in a row": np.arange(20)[::3],
    "empty": [np.empty(0, np.int64), np.empty((0, 3)), np.arange(3)],
    "one number": np.array(7),
    "objects": np.array([None, "가"], object),
    "read only": np.frombuffer(b"1234", np.uint8),
    "a table": pa.table({"a": ["가", None], "b": [[1], []]}),
}


def through(value: Any, readers: int = 1) -> list[Any]:
    """Return what so many readers get, one after the other."""
    payload, received = Payload(value), []
    for _ in range(readers):
        ours, theirs = multiprocessing.Pipe()
        payload.send(ours)
        received.append(receive(theirs))
        ours.close()
        theirs.close()
    return received


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other) and one.flags.fnc == other.flags.fnc
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.mark.parametrize("name", VALUES)
def test_what_is_received_is_what_was_sent(name):
    value = VALUES[name]
    if name == "not in a row":
        value = value.copy()
    assert same(value, through(value)[0])


def test_an_array_that_is_not_in_a_row_arrives_in_one():
    assert np.array_equal(through(VALUES["not in a row"])[0], VALUES["not in a row"])


def test_arrays_can_be_written_to_and_stay_the_readers_own():
    value = {"a": np.zeros(100_000), "b": np.ones(3, np.uint8)}
    first, second = through(value, readers=2)
    first["a"][:] = 1
    first["b"][0] = 9
    assert not second["a"].any() and second["b"].all() and not value["a"].any()


def test_arrays_begin_at_a_cache_line():
    received = through([np.arange(n, dtype=np.uint8) for n in range(1, 70)])[0]
    assert all(array.ctypes.data % 64 == 0 for array in received)


def test_a_limit_on_files_is_one_clear_error(monkeypatch):
    class Limited(io.BytesIO):
        def write(self, part):
            raise OSError(errno.EFBIG, "File too large")

    monkeypatch.setattr(payload.os, "fdopen", lambda *_: Limited())
    with pytest.raises(DiskFullError, match="ulimit -f"):
        payload.Payload([1])
