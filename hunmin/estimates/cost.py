"""`hunmin plan`: what a recipe's pretraining takes on given devices, before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import HUB, is_remote
from common.process import available_cores
from common.stage_folders import folder_of
from data.readers.paths import list_files
from hunmin.estimates.seconds import TEXT_RATES, klue_seconds, stage_seconds
from hunmin.pipeline.stages import STAGES, stage_named
from hunmin.recipes.preflight import (
    refuse_shared_executor,
    refuse_training,
    repeated_text,
    unfilled_vocabulary,
    unfit_inputs,
    with_settings,
)
from hunmin.recipes.recipe import NOT_NAMED, Recipe, warnings
from pretrain.cost.communication import NETWORK
from pretrain.cost.devices import Named, named_device
from pretrain.cost.epochs import epochs_of
from pretrain.cost.run import Machines, advice, refuse_settings, run_cost
from pretrain.cost.scaling import nodes_of
from tokenizer.shards import META, TokenShards

UNPACKED = 4
"""Bytes of text in a byte of a packed file."""
PACKED = (".gz", ".zst", ".bz2", ".xz", ".zip", ".7z", ".parquet")


def cost_plan(
    recipe: Recipe,
    devices: int | None = None,
    device: str | None = None,
    nodes: int | None = None,
    network: float | None = None,
    price: float | None = None,
    mfu: float | None = None,
) -> dict[str, Any]:
    """Return tokens, FLOPs, memory, disk, hours and cost of a recipe's pretraining, and a table over device counts.

    Args:
        devices: how many of `device` share the global batch; None: one, or without `device` what a run on this machine
            would take: the recipe's processes to train on its GPUs, all of them to fine-tune, or the one CPU.
        device: see `pretrain.cost.devices`; None: this machine, whose matrix product is measured.
        nodes: machines that the devices are in; None: as few as hold them.
        network: gigabytes a second that a node sends to the others; None: `NETWORK`.
        price: of one `device` an hour.
        mfu: share of its peak that a device reaches; None: what is assumed of it.

    Raises:
        UserError: the device is not known, the nodes do not hold as many devices each, or the run would be refused: so
            many devices cannot share its batches, what it begins with is not there or does not fit, or the device
            lacks what it asks for.
    """
    p, vocab_size = recipe.pretrain, recipe.tokenizer.vocab_size
    refuse_shared_executor(recipe, None, None)
    named = _named(device)
    as_run = devices is None and device is None
    gpus = _gpus_here() if as_run else 0
    devices = devices or (p.processes if as_run and gpus else 1)
    where = Machines(
        named.device,
        devices * named.count,
        _nodes(nodes, devices, named),
        network * 1e9 if network else NETWORK,
        mfu,
        None if price is None else price / named.count,
    )
    if fault := p.batch_fault(where.devices):
        raise UserError(fault, "every device computes as many micro-batches of a global batch as the others")
    p = p.shared_by(where.devices)
    refuse_settings(p, named.name, named.device.kind)
    for name in ("tokenizer", "pretrain"):  # a tokenizer or a model to continue with that is not there
        stage_named(name).inputs(recipe)
    refuse_training(recipe, here=not device)
    tokens = folder_of(Path(recipe.out), stage_named("encode").folder)
    cost = run_cost(p, vocab_size, where, TokenShards(tokens).tokens_in_a_pass if (tokens / META).is_file() else None)
    text = text_bytes(recipe)
    fine_tuning = max(1, gpus) if as_run else where.devices / where.nodes  # on one node
    fine = klue_seconds(recipe, cost["flops_per_second"] / where.devices * fine_tuning)
    cores = 1 if device else available_cores()
    return {
        **cost,
        "packing": p.packing,
        "device": device or "this machine",
        "device_name": named.name,
        "device_kind": named.device.kind,
        "named_devices": devices,
        "network_stated": network is not None,
        "price_per_hour": price,
        "text_bytes": text,
        "text_core_hours": None if text is None else sum(text / rate for rate in TEXT_RATES.values()) / 3600,
        "stage_seconds": stage_seconds(recipe, text, cores, cost["hours"] * 3600, fine),
        "cores": cores,
        "epochs_about": None if not text else epochs_of(p.tokens, text),
        "klue_hours": None if fine is None else fine / 3600,
        "notes": advice(p, vocab_size, where, cost) + _not_here(recipe) + _inputs(recipe, text),
    }


def refuse_full_node(devices: int, device: str | None) -> None:
    """Refuse more devices per node than a node of that kind holds.

    Args:
        devices: in a node.
        device: its name; None: this machine, of which any number is reckoned.

    Raises:
        UserError: a node holds fewer.
    """
    named = named_device(device) if device else None
    if named and named.count == 1 and devices > named.device.in_node:
        room = named.device.in_node
        raise UserError(
            f"--devices {devices}: a node holds {room} {named.name}",
            "--devices counts the devices of one node",
            f"--nodes {nodes_of(devices, room)} --devices {devices // nodes_of(devices, room)}",
        )


def _named(device: str | None) -> Named:
    if device:
        return named_device(device)
    from pretrain.cost.peak import this_device

    device_here = this_device()
    return Named(device_here.name if device_here.kind == "cpu" else f"{device_here.name} (this machine's)", device_here)


def _gpus_here() -> int:
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def _nodes(stated: int | None, devices: int, named: Named) -> int:
    """Return the nodes that the devices are in; raise a UserError where they cannot be spread evenly over so many."""
    count = devices * named.count
    if stated is None:
        # a slice has an interconnect of its own; what is bought apart is joined by the network
        return devices if named.count > 1 else nodes_of(count, named.device.in_node)
    if count % stated:
        raise UserError(
            f"{count} devices over {stated} nodes", "every node has as many devices as the others", "change --nodes"
        )
    return stated


def text_bytes(recipe: Recipe) -> float | None:
    """Return about how many bytes of text the recipe's inputs hold; None where they are not here."""
    if _is_elsewhere(recipe):
        return None
    try:
        paths = [Path(file.path) for file in list_files(recipe.corpus.inputs)]
    except UserError:
        return None
    return float(sum(p.stat().st_size * (UNPACKED if p.suffix in PACKED else 1) for p in paths if p.is_file()))


def _is_elsewhere(recipe: Recipe) -> bool:
    inputs = [source if isinstance(source, str) else source.path for source in recipe.corpus.inputs]
    return any(path == NOT_NAMED or is_remote(path) or path.startswith(HUB) for path in inputs)


def _inputs(recipe: Recipe, text: float | None) -> list[str]:
    """Return a line for what the stages before training would not take of inputs of so many bytes of text."""
    if text is None:
        return []
    try:
        problems = (
            unfit_inputs(recipe.corpus) + unfilled_vocabulary(recipe, text) + repeated_text(recipe.pretrain, text)
        )
    except UserError as error:
        problems = [f"the stage 'corpus' would be refused: {error.problem}"]
    return [f"Warning: {problem}." for problem in problems]


def _not_here(recipe: Recipe) -> list[str]:
    """Return a line for each stage that this machine lacks something for: a plan may be made elsewhere than its run."""
    data: list[Any] = [recipe.klue.data] if recipe.klue else []
    named = {"corpus.inputs": list[Any](recipe.corpus.inputs), "klue.data": data}
    missing = [name for name, value in named.items() if NOT_NAMED in value]
    lines = [f"The recipe does not name {' and '.join(missing)} yet: the run needs them."] if missing else []
    lines += [f"Warning: {fault}." for fault in warnings(recipe)]
    for stage in STAGES if not missing else ():
        if stage.name == "corpus" and _is_elsewhere(recipe):  # nobody is asked over a network
            continue
        try:
            stage.inputs(recipe)
            stage.settings(recipe)
        except UserError as error:
            why = "; ".join(fault.problem for fault in with_settings(error, recipe))
            lines.append(f"On this machine the stage '{stage.name}' would be refused: {why}.")
    return lines
