"""The setup of a run: its samples, its model and its engine; fresh, with its newest checkpoint, or as a branch."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from common.errors import HunminError, UserError
from common.progress import say
from common.settings import dump_settings
from pretrain.batches.inputs import prepare
from pretrain.batches.loader import Loader, plan_samples, read_vocabulary
from pretrain.batches.samples import filled
from pretrain.callbacks.branch import read_parent
from pretrain.callbacks.checkpoint import load_optimizer, load_weights
from pretrain.callbacks.checkpoint_metadata import (
    TOKENIZER_FILES,
    check_metadata,
    fingerprint,
    newest_checkpoint,
    read_metadata,
    remove_unfinished,
    tokens_fingerprint,
)
from pretrain.callbacks.guard import StepGuard
from pretrain.cost.peak import device_name
from pretrain.cost.run import refuse_settings
from pretrain.dry_run_batch import dry_run_batch
from pretrain.kernels.compile import is_compiled, speed_up
from pretrain.kernels.precision import half_type, resolve_dtype
from pretrain.models.check_forms import differing_form
from pretrain.models.continuation import load_model
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model, recompute_layers
from pretrain.parallel.engine import Engine
from pretrain.parallel.processes import Process, require_shared_folder
from pretrain.parallel.start_engine import start_engine
from pretrain.settings import PretrainSettings
from tokenizer.shards import TokenShards

PLANS = "samples-*"
"""Folders, in that of a run, of samples that were drawn or packed before it."""


@dataclass(frozen=True)
class Run:
    """All that the steps of a run need."""

    process: Process
    loader: Loader
    engine: Engine
    guard: StepGuard
    metadata: dict[str, Any]
    """Metadata of its checkpoints; a checkpoint with other metadata is not this run's."""
    saved: dict[str, Any]
    """Metadata of the checkpoint that it continues from, its own or its parent's; {} without one."""
    parent: str = ""
    """The checkpoint it begins from as a branch, now; "" otherwise."""
    vocabulary: list[Path] = field(default_factory=list)
    """The tokenizer's files, which go into each checkpoint."""
    notes: list[str] = field(default_factory=list)
    """Notes on changes since its checkpoint was made."""

    @property
    def step(self) -> int:
        """Steps done."""
        return int(self.saved.get("step", 0))


def begin(
    settings: PretrainSettings, tokens: Path, tokenizer: Path, out: Path, process: Process, parent: Path | None = None
) -> Run:
    """Return a run ready for its next step; every process calls it.

    Args:
        parent: where the checkpoint of `settings.branch_from` is now; None: there.

    Raises:
        UserError: the run does not fit its processes, its checkpoint, its published model or its device.
        HunminError: the corpus is too small.
    """
    if fault := settings.batch_fault(process.world):  # a launcher may have started more than `processes`
        raise UserError(fault, "every process computes as many micro-batches of a global batch as the others")
    stated = settings.micro_batch
    settings = settings.shared_by(process.world)
    if process.first and settings.micro_batch != stated:
        say(f"micro-batches of {settings.micro_batch} samples, not {stated}: {process.world} processes share the batch")
    if process.device.type == "tpu":
        refuse_settings(settings, "a TPU", "tpu")
    require_shared_folder(out, process)
    metadata = _metadata(settings, tokens, process)
    # before anything that takes long: a run that cannot continue says so at once
    checkpoint, saved, branches = process.on_first(
        "its checkpoint", lambda: _source(settings, tokens, out, metadata, parent)
    )
    source = Path(checkpoint) if checkpoint else None
    metadata |= {name: saved.get(name) for name in ("parent", "first_position")}
    hf_model = _hf_model(settings, TokenShards(tokens), tokenizer, source, saved, process)
    plans = out / PLANS.replace("*", metadata["fingerprint"][:12])
    process.on_first("the plan of its samples", lambda: _plan(settings, tokens, plans, out))
    metadata["positions"] = hf_model.config.max_position_embeddings
    step = min(int(saved.get("step", 0)), settings.steps - 1)
    model = MaskedRowsModel(hf_model, half_type(settings.dtype))
    speed_up(model, settings, process.device, world=process.world)
    first_position = metadata["first_position"] or 0
    form = model.input_form(process.device)
    loader = Loader(settings, tokens, tokenizer, plans, process.rank, process.world, first_position, form)
    inputs: list[dict[str, Any]] = []
    for phase, first, end in reversed(settings.every_phase):  # the next step's last: the model stays as it is there
        if step < end:
            model.enter(phase)
            inputs = dry_run_inputs(loader, model, process.device, max(first, step))
            dry_run_batch(model, inputs, settings, process.world, process.device)
    state = load_optimizer(source) if source else None
    engine = start_engine(model, settings, process.device, state)
    engine.settle(inputs[0])
    guard = StepGuard(settings, metadata["dtype"] == "fp16", process.device, saved.get("guard"))
    notes = [] if branches else _changes(saved, metadata)
    vocabulary = [tokenizer / file for file in TOKENIZER_FILES if (tokenizer / file).is_file()]
    return Run(process, loader, engine, guard, metadata, saved, checkpoint if branches else "", vocabulary, notes)


def _metadata(settings: PretrainSettings, tokens: Path, process: Process) -> dict[str, Any]:
    tree = dump_settings(settings)
    compiled = is_compiled(settings, process.device)
    device = device_name(process.device)
    engine = settings.chosen_engine
    changing = dump_settings(settings, "secret").keys() - tree.keys() - {"processes"}
    free = {name: value for name, value in dump_settings(settings, "secret").items() if name in changing}
    return {
        "fingerprint": fingerprint(tree, tokens),
        "tokens_fingerprint": tokens_fingerprint(tokens),
        "settings": tree,
        "world": process.world,
        "zero_stage": settings.zero_stage,
        "engine": engine,
        "compile": compiled,
        "dtype": resolve_dtype(settings.dtype),
        "device": device,
        # what may change when the run continues, as it is and not "auto"
        "free": {**free, "engine": engine, "compile": compiled, "world": process.world, "device": device},
    }


def _source(
    settings: PretrainSettings, tokens: Path, out: Path, metadata: dict[str, Any], parent: Path | None
) -> tuple[str, dict[str, Any], bool]:
    """Return the checkpoint to continue from ("" for none), its metadata, and whether it is that of a parent.

    The run's own newest one comes first, then the one that it branches from.
    """
    checkpoints = out / "checkpoints"
    checkpoints.mkdir(parents=True, exist_ok=True)
    remove_unfinished(checkpoints)
    path, saved = newest_checkpoint(checkpoints)
    if path:
        check_metadata(path, saved, metadata)
        return str(path), saved, False
    if settings.branch_from:
        parent = parent or Path(settings.branch_from)
        saved = read_parent(parent, metadata["settings"], settings, tokens)
        return str(parent), saved | {"config": (read_metadata(parent) or {})["config"]}, True
    return "", {}, False


def _plan(settings: PretrainSettings, tokens: Path, plans: Path, out: Path) -> None:
    for old_plan in set(out.glob(PLANS)) - {plans}:
        shutil.rmtree(old_plan, ignore_errors=True)
    plan_samples(settings, tokens, plans)


def dry_run_inputs(loader: Loader, model: MaskedRowsModel, device: torch.device, step: int = 0) -> list[dict[str, Any]]:
    """Return the model's arguments for a micro-batch without padding, and for a padded one where its form differs."""
    batch, masked = loader.masked_batches(step)[0]
    full, padded = filled(batch), batch
    if not batch.padded:
        lengths_B = batch.lengths_B.copy()
        lengths_B[-1] -= 1  # a [SEP], which is never predicted
        padded = replace(batch, lengths_B=lengths_B)
    form, objective = loader.form, loader.objective(step)
    prepared = [prepare(rows, masked, loader.settings.packing, form, objective) for rows in (full, padded)]
    if {name: value.shape for name, value in prepared[0].inputs.items()} == {
        name: value.shape for name, value in prepared[1].inputs.items()
    }:
        prepared = prepared[:1]
    return [model.on_device(batch.inputs, device) for batch in prepared]


def _changes(saved: dict[str, Any], metadata: dict[str, Any]) -> list[str]:
    """Return a line for each setting, and for the device, that is not what it was when the checkpoint was made."""
    before, now = (dict(facts.get("free", {})) for facts in (saved, metadata))
    return [
        f"{name}: {before[name]} → {now[name]}" for name in sorted(now) if name in before and before[name] != now[name]
    ]


def _hf_model(
    settings: PretrainSettings,
    shards: TokenShards,
    tokenizer: Path,
    source: Path | None,
    saved: dict[str, Any],
    process: Process,
) -> PreTrainedModel:
    """Return the model of transformers that is trained, with the weights that it begins or continues with.

    A checkpoint's configuration is that of its first start: a published model's, where the run began with one.
    """
    config = build_config(settings, shards.vocab_size, shards.special_ids)
    if source:
        hf_model = build_model(settings, type(config).from_dict(saved["config"]))
        load_weights(source, hf_model)
    elif settings.init_from:
        tell = say if process.first else lambda _: None
        vocabulary = read_vocabulary(tokenizer)
        hf_model = load_model(settings.init_from, config, settings, vocabulary, tell, compare=process.first)
    else:
        hf_model = build_model(settings, config)
        if process.first and (where := differing_form(hf_model)):
            raise HunminError(
                f"a text has other logits beside others than alone {where}: {type(hf_model).__name__}",
                "texts of a batch do not see each other",
                f"correct the model's file in pretrain/models ({settings.model.type})",
            )
    if settings.gradient_checkpointing:
        recompute_layers(hf_model)
    return hf_model
