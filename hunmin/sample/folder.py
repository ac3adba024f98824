"""`hunmin sample`: the embedded sample as a finished folder, written once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import publish_folder, remove_folder
from common.manifest import Manifest, describe_outputs, missing_outputs, package_versions, read_manifest, write_manifest
from common.progress import say
from hunmin.sample.files import SEED, write_sample

STAGE = "sample"


def make_sample(out: Path, instruct: bool = False) -> dict[str, Any]:
    """Write the sample, or the one of `instruct`, into `out` unless the same one is there, and return its counts.

    Raises:
        UserError: `out` holds something else.
    """
    settings = {"seed": SEED} | ({"instruct": True} if instruct else {})
    manifest = read_manifest(out)
    current = package_versions("hunmin", *(("torch", "transformers", "tokenizers") if instruct else ()))
    own = manifest is not None and manifest.stage == STAGE
    if manifest and own and manifest.settings == settings and manifest.versions == current:
        if not missing_outputs(out, manifest):
            say(f"sample     done ({out})", style="green")
            return manifest.counts
    elif not own and out.exists() and any(out.iterdir()):
        raise UserError(
            f"{out} holds something else", "a sample is written to a folder of its own", "give another --out"
        )
    temporary = out.with_name(f".{out.name}.partial")
    remove_folder(temporary)
    temporary.mkdir(parents=True)
    counts = write_sample(temporary, instruct)
    outputs = describe_outputs(temporary)
    write_manifest(
        temporary,
        Manifest(stage=STAGE, settings=settings, inputs={}, outputs=outputs, counts=counts, versions=current),
    )
    publish_folder(temporary, out, replace=own)
    return counts
