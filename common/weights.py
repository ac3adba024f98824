"""Weights in files of safetensors: what their headers say, and whether every value is finite."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from common.files import open_file

EXPONENTS = {
    "F64": ("<u8", 0x7FF << 52),
    "F32": ("<u4", 0x7F800000),
    "BF16": ("<u2", 0x7F80),
    "F16": ("<u2", 0x7C00),
    "F8_E5M2": ("<u1", 0x7C),
    "F8_E4M3": ("<u1", 0x7F),
}
"""Type of weights → unsigned numbers of its size, and the bits that are all set in NaN and infinities alone."""
PIECE = 1 << 18
"""Values that are looked at together: so many stay in a processor's cache."""


def check_header(path: Path) -> None:
    """Check that a file's header fits its bytes; no weight is read.

    Raises:
        ValueError: the file is cut short, or its header does not describe it.
        OSError: it cannot be read.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with open_file(path), safe_open(path, framework="np"):
            pass
    except SafetensorError as error:
        raise ValueError(str(error)) from None


def first_not_finite(path: Path) -> str:
    """Return the name of a file's first tensor that holds NaN or infinity; "" where all values are finite.

    Args:
        path: a file whose header `check_header` has read.
    """
    return next(_not_finite(path), "")


def _not_finite(path: Path) -> Iterator[str]:
    with open_file(path) as stream:
        size = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(size))
    for name, tensor in header.items():
        start, end = tensor.get("data_offsets", (0, 0))
        if name == "__metadata__" or start == end or tensor["dtype"] not in EXPONENTS:
            continue
        kind, bits = EXPONENTS[tensor["dtype"]]
        count = (end - start) // np.dtype(kind).itemsize
        values = np.memmap(path, kind, "r", 8 + size + start, count)
        mask = values.dtype.type(bits)
        if any((values[at : at + PIECE] & mask).max() == mask for at in range(0, count, PIECE)):
            yield name
