"""Lines of a stream: all of them whatever the chunks, at once when a pipe pauses, and none that fills the memory."""

import io
import os

from hypothesis import given
from hypothesis import strategies as st

from data.lines import line_batches


@given(st.binary(max_size=200).map(lambda raw: raw.replace(b"\x01", b"\n")), st.integers(1, 50))
def test_the_lines_are_those_of_the_stream_whatever_the_batches(content, batch_bytes):
    lines = [line for batch in line_batches(io.BytesIO(content), batch_bytes) for line in batch]
    assert lines == content.removesuffix(b"\n").split(b"\n") if content else lines == []


def test_a_pipe_that_pauses_gets_its_lines_handled():
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        batches = line_batches(stream, 1 << 20)
        os.write(writing, b"one\ntwo\nth")
        assert next(batches) == [b"one", b"two"]
        os.write(writing, b"ree\n")
        assert next(batches) == [b"three"]
        os.close(writing)
        assert list(batches) == []


def test_a_line_too_long_is_skipped_and_the_next_ones_are_not(monkeypatch):
    monkeypatch.setattr("data.lines.LINE_BYTES", 10)
    content = b"0123456789\n" + b"x" * 11 + b"\nshort\n" + b"y" * 1000 + b"\n\nlast" + b"z" * 40
    for batch_bytes in (1, 7, 5000):
        lines = [line for batch in line_batches(io.BytesIO(content), batch_bytes) for line in batch]
        assert lines == [b"0123456789", None, b"short", None, b"", None]
