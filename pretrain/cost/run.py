"""A whole run on given devices: what it takes of memory, disk, time and money."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from common.errors import UserError
from common.units import time
from pretrain.cost.communication import HOP_BETWEEN, HOP_INSIDE, REACHED, Cluster, Link
from pretrain.cost.devices import DEVICES, Device
from pretrain.cost.memory import Arithmetic, Memory, largest_dividing, largest_micro_batch, memory
from pretrain.cost.scaling import Row, counts, nodes_of, verdict
from pretrain.cost.step import Step, flops_per_token, micro_batch_flops, micro_batches, step
from pretrain.models.registry import ARCHITECTURES
from pretrain.objectives.registry import OBJECTIVES
from pretrain.optim.registry import OPTIMIZERS
from pretrain.parallel.buckets import bucket_elements
from pretrain.settings import PretrainSettings

BYTES = 4
"""Bytes of a weight and of a number of the optimizer's state, fp32."""
UINT16_VOCABULARY = 1 << 16
"""Largest vocabulary whose token ids take 2 bytes (`tokenizer.shards`)."""


@dataclass(frozen=True)
class Disk:
    """Bytes on disk."""

    checkpoint: int
    """Bytes of one checkpoint."""
    checkpoints: int
    """Bytes of all when they are most, just before the last one of those not kept is removed."""
    export: int
    tokens: int | None
    """Token shards; None while it is not known how many tokens there are."""

    @property
    def total(self) -> int:
        """Bytes of all that is known."""
        return self.checkpoints + self.export + (self.tokens or 0)


def disk(settings: PretrainSettings, vocab_size: int, parameters: int, corpus_tokens: int | None) -> Disk:
    """Return the disk that a run takes at its fullest."""
    checkpoint = BYTES * (parameters + OPTIMIZERS[settings.optimizer.type].state_numbers(settings, parameters))
    return Disk(
        checkpoint=checkpoint,
        checkpoints=most_checkpoints(settings) * checkpoint,
        export=BYTES * parameters,
        tokens=None if corpus_tokens is None else corpus_tokens * token_bytes(vocab_size),
    )


def token_bytes(vocab_size: int) -> int:
    """Return the bytes of a token in the shards, 2 or 4."""
    return 2 if vocab_size <= UINT16_VOCABULARY else 4


def most_checkpoints(settings: PretrainSettings) -> int:
    """Return how many checkpoints there are at once at most: a new one is whole before an old one goes."""
    steps = settings.steps
    every = settings.checkpoint_every
    for_good = settings.keep_every
    stay = steps // math.lcm(every, for_good) if for_good else 0
    return min(-(-steps // every), stay + settings.keep_last + 1)


USABLE = 0.95
"""Share of a device's published memory that training can take: the rest is for driver, libraries and gaps."""
REACHED_FP32 = 0.6
"""Share of a GPU's peak that a training step in fp32, without tensor cores, is assumed to reach."""


@dataclass(frozen=True)
class Machines:
    """Devices of a run, and their price."""

    device: Device
    devices: int
    nodes: int
    network: float
    """Bytes a second of a node to the others, in one direction."""
    share: float | None = None
    """Share of the device's peak that is reached; None: what is assumed of it."""
    price: float | None = None
    """Price of a device an hour."""


def run_cost(
    settings: PretrainSettings, vocab_size: int, machines: Machines, corpus_tokens: int | None = None
) -> dict[str, Any]:
    """Return the keys of `hunmin plan --json` that training decides; `corpus_tokens` is None before the encoding."""
    model = settings.model
    device = machines.device
    engine = settings.chosen_engine
    arithmetic = arithmetic_of(settings, device)
    architecture = ARCHITECTURES[model.type]
    objective = OBJECTIVES[settings.objectives[0]]
    count = architecture.parameters(model, vocab_size, settings.longest) + objective.parameters(model)
    per_token = flops_per_token(settings, vocab_size)
    room = USABLE * device.memory

    def memory_with(devices: int, **changes: Any) -> Memory:
        shared = settings.model_copy(update={"processes": devices, **changes})
        return memory(shared, vocab_size, count, devices, arithmetic, engine)

    def largest(again: bool) -> dict[str, int]:
        sizes = largest_micro_batch(settings, vocab_size, count, machines.devices, arithmetic, engine, room, again)
        return dict(zip(("fits", "divides"), sizes, strict=True))

    step_cost, hours = _hours(settings, vocab_size, count, machines)
    in_node = machines.devices // machines.nodes if machines.nodes > 1 else device.in_node
    rows = []
    for devices in counts(machines.devices):
        size = largest_dividing(settings, devices, settings.micro_batch)
        nodes = machines.nodes if devices == machines.devices else nodes_of(devices, in_node)
        needed = memory_with(devices, micro_batch=size or 1).total
        row_machines = replace(machines, devices=devices, nodes=nodes)
        row_hours, efficiency = None, 0.0
        if size:
            row_settings = settings.model_copy(update={"micro_batch": size, "processes": devices})
            row_step, row_hours = _hours(row_settings, vocab_size, count, row_machines)
            efficiency = row_step.compute / row_step.seconds
        cost = _money(row_hours, row_machines)
        rows.append(Row(devices, nodes, size, row_hours, efficiency, cost, needed, needed <= room))
    again = settings.gradient_checkpointing
    memory_ = memory_with(machines.devices)
    disk_ = disk(settings, vocab_size, count, corpus_tokens)
    rate, basis = rate_of(settings, machines)
    return {
        "parameters": count,
        "tokens": settings.tokens,
        "flops_per_token": per_token,
        "flops": per_token * settings.tokens,
        "devices": machines.devices,
        "nodes": machines.nodes,
        "arithmetic": _words(settings, arithmetic),
        "flops_per_second": rate * machines.devices,
        "basis": basis,
        "tokens_per_second": settings.tokens / (hours * 3600),
        "hours": hours,
        "cost": _money(hours, machines),
        "network_bytes_per_second": machines.network,
        "link_bytes_per_second": device.link,
        "link_share": REACHED,
        "hop_seconds": {"in_node": HOP_INSIDE, "between_nodes": HOP_BETWEEN},
        "step_seconds": step_cost.seconds,
        "step_compute_seconds": step_cost.compute,
        "step_communication_seconds": step_cost.communication,
        "step_waiting_seconds": step_cost.waiting,
        "micro_batch": settings.micro_batch,
        "micro_batches_per_step": _micro_batches(settings, machines.devices),
        "zero_stage": settings.zero_stage,
        "gradient_checkpointing": again,
        "memory": asdict(memory_),
        "memory_other": asdict(memory_with(machines.devices, gradient_checkpointing=not again)),
        "memory_bytes_per_device": memory_.total,
        "device_memory_bytes": device.memory,
        "usable_memory_bytes": room,
        "fits": memory_.total <= room,
        "largest_micro_batch": largest(False),
        "largest_micro_batch_checkpointing": largest(True),
        "disk": asdict(disk_),
        "disk_bytes": disk_.total,
        "epoch_tokens": corpus_tokens,
        "epochs": settings.tokens / corpus_tokens if corpus_tokens else None,
        "scaling": [asdict(row) for row in rows],
        "scaling_verdict": verdict(rows, settings.micro_batch),
    }


def refuse_settings(settings: PretrainSettings, name: str, kind: str) -> None:
    """Raise a UserError for settings that a kind of device ("gpu", "tpu", "cpu") cannot do."""
    tpu = kind == "tpu"
    for refused, setting, rule, fix in (
        (tpu and settings.zero_stage, f"pretrain.zero_stage={settings.zero_stage}",
         "ZeRO is DeepSpeed's, which does not run on TPUs", "pretrain.zero_stage=0"),
        (tpu and settings.chosen_engine == "deepspeed", f"pretrain.engine={settings.engine}",
         "DeepSpeed does not know TPUs", "pretrain.engine=auto"),
        (tpu and settings.dtype == "fp16", "pretrain.dtype=fp16", "a TPU's matrix products take bf16",
         "pretrain.dtype=auto"),
    ):  # fmt: skip
        if refused:
            raise UserError(f"{setting} on {name}", rule, f"set {fix}")


def advice(settings: PretrainSettings, vocab_size: int, machines: Machines, cost: dict[str, Any]) -> list[str]:
    """Return sentences about what the plan of a run shows: what does not fit, what is not in it."""
    device, notes = machines.device, []
    if not cost["fits"]:
        again = cost["largest_micro_batch_checkpointing"]["divides"]
        size = again if settings.gradient_checkpointing else cost["largest_micro_batch"]["divides"]
        if size:
            notes.append(f"This does not fit: set pretrain.micro_batch={size} (the global batch stays).")
        elif again:
            notes.append(
                f"This does not fit: set pretrain.gradient_checkpointing=true and pretrain.micro_batch={again}."
            )
        else:
            notes.append(
                "This does not fit, whatever the micro-batch: take a higher ZeRO stage, more devices, or larger ones."
            )
    if device.kind == "gpu" and not device.bf16 and settings.dtype in ("auto", "bf16"):
        half = settings.model_copy(update={"dtype": "fp16"})
        notes.append(
            f"{device.name} has no bf16, so with pretrain.dtype={settings.dtype} this is the time of fp32; with "
            "pretrain.dtype=fp16, which its tensor cores compute, it is about "
            f"{time(run_cost(half, vocab_size, machines)['hours'] * 3600)}."
        )
    return notes


def arithmetic_of(settings: PretrainSettings, device: Device) -> Arithmetic:
    """Return how a device would compute a run; `dtype: auto` is bf16 where there is bf16, else fp32."""
    half = device.bf16 if settings.dtype == "auto" else settings.dtype != "fp32"
    compiled = settings.compile
    if device.kind == "tpu":
        compiled = True
    elif compiled is None:
        compiled = device.kind == "gpu" and settings.zero_stage < 3
    return Arithmetic(device.kind, 2 if half else 4, compiled)


def _words(settings: PretrainSettings, arithmetic: Arithmetic) -> str:
    half = "bf16" if settings.dtype == "auto" else settings.dtype
    name = half if arithmetic.width == 2 else "fp32"
    return name + (", compiled" if arithmetic.compiled else "")


def rate_of(settings: PretrainSettings, machines: Machines) -> tuple[float, str]:
    """Return the FLOP/s that a device is reckoned to reach in a run, and how that is known."""
    device = machines.device
    half = settings.dtype == "fp16" or (settings.dtype in ("auto", "bf16") and device.bf16)
    share = machines.share or (REACHED_FP32 if device.kind == "gpu" and not half else device.reached)
    peak = f"published {'' if half else 'fp32 '}peak of {device.name}"
    if device.name not in DEVICES:
        peak = "matrix product measured here"
    basis = f"{peak} × {share:g} {'stated' if machines.share else 'assumed'}"
    return share * (device.peak if half else device.peak_fp32), basis


def _micro_batches(settings: PretrainSettings, devices: int) -> float:
    return micro_batches(settings) / settings.steps / devices


def _money(hours: float | None, machines: Machines) -> float | None:
    return None if hours is None or machines.price is None else hours * machines.devices * machines.price


def _hours(settings: PretrainSettings, vocab_size: int, count: int, machines: Machines) -> tuple[Step, float]:
    """Return a step, and the hours of all of them."""
    inside = Link(machines.device.link * REACHED, HOP_INSIDE)
    step_cost = step(
        micro_batch_flops(settings, vocab_size) / rate_of(settings, machines)[0],
        _micro_batches(settings, machines.devices),
        count,
        (vocab_size + ARCHITECTURES[settings.model.type].learned_positions * settings.longest) * settings.model.hidden,
        settings.zero_stage,
        settings.chosen_engine,
        settings.gradient_checkpointing,
        Cluster(machines.devices, machines.nodes, inside, Link(machines.network * REACHED, HOP_BETWEEN)),
        bucket_elements(settings, count),
        2 if settings.grad_reduce_dtype == "bf16" else 4,
    )
    return step_cost, step_cost.seconds * settings.steps / 3600
