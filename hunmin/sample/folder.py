"""`hunmin sample`: the embedded sample as a finished folder, written once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from common.destinations import new_folder
from common.manifest import (
    Manifest,
    damaged_outputs,
    describe_outputs,
    made_by,
    package_versions,
    read_manifest,
    write_manifest,
)
from common.progress import say
from hunmin.sample.files import SEED, write_sample

STAGE = "sample"


def make_sample(out: Path, instruct: bool = False) -> dict[str, Any]:
    """Write the sample, or the one of `instruct`, into `out` unless the same one is there, and return its counts.

    Raises:
        UserError: `out` holds something else, or a sample in which something was changed or added.
    """
    settings = {"seed": SEED} | ({"instruct": True} if instruct else {})
    current = package_versions("hunmin", *(("torch", "transformers", "tokenizers") if instruct else ()))
    manifest = read_manifest(out) if made_by(out, STAGE) else None
    same = manifest and manifest.settings == settings and manifest.versions == current
    if manifest and same and not damaged_outputs(out, manifest):
        say(f"sample     done ({out})", style="green")
        return manifest.counts
    with new_folder(out, STAGE) as folder:
        counts = write_sample(folder, instruct)
        outputs = describe_outputs(folder)
        write_manifest(
            folder,
            Manifest(stage=STAGE, settings=settings, inputs={}, outputs=outputs, counts=counts, versions=current),
        )
    return counts
