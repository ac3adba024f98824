"""`hunmin verify`: whether the files of a run hold the bytes that its stages wrote."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import nullcontext
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from common.current import write_current
from common.errors import HunminError, UserError
from common.files import human_size, sha256_file
from common.lock import locked
from common.manifest import (
    MANIFEST,
    WORK_MARK,
    Manifest,
    damaged_outputs,
    describe_outputs,
    manifest_text,
    read_manifest,
    write_manifest,
)
from common.model_files import MEASURED, READ, home_of, read_config
from common.noted_manifest import noted_manifest
from common.once import with_lineage
from common.progress import ProgressBar, console
from common.stage_folders import CURRENT_FOLDERS, MADE, MANIFEST_HASHES, folder_of, folders_of, read_current
from embed.settings import GGUF, GRAPHS
from hunmin.clean import REMOVED, SHARED
from hunmin.embed.stages import ALONE
from hunmin.instruct.stages import INSTRUCT_STAGES
from hunmin.pipeline.stages import STAGES
from pretrain.callbacks import tuning_checkpoints
from pretrain.callbacks.checkpoint_metadata import damaged_files
from pretrain.training_stage import checkpoints_in
from tokenizer.save import read_tokenizer

TRAININGS = ("pretrain", "tune", "embed", "rerank")
"""Folders of stages and results that keep checkpoints."""
OF_MODELS = (*READ, ".safetensors", "README.md", *GRAPHS.values(), MEASURED, GGUF)
"""Ends of the names of a model's files; results that lie beside it are none of them."""


def verify_run(run: Path) -> list[dict[str, Any]]:
    """Read every output that counts in a run, and what it was made of, every checkpoint and every manifest; return a
    row each: {"what", "files", "bytes", "damaged": [names]}.

    A folder without a manifest and without the mark of unfinished work is damaged, and so is a manifest that is not as
    the run wrote it.

    Raises:
        UserError: nothing there is of a run.
    """
    rows = list(_stages(run))
    checkpoints = list(_checkpoints(run))
    if not rows and not checkpoints and (home := home_of(run)):  # a model or tokenizer outside a run
        rows = [_row(run.name, *home, [])]
    if not rows and not checkpoints:
        raise UserError(
            f"{run} holds no finished stage and no checkpoint", "a run folder is the `out` of a recipe", "name one"
        )
    sizes = [sum(file.stat().st_size for file in path.iterdir()) for path in checkpoints]
    with ProgressBar("verify", (sum(row["bytes"] for row in rows) + sum(sizes)) / 1e6, "MB") as bar:
        for row in rows:
            folder, manifest = row.pop("folder"), row.pop("manifest")
            row["damaged"] += damaged_outputs(folder, manifest) if manifest else []
            bar.advance(row["bytes"] / 1e6)
        for path, size in zip(checkpoints, sizes, strict=True):
            files = len(list(path.iterdir()))
            rows.append({"what": _shown(run, path), "files": files, "bytes": size, "damaged": _damage(path)})
            bar.advance(size / 1e6)
    return rows


def _stages(run: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each folder that counts, for what it was made of, and for each damaged one, whose outputs are
    still to be read where it has a manifest."""
    current = read_current(run)
    names = dict.fromkeys([*(stage.folder for stage in (*STAGES, *INSTRUCT_STAGES, ALONE)), *current[CURRENT_FOLDERS]])
    folders = {folder_of(run, name): name for name in names}
    for folder in [
        read_folder
        for root in current[CURRENT_FOLDERS].values()
        for read_folder in with_lineage(run / MADE / root).values()
    ]:
        folders.setdefault(folder, f"{MADE}/{folder.name}")
    for path in sorted((run / MADE).glob("*")):  # only the damaged ones among them have a row
        folders.setdefault(path, "")
    for folder, name in folders.items():
        manifest, damaged = _read(folder, current[MANIFEST_HASHES].get(folder.name))
        if name in current[CURRENT_FOLDERS] and not manifest:
            damaged = damaged or [MANIFEST]
        if damaged or (name and manifest):
            row = _row(name or f"{MADE}/{folder.name}", folder, manifest, damaged)
            yield row if name else {**row, "manifest": None}


def _row(title: str, folder: Path, manifest: Manifest | None, damaged: list[str]) -> dict[str, Any]:
    outputs = manifest.outputs if manifest else {}
    size = sum(facts["bytes"] for facts in outputs.values())
    row = {"what": title, "files": len(outputs) if manifest else 1, "bytes": size, "damaged": damaged}
    return {**row, "folder": folder, "manifest": manifest}


def _read(folder: Path, digest: str | None) -> tuple[Manifest | None, list[str]]:
    """Return a folder's manifest, None of one that is unfinished or none of a stage, and what is wrong with it.

    Args:
        digest: SHA-256 of the manifest as it was written, None where that is not known.
    """
    try:
        manifest = read_manifest(folder)
    except HunminError:
        return None, [MANIFEST]
    if manifest:
        if digest is not None and sha256_file(folder / MANIFEST) != digest:
            return None, [f"{MANIFEST}: not as the run wrote it"]
        return manifest, []
    own = folder.is_dir() and any(folder.iterdir()) and not SHARED.fullmatch(folder.name)
    return None, [MANIFEST] if own and not any((folder / name).exists() for name in (WORK_MARK, REMOVED)) else []


def _checkpoints(run: Path) -> Iterator[Path]:
    made = sorted(path for path in (run / MADE).glob("*-*") if (path / "checkpoints").is_dir())
    named = [folder for stage in TRAININGS for folder in reversed(folders_of(run, stage))]
    for folder in dict.fromkeys([*named, *made]):
        there = {steps: path for steps, path in checkpoints_in(folder).items() if path.is_dir()}
        yield from (there[steps] for steps in sorted(there))


def _shown(run: Path, checkpoint: Path) -> str:
    """Return a checkpoint's path in the run, by its stage's name where that stage counts or is at work."""
    training = checkpoint.parents[1]
    within = f"checkpoints/{checkpoint.name}"
    for stage in TRAININGS:
        at_work, final = folders_of(run, stage)
        if training in (at_work, final):
            return f"{stage}{'.partial' if training == at_work else ''}/{within}"
    return str(checkpoint.relative_to(run))


def _damage(checkpoint: Path) -> list[str]:
    if checkpoint.name.startswith(tuning_checkpoints.PREFIX):
        return tuning_checkpoints.damaged_files(checkpoint)
    return damaged_files(checkpoint)


def accept_changes(folder: Path) -> list[str]:
    """Write the files of a model or tokenizer folder into its manifest as they are now, after the checks of every
    command that takes it, and return the files that differed: changed, added, or gone. Results beside them stay as the
    manifest says.

    Raises:
        UserError: it is no such folder, no manifest describes it, or a check refuses it.
        DamagedError: the manifest itself was changed.
    """
    fix = "name its folder: RUN/export, RUN/embed/model, RUN/tokenizer …"
    whole = folder.resolve()
    described = home_of(folder, changed=True)
    is_model = (folder / "config.json").is_file()
    if not described or not (is_model or (folder / "tokenizer.json").is_file()):
        raise UserError(f"no manifest describes {folder}", "changes are accepted of a model or tokenizer", fix)
    if is_model:
        from pretrain.decoders.load import open_decoder
        from pretrain.model_folder import open_model

        writes = str(read_config(folder).get("architectures")).endswith(("ForCausalLM']", "LMHeadModel']"))
        (open_decoder if writes else open_model)(folder, changed=True)
    else:
        read_tokenizer(folder, changed=True)
    home, manifest = described
    described_now = {
        (whole / name).relative_to(home).as_posix(): facts for name, facts in describe_outputs(whole).items()
    }

    def of_model(outputs: dict[str, Any]) -> dict[str, Any]:
        names = (name for name in outputs if any(fnmatch(name, f"*{end}") for end in OF_MODELS))
        return {name: outputs[name] for name in names if (home / name).is_relative_to(whole)}

    now = of_model(described_now)
    before = of_model(manifest.outputs)
    others = {name: facts for name, facts in manifest.outputs.items() if name not in before}
    differing = sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))
    with locked(home.parent.parent) if home.parent.name == MADE else nullcontext():
        _accept_manifest(home, manifest.model_copy(update={"outputs": others | now}))
    return differing


def print_verified(rows: list[dict[str, Any]]) -> None:
    """Print what `verify_run` found as a table on stdout."""
    table = Table()
    for name in ("", "files", "size", "damaged or missing"):
        table.add_column(name, justify="left" if name in ("", "damaged or missing") else "right")
    for row in rows:
        damaged = ", ".join(row["damaged"][:4]) + (" …" if len(row["damaged"]) > 4 else "")
        names = Text(damaged or "none", style="red" if damaged else "green")
        table.add_row(Text(row["what"]), f"{row['files']:,}", human_size(row["bytes"]), names)
    console(stderr=False).print(table)


def _accept_manifest(folder: Path, manifest: Manifest) -> None:
    """Give a folder another manifest, which its run notes first: where a kill comes between, it is known again.

    Raises:
        DamagedError: the run noted neither this one nor the one that is there.
    """
    digest = hashlib.sha256(manifest_text(manifest).encode()).hexdigest()
    if folder.parent.name == MADE:
        run = folder.parent.parent
        tree = read_current(run)
        noted = tree[MANIFEST_HASHES].get(folder.name)
        if noted and noted != digest:
            noted_manifest(folder)
            tree[MANIFEST_HASHES][folder.name] = digest
            write_current(run, tree)
    write_manifest(folder, manifest)
