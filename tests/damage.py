"""One bit of a file, as a disk loses it."""

from __future__ import annotations

from pathlib import Path


def flip(path: Path) -> None:
    """Flip a bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def tree(folder: Path) -> dict[str, bytes]:
    """Return file → bytes of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
