"""Inputs and outputs of the pipe commands: "-" is a standard stream; a file appears whole or not at all.

The commands end as Unix filters do: silently, with 141 when nobody reads their output any more, 130 on Ctrl-C.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

import typer

from common.compressed import compression_of, decompression_errors
from common.errors import EXIT_INTERRUPTED, UserError
from common.files import open_bytes
from common.globs import expand
from common.progress import print_json, say

EXIT_NO_READER = 141
"""128 + SIGPIPE: what a shell reports of a program whose reader went away."""


@contextmanager
def end_as_filters_do() -> Iterator[None]:
    """Turn a reader that is gone and Ctrl-C into an exit code without a word."""
    try:
        yield
        if sys.stdout:
            sys.stdout.flush()
    except BrokenPipeError:
        # what is still in the buffer has nowhere to go; without this the interpreter complains at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(EXIT_NO_READER) from None
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None


def report(counts: dict[str, Any], as_json: bool, out: str) -> None:
    """Print what a command counted: on a terminal or where lines were rejected one line, as JSON when asked for.

    Args:
        as_json: one JSON object; on stdout, or on stderr where stdout carries the lines.
    """
    if as_json:
        print_json(counts, sys.stderr if out == "-" else sys.stdout, indent=None)
    elif sys.stderr.isatty() or counts["rejects"]:
        say(", ".join(f"{name} {value:,}" for name, value in _flat(counts)))


def _flat(counts: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, int]]:
    for name, value in counts.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}: ")
        else:
            yield f"{prefix}{name}", value


def files_of(path: str) -> list[str]:
    """Return the files that a path, pattern or folder stands for; "-" stands for itself."""
    return [path] if path == "-" else expand(path)


@contextmanager
def open_input(path: str) -> Iterator[IO[bytes]]:
    """Open one file, URL or "-" for reading bytes, decompressed by its name.

    Raises:
        UserError: nothing is there, it stands for several files, or standard input is closed.
    """
    if path == "-":
        yield _standard_input()
        return
    files = files_of(path)
    if len(files) > 1:
        raise UserError(
            f"{path} stands for {len(files)} files",
            "--in names one file, or - for standard input",
            "put them into one stream: zstd -dc FILES | hunmin corpus …  (or zcat, cat)",
        )
    with decompression_errors(path), open_bytes(files[0]) as stream:
        yield stream


def _standard_input() -> IO[bytes]:
    if sys.stdin is None:
        raise UserError("standard input is closed", "--in names a file, or - for standard input", "give --in FILE")
    if sys.stdin.buffer.isatty():
        say("reading JSON Lines from the terminal; Ctrl-D ends them (--in FILE reads a file)")
    return sys.stdin.buffer


@contextmanager
def open_output(
    path: str, kind: bytes, overwrite: bool = False, inputs: Sequence[str | Path] = ()
) -> Iterator[IO[bytes]]:
    """Open a path or "-" for writing bytes, compressed by its name (.gz .bz2 .xz .zst).

    Args:
        path: of the file.
        kind, overwrite, inputs: of `common.destinations.OutputFile`.

    Raises:
        UserError: as `OutputFile`, or standard output is closed.
    """
    if path == "-":
        if sys.stdout is None:
            raise UserError("standard output is closed", "--out names a file, or - for standard output")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    from common.destinations import OutputFile

    file = OutputFile(Path(path), kind, overwrite, inputs)
    with file.open("wb") as stream, _compressed(stream, compression_of(file.path) or "") as written:
        yield written


@contextmanager
def _compressed(stream: IO[bytes], suffix: str) -> Iterator[Any]:
    """Yield a stream that compresses into `stream` as the suffix says, and leaves it open."""
    if suffix == ".zst":
        import zstandard

        with zstandard.ZstdCompressor().stream_writer(stream, closefd=False) as compressed:
            yield compressed
        return
    made: Any = {
        ".gz": lambda: gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0),
        ".bz2": lambda: bz2.BZ2File(stream, "wb"),
        ".xz": lambda: lzma.LZMAFile(stream, "wb"),
    }.get(suffix, lambda: nullcontext(stream))()
    with made as written:
        yield written
