"""How a run begins: its samples, its model and its engine, fresh or with the state of its newest whole checkpoint."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch.distributed as dist
from transformers import PreTrainedModel

from common.errors import UserError
from common.progress import say
from common.settings import dump_settings
from pretrain.checkpoint import (
    STATE,
    fingerprint,
    latest_checkpoint,
    must_reshard,
    remove_unfinished,
    reshard,
    universal_folder,
)
from pretrain.continuation import load_model
from pretrain.engine import rehearse, restore, speed_up, start_engine
from pretrain.loader import Loader, plan_samples, read_vocabulary
from pretrain.model import MaskedRowsModel, build_config, build_model
from pretrain.processes import device
from pretrain.settings import PretrainSettings
from pretrain.trainer import to_device
from tokenizer.shards import TokenShards

PLANS = "samples-*"
"""Folders, in that of a run, of samples that were drawn or packed before it."""


@dataclass(frozen=True)
class Beginning:
    """What the steps of a run need."""

    loader: Loader
    engine: Any
    """The DeepSpeed engine around the `MaskedRowsModel`."""
    facts: dict[str, Any]
    """What its checkpoints are marked with, and must have been made with to be this run's."""
    mark: dict[str, Any]
    """Of the checkpoint whose state the engine has; {} without one."""


def begin(settings: PretrainSettings, tokens: Path, tokenizer: Path, out: Path) -> Beginning:
    """Return a run ready for its next step; every process calls it, after `join_processes`.

    Args:
        settings: the run.
        tokens: finished token folder.
        tokenizer: finished tokenizer folder.
        out: the run's folder.

    Raises:
        UserError: the run does not fit its processes, its checkpoint, its published model or its device.
        HunminError: the corpus is too small.
    """
    rank, world = dist.get_rank(), dist.get_world_size()
    if fault := settings.batch_fault(world):  # a launcher may have started more than `processes`
        raise UserError(fault, "every process computes as many micro-batches of a global batch as the others")
    stated = dump_settings(settings)
    run = fingerprint(stated, tokens)
    facts = {"fingerprint": run, "settings": stated, "world": world, "zero_stage": settings.zero_stage}
    checkpoints = out / "checkpoints"
    if rank == 0:
        checkpoints.mkdir(parents=True, exist_ok=True)
        remove_unfinished(checkpoints)
    dist.barrier()
    # before anything that takes long: a run that cannot go on says so at once
    source, mark = latest_checkpoint(checkpoints, facts)
    plans = out / PLANS.replace("*", run[:12])
    if rank == 0:
        for other in set(out.glob(PLANS)) - {plans}:
            shutil.rmtree(other, ignore_errors=True)
        plan_samples(settings, tokens, plans)
    dist.barrier()
    loader = Loader(settings, tokens, tokenizer, plans, rank, world)
    hub = _hub_model(settings, TokenShards(tokens), tokenizer, mark)
    facts["positions"] = hub.config.max_position_embeddings
    model = MaskedRowsModel(hub)
    speed_up(model, settings)
    rehearse(model, to_device(*loader.micro_batches(0)[0], settings.samples, device()), settings, world)
    universal = must_reshard(mark, world)
    engine = start_engine(model, settings, universal)
    if source:
        if universal and rank == 0:
            reshard(source)
        dist.barrier()
        restore(engine, str(universal_folder(source) if universal else source), STATE)
        dist.barrier()
        if rank == 0:
            remove_unfinished(checkpoints)
    return Beginning(loader, engine, facts, mark)


def _hub_model(
    settings: PretrainSettings, shards: TokenShards, tokenizer: Path, mark: dict[str, Any]
) -> PreTrainedModel:
    """Return the model of transformers that is trained; its weights are of use where no checkpoint replaces them."""
    config = build_config(settings, shards.vocab_size, shards.special_ids)
    if settings.init_from and not mark:
        tell = say if dist.get_rank() == 0 else lambda _: None
        hub = load_model(settings.init_from, config, settings, read_vocabulary(tokenizer), tell)
    else:
        config.max_position_embeddings = mark.get("positions", config.max_position_embeddings)
        hub = build_model(settings, config)
    if settings.gradient_checkpointing:
        # renamed in transformers 5, which warns of the older name
        enable = getattr(hub, "activation_checkpointing_enable", hub.gradient_checkpointing_enable)
        enable({"use_reentrant": False})
    return hub
