"""The frozen files: archives beside this module, read and written out."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

from common.files import atomic_write
from hunmin.sample.decoder import write_decoder

SEED = 42
"""Of the generator that wrote the archives; the decoder's weights are drawn by it, too."""
COUNTS = "counts.json"
"""Member of an archive that holds its counts and is not written out."""


def sample_files(name: str = "sample") -> dict[str, bytes]:
    """Return path → bytes of an archive's files, in the order in which they were generated.

    Args:
        name: "sample" (corpora, truth, KLUE-like tasks) or "instruct" (instruction data sets, leaderboard tasks).
    """
    with tarfile.open(Path(__file__).with_name(f"{name}.tar.xz")) as archive:
        streams = ((member.name, archive.extractfile(member)) for member in archive)
        return {path: stream.read() for path, stream in streams if stream}


def write_sample(out: Path, instruct: bool = False) -> dict[str, int]:
    """Write the sample into the folder `out` and return its counts.

    Args:
        out: folder; created if missing, files of an earlier sample in it are replaced.
        instruct: the instruction sample, with a tiny decoder beside it; its weights and tokenizer are the same bytes
            for the same versions of torch, transformers and tokenizers.
    """
    files = sample_files("instruct" if instruct else "sample")
    counts: dict[str, int] = json.loads(files.pop(COUNTS))
    for path, content in files.items():
        with atomic_write(out / path, "wb") as stream:
            stream.write(content)
    if instruct:
        counts["parameters"] = write_decoder(out / "base", [content.decode() for content in files.values()], SEED)
    return counts
