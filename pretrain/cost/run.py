"""A whole run on given devices: what it takes of memory, disk, time and money."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from pretrain.buckets import bucket_elements
from pretrain.cost.communication import HOP_BETWEEN, HOP_INSIDE, REACHED, Cluster, Link
from pretrain.cost.devices import Device
from pretrain.cost.disk import Disk, disk
from pretrain.cost.memory import Arithmetic, Memory, largest_dividing, largest_micro_batch, memory
from pretrain.cost.scaling import Row, counts, nodes_of
from pretrain.cost.step import Step, micro_batch_flops, step
from pretrain.flops import flops_per_token, parameters
from pretrain.settings import PretrainSettings

USABLE = 0.95
"""Share of a device's published memory that training can take: the rest is for driver, libraries and gaps."""
REACHED_FP32 = 0.6
"""Share of a GPU's peak that a training step in fp32, without tensor cores, is assumed to reach."""


@dataclass(frozen=True)
class Machines:
    """What a run is to run on."""

    device: Device
    devices: int
    nodes: int
    network: float
    """Bytes a second of a node to the others, in one direction."""
    share: float | None = None
    """Share of the device's peak that is reached; None: what is assumed of it."""
    price: float | None = None
    """Of a device an hour."""


@dataclass(frozen=True)
class LargestMicroBatch:
    """Samples of a micro-batch, by memory; 0 where none fits."""

    fits: int
    """The most, up to a device's share of the global batch."""
    divides: int
    """The most with which it divides the global batch."""


@dataclass(frozen=True)
class RunCost:
    """What a run takes."""

    parameters: int
    tokens: int
    """Token positions of the run."""
    flops_per_token: float
    flops: float
    rate: float
    """FLOP/s that a device is reckoned to reach."""
    micro_batches: float
    """Of a device a step, on average."""
    step: Step
    hours: float
    money: float | None
    memory: Memory
    other_memory: Memory
    """The same with layers computed again, or where they are, with layers kept."""
    room: float
    """Bytes of a device that training can take."""
    largest: LargestMicroBatch
    """With layers kept."""
    largest_checkpointing: LargestMicroBatch
    """With layers computed again."""
    disk: Disk
    rows: tuple[Row, ...]
    """The same run on other numbers of devices."""


def run_cost(
    settings: PretrainSettings, vocab_size: int, machines: Machines, engine: str, corpus_tokens: int | None = None
) -> RunCost:
    """Return what a run takes on given machines.

    Args:
        settings: the run.
        vocab_size: entries of the vocabulary.
        machines: where; the devices can share the global batch.
        engine: "torch" or "deepspeed".
        corpus_tokens: tokens of the encoded corpus, None where it is not yet encoded.
    """
    model, arithmetic = settings.model, arithmetic_of(settings, machines.device)
    positions = settings.length + (2 if model.type == "roberta" else 0)
    count = parameters(model, vocab_size, positions, settings.objective == "mlm+nsp")
    share = (settings.masking.rate + settings.masking.last_rate) / 2
    per_token = flops_per_token(model, vocab_size, settings.length, share)
    room = USABLE * machines.device.memory

    def held(of: PretrainSettings, devices: int) -> Memory:
        return memory(of, vocab_size, count, devices, arithmetic, engine)

    def largest(checkpointing: bool) -> LargestMicroBatch:
        found = largest_micro_batch(
            settings, vocab_size, count, machines.devices, arithmetic, engine, room, checkpointing
        )
        return LargestMicroBatch(*found)

    took, hours = _hours(settings, vocab_size, count, machines, engine)
    in_node = machines.devices // machines.nodes if machines.nodes > 1 else machines.device.in_node
    rows = []
    for devices in counts(machines.devices):
        size = largest_dividing(settings, devices, settings.micro_batch)
        changed = settings.model_copy(update={"micro_batch": size or 1})
        nodes = machines.nodes if devices == machines.devices else nodes_of(devices, in_node)
        needed = held(changed, devices)
        if size:
            elsewhere = replace(machines, devices=devices, nodes=nodes)
            one, of_row = _hours(changed, vocab_size, count, elsewhere, engine)
            efficiency = one.compute / one.seconds
        else:
            of_row, efficiency = math.inf, 0.0
        money = None if machines.price is None or not size else of_row * devices * machines.price
        rows.append(Row(devices, nodes, size, of_row, efficiency, money, needed.total, needed.total <= room))
    other = settings.model_copy(update={"gradient_checkpointing": not settings.gradient_checkpointing})
    return RunCost(
        parameters=count,
        tokens=settings.tokens,
        flops_per_token=per_token,
        flops=per_token * settings.tokens,
        rate=rate_of(settings, machines),
        micro_batches=_micro_batches(settings, machines.devices),
        step=took,
        hours=hours,
        money=None if machines.price is None else hours * machines.devices * machines.price,
        memory=held(settings, machines.devices),
        other_memory=held(other, machines.devices),
        room=room,
        largest=largest(False),
        largest_checkpointing=largest(True),
        disk=disk(settings, vocab_size, count, corpus_tokens),
        rows=tuple(rows),
    )


def arithmetic_of(settings: PretrainSettings, device: Device) -> Arithmetic:
    """Return how a device would compute a run; `dtype: auto` is bf16 where there is bf16, else fp32.

    Args:
        settings: the run.
        device: where.
    """
    half = device.bf16 if settings.dtype == "auto" else settings.dtype != "fp32"
    compiled = settings.compile
    if device.kind == "tpu":
        compiled = True
    elif compiled is None:
        compiled = device.kind == "gpu" and settings.zero_stage < 3
    return Arithmetic(device.kind, 2 if half else 4, compiled)


def in_half(settings: PretrainSettings, device: Device) -> bool:
    """Return whether a run's products are taken in 16 bits, and by units that are made for it.

    Args:
        settings: the run.
        device: where.
    """
    return settings.dtype == "fp16" or (settings.dtype in ("auto", "bf16") and device.bf16)


def rate_of(settings: PretrainSettings, machines: Machines) -> float:
    """Return the FLOP/s that a device is reckoned to reach in a run.

    Args:
        settings: the run.
        machines: where.
    """
    return (machines.share or share_of(settings, machines.device)) * peak_of(settings, machines.device)


def peak_of(settings: PretrainSettings, device: Device) -> float:
    """Return the device's peak in what the run computes in, FLOP/s.

    Args:
        settings: the run.
        device: where.
    """
    return device.peak if in_half(settings, device) else device.peak_fp32


def share_of(settings: PretrainSettings, device: Device) -> float:
    """Return the share of that peak that is assumed to be reached.

    Args:
        settings: the run.
        device: where.
    """
    return REACHED_FP32 if device.kind == "gpu" and not in_half(settings, device) else device.reached


def _micro_batches(settings: PretrainSettings, devices: int) -> float:
    return settings.samples_before(settings.steps) / settings.steps / (settings.micro_batch * devices)


def _hours(
    settings: PretrainSettings, vocab_size: int, count: int, machines: Machines, engine: str
) -> tuple[Step, float]:
    """Return a step, and the hours of all of them."""
    device = machines.device
    cluster = Cluster(
        machines.devices,
        machines.nodes,
        Link(device.link * REACHED, HOP_INSIDE),
        Link(machines.network * REACHED, HOP_BETWEEN),
    )
    took = step(
        micro_batch_flops(settings, vocab_size) / rate_of(settings, machines),
        _micro_batches(settings, machines.devices),
        count,
        (vocab_size + settings.length) * settings.model.hidden,
        settings.zero_stage,
        engine,
        settings.gradient_checkpointing,
        cluster,
        bucket_elements(settings, count),
        2 if settings.communication == "bf16" else 4,
    )
    return took, took.seconds * settings.steps / 3600
