"""`hunmin plan`: what a recipe's pretraining takes on given devices, before anything runs."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from common import units
from common.errors import UserError
from common.files import is_remote
from data.readers import HUB
from hunmin.recipe import NOT_NAMED, Recipe, warnings
from hunmin.refusals import (
    refuse_other_model,
    refuse_processes_without_gpu,
    refuse_repeated_validation,
    refuse_shared_executor,
)
from hunmin.stages import STAGES, stage_named
from pretrain.cost.communication import HOP_BETWEEN, HOP_INSIDE, NETWORK, REACHED
from pretrain.cost.devices import DEVICES, Device, Named, named_device
from pretrain.cost.run import Machines, RunCost, arithmetic_of, in_half, run_cost, share_of
from pretrain.cost.scaling import nodes_of, verdict
from pretrain.settings import PretrainSettings
from tokenizer.shards import META, TokenShards

CPU_SHARE = 0.65
"""Share of this machine's measured matrix product that a training step is assumed to reach on a CPU."""
UNKNOWN_SHARE = 0.30
"""The same of a GPU whose peak is not known."""
UNKNOWN_LINK = 10e9
"""Bytes a second that a device is assumed to send to its neighbours where nothing is known of it."""
TEXT_RATES = {"corpus": 4.9e6, "tokenizer": 1.5e6, "encode": 47e6}
"""Bytes of text a second and core of the stages before training. Measured on one core of an AMD EPYC: the corpus by
`scripts/bench_corpus.py` (200 MB of real text, beside other work, 2026-11-24), encoding by `scripts/bench_tokenizer.py`
(`docs/performance.md`). Of the vocabulary's training assumed, and low."""
UNPACKED = 4
"""Bytes of text in a byte of a packed file."""
PACKED = (".gz", ".zst", ".bz2", ".xz", ".zip", ".7z", ".parquet")


def cost_plan(
    recipe: Recipe,
    devices: int = 1,
    device: str | None = None,
    nodes: int | None = None,
    network: float | None = None,
    price: float | None = None,
    mfu: float | None = None,
) -> dict[str, Any]:
    """Return tokens, FLOPs, memory, disk, hours and cost of a recipe's pretraining, and a table over device counts.

    Args:
        recipe: the run.
        devices: how many of `device` share the global batch.
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
    p = recipe.pretrain
    refuse_shared_executor(recipe, None, None)
    named = named_device(device) if device else _this_machine()
    count = devices * named.count
    where = Machines(
        named.device,
        count,
        _nodes(nodes, devices, count, named),
        network * 1e9 if network else NETWORK,
        mfu,
        None if price is None else price / named.count,
    )
    if fault := p.batch_fault(count):
        raise UserError(fault, "every device computes as many micro-batches of a global batch as the others")
    _refuse_settings(p, named)
    if not device:
        refuse_processes_without_gpu(recipe)
    for name in ("tokenizer", "pretrain"):  # a tokenizer or a model to go on with that is not there
        stage_named(name).files(recipe)
    refuse_other_model(recipe)
    refuse_repeated_validation(recipe)
    corpus_tokens = _corpus_tokens(recipe)
    cost = run_cost(p, recipe.tokenizer.vocab_size, where, p.chosen_engine, corpus_tokens)
    text = text_bytes(recipe)
    return {
        **_as_before(cost, where, p, device),
        "device_name": named.name,
        "device_kind": named.device.kind,
        "named_devices": devices,
        "nodes": where.nodes,
        "network_bytes_per_second": where.network,
        "network_stated": network is not None,
        "link_bytes_per_second": named.device.link,
        "link_share": REACHED,
        "hop_seconds": {"in_node": HOP_INSIDE, "between_nodes": HOP_BETWEEN},
        "text_bytes": text,
        "text_core_hours": None if text is None else sum(core_seconds(stage, text) for stage in TEXT_RATES) / 3600,
        "epoch_tokens": corpus_tokens,
        "epochs": cost.tokens / corpus_tokens if corpus_tokens else None,
        "micro_batch": p.micro_batch,
        "micro_batches_per_step": cost.micro_batches,
        "zero_stage": p.zero_stage,
        "gradient_checkpointing": p.gradient_checkpointing,
        "memory": asdict(cost.memory),
        "memory_other": asdict(cost.other_memory),
        "device_memory_bytes": named.device.memory,
        "usable_memory_bytes": cost.room,
        "fits": cost.memory.total <= cost.room,
        "largest_micro_batch": asdict(cost.largest),
        "largest_micro_batch_checkpointing": asdict(cost.largest_checkpointing),
        "disk": asdict(cost.disk),
        "step_seconds": cost.step.seconds,
        "step_compute_seconds": cost.step.compute,
        "step_communication_seconds": cost.step.communication,
        "step_waiting_seconds": cost.step.waiting,
        "price_per_hour": price,
        "cost": cost.money,
        "scaling": [{**asdict(row), "hours": row.hours if math.isfinite(row.hours) else None} for row in cost.rows],
        "scaling_verdict": verdict(cost.rows, p.micro_batch),
        "arithmetic": _arithmetic(p, named.device),
        "notes": _notes(recipe, where, cost),
    }


def _as_before(cost: RunCost, where: Machines, settings: PretrainSettings, device: str | None) -> dict[str, Any]:
    """Return the keys that the plan has always had."""
    return {
        "parameters": cost.parameters,
        "tokens": cost.tokens,
        "flops_per_token": cost.flops_per_token,
        "flops": cost.flops,
        "device": device or "this machine",
        "devices": where.devices,
        "flops_per_second": cost.rate * where.devices,
        "basis": _basis(where, settings),
        "tokens_per_second": cost.tokens / (cost.hours * 3600),
        "hours": cost.hours,
        "memory_bytes_per_device": cost.memory.total,
        "disk_bytes": cost.disk.total,
    }


def _arithmetic(settings: PretrainSettings, device: Device) -> str:
    """Return what a run would compute in on a device, in words."""
    half = "bf16" if settings.dtype == "auto" else settings.dtype
    arithmetic = arithmetic_of(settings, device)
    name = half if arithmetic.width == 2 else "fp32"
    return name + (" (fp8 within the layers)" if settings.fp8 else "") + (", compiled" if arithmetic.compiled else "")


def _basis(where: Machines, settings: PretrainSettings) -> str:
    """Return how the rate of a device is known."""
    device, share = where.device, where.share or share_of(settings, where.device)
    what = f"published {'' if in_half(settings, device) else 'fp32 '}peak of {device.name}"
    if device.name not in DEVICES:
        what = "matrix product measured here"
    return f"{what} × {share:g} {'stated' if where.share else 'assumed'}"


def _this_machine() -> Named:
    """Return the device that a run on this machine would have: its GPUs, or its processor."""
    import os

    import torch

    from pretrain.peak import known_device, measured_rate

    if not torch.cuda.is_available():
        peak = measured_rate()
        memory = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        cpu = Device(
            "this machine", "cpu", peak, peak, memory, UNKNOWN_LINK, CPU_SHARE, bf16=False, in_node=1
        )  # several of it are several machines
        return Named(cpu.name, cpu, 1, 1)
    name, memory = torch.cuda.get_device_name(), float(torch.cuda.get_device_properties(0).total_memory)
    known = known_device(name)
    if known:
        return Named(f"{known} (this machine's)", replace(DEVICES[known], memory=memory), 1, 1)
    peak = measured_rate(torch.device("cuda"))
    gpu = Device(
        name, "gpu", peak, measured_rate(), memory, UNKNOWN_LINK, UNKNOWN_SHARE, torch.cuda.is_bf16_supported()
    )
    return Named(f"{name} (this machine's)", gpu, 1, 1)


def _nodes(stated: int | None, devices: int, count: int, named: Named) -> int:
    """Return the nodes that the devices are in.

    Raises:
        UserError: they cannot be spread evenly over so many.
    """
    if stated is None:
        # a slice has an interconnect of its own; what is bought apart is joined by the network
        return devices if named.chips > 1 else nodes_of(count, named.device.in_node)
    if count % stated:
        raise UserError(
            f"{count} devices over {stated} nodes", "every node has as many devices as the others", "change --nodes"
        )
    return stated


def _refuse_settings(settings: PretrainSettings, named: Named) -> None:
    """Refuse settings that the device cannot do.

    Raises:
        UserError: the run would not begin on such a device.
    """
    device = named.device
    if settings.fp8 and not device.fp8:
        raise UserError(
            f"pretrain.fp8 on {named.name}", "8-bit products need a GPU from Ada or Hopper on", "set pretrain.fp8=false"
        )
    if device.kind == "tpu" and settings.zero_stage:
        raise UserError(
            f"pretrain.zero_stage={settings.zero_stage} on {named.name}",
            "ZeRO is DeepSpeed's, which does not run on TPUs",
            "set pretrain.zero_stage=0",
        )
    if device.kind == "tpu" and settings.chosen_engine == "deepspeed":
        raise UserError(
            f"pretrain.engine={settings.engine} on {named.name}", "DeepSpeed does not know TPUs",
            "set pretrain.engine=auto",
        )  # fmt: skip
    if device.kind == "tpu" and settings.dtype == "fp16":
        raise UserError(
            f"pretrain.dtype=fp16 on {named.name}", "a TPU's matrix products take bf16", "set pretrain.dtype=auto"
        )


def _corpus_tokens(recipe: Recipe) -> int | None:
    """Return the tokens that a pass over the run's token shards has, None where they do not exist yet."""
    folder = Path(recipe.out) / stage_named("encode").folder
    return TokenShards(folder).tokens_in_a_pass if (folder / META).is_file() else None


def text_bytes(recipe: Recipe) -> float | None:
    """Return about how many bytes of text the recipe's inputs hold; None where they are not here.

    Args:
        recipe: the run.
    """
    from data.readers import list_files

    if _is_elsewhere(recipe):
        return None
    try:
        paths = [Path(file.path) for file in list_files(recipe.corpus.inputs)]
    except UserError:
        return None
    return float(sum(p.stat().st_size * (UNPACKED if p.suffix in PACKED else 1) for p in paths if p.is_file()))


def core_seconds(stage: str, text: float) -> float:
    """Return the seconds that one core takes for a stage before training.

    Args:
        stage: "corpus", "tokenizer" or "encode".
        text: bytes.
    """
    return text / TEXT_RATES[stage]


def _is_elsewhere(recipe: Recipe) -> bool:
    """Return whether inputs are not named, or would have to be asked for over a network."""
    inputs = [source if isinstance(source, str) else source.path for source in recipe.corpus.inputs]
    return any(path == NOT_NAMED or is_remote(path) or path.startswith(HUB) for path in inputs)


def _notes(recipe: Recipe, where: Machines, cost: RunCost) -> list[str]:
    """Return sentences that a reader of the numbers should know."""
    p, device, notes = recipe.pretrain, where.device, []
    if cost.memory.total > cost.room:
        notes.append(_advice(cost, p))
    if device.kind == "gpu" and not device.bf16 and p.dtype in ("auto", "bf16"):
        half = p.model_copy(update={"dtype": "fp16"})
        hours = run_cost(half, recipe.tokenizer.vocab_size, where, half.chosen_engine).hours
        notes.append(
            f"{device.name} has no bf16, so with pretrain.dtype={p.dtype} this is the time of fp32; with "
            f"pretrain.dtype=fp16, which its tensor cores compute, it is about {units.time(hours * 3600)}."
        )
    if device.not_trained_on:
        notes.append(
            f"No run can be made on {device.name}: {device.not_trained_on}. These are its numbers all the same."
        )
    each = where.devices // where.nodes
    if each > device.in_node:
        notes.append(
            f"{each} devices in a node are reckoned as if one link joined them all; {device.name}s are sold with "
            f"{device.in_node}: {where.devices} of them are {nodes_of(where.devices, device.in_node)} nodes."
        )
    if device.kind == "tpu" and device.per_chip > 1:
        notes.append(f"A {device.name} chip is {device.per_chip} devices here: each core has a memory of its own.")
    if p.fp8:
        notes.append("The time is that of 16 bits: what fp8 gains depends on the shape and is not in it.")
    return notes + _not_here(recipe)


def _advice(cost: RunCost, settings: PretrainSettings) -> str:
    """Return what to do where a micro-batch does not fit."""
    fitting = cost.largest_checkpointing if settings.gradient_checkpointing else cost.largest
    if fitting.divides:
        return f"This does not fit: set pretrain.micro_batch={fitting.divides} (the global batch stays)."
    if cost.largest_checkpointing.divides:
        return (
            "This does not fit: set pretrain.gradient_checkpointing=true and "
            f"pretrain.micro_batch={cost.largest_checkpointing.divides}."
        )
    return "This does not fit, whatever the micro-batch: take a higher ZeRO stage, more devices, or larger ones."


def _not_here(recipe: Recipe) -> list[str]:
    """Return a line for each stage that this machine lacks something for: a plan may be made elsewhere than its run."""
    inputs = [source if isinstance(source, str) else source.path for source in recipe.corpus.inputs]
    remote = _is_elsewhere(recipe)  # nobody is asked over a network
    data = [recipe.klue.data] if recipe.klue else []
    missing = [name for name, of in (("corpus.inputs", inputs), ("klue.data", data)) if NOT_NAMED in of]
    found = [f"The recipe does not name {' and '.join(missing)} yet: the run needs them."] if missing else []
    found += [f"Warning: {one}." for one in warnings(recipe)]
    for stage in STAGES:
        if (stage.name == "corpus" and remote) or missing:
            continue
        try:
            stage.files(recipe)
            stage.settings(recipe)
        except UserError as error:
            found.append(f"On this machine the stage '{stage.name}' would be refused: {error.problem}.")
    return found
