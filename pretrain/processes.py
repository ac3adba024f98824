"""A process of a run: its device, its threads, and the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from common.errors import UserError
from common.process import core_numbers
from pretrain.accelerator import GROUPS, device_of
from pretrain.lifeline import Lifeline
from pretrain.stores import group_store
from pretrain.world import LOOPBACK, WorldInfo, world_info

T = TypeVar("T")

COLLECTIVE_MINUTES = 30
"""For how long processes wait for each other in a step; work of the first one alone is waited for by the lifeline."""


@dataclass(frozen=True)
class Process:
    """This process of a run."""

    rank: int
    world: int
    host: str
    device: torch.device
    lifeline: Lifeline
    hosts: tuple[str, ...] = ()
    """Of all processes, by rank."""

    @property
    def first(self) -> bool:
        """Whether it is the first one, which writes what is written once."""
        return self.rank == 0

    def on_first(self, name: str, work: Callable[[], T]) -> T:
        """Return what `work` returns on the first process, on all of them; the others wait however long it takes.

        Args:
            name: of the work, for messages.
            work: returns what JSON can carry; what it raises ends all processes.
        """
        return self.lifeline.wait_for_first(name, work if self.first else None)


def share(value: Any) -> Any:
    """Return the first process's value on all of them."""
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return value
    box = [value]
    dist.broadcast_object_list(box)
    return box[0]


def place_process() -> WorldInfo:
    """Return where this process stands, by its environment, and set what libraries read of it.

    Raises:
        UserError: the environment contradicts itself.
    """
    info = world_info(os.environ)
    os.environ.update(info.environment())
    return info


def join_processes(info: WorldInfo, threads: int | None = None) -> Process:
    """Meet the other processes of the run, and return this one.

    Args:
        info: what `place_process` returned.
        threads: CPU threads of this process; None: its part of the cores that it may use.

    Raises:
        UserError: see `device_of`.
    """
    device = device_of(info)
    if device.type == "cuda":
        torch.cuda.set_device(device)  # before anything is put on the first one by default
    if info.world > 1:
        patience = timedelta(minutes=COLLECTIVE_MINUTES)
        dist.init_process_group(
            GROUPS[device.type],
            store=group_store(info, os.environ, patience),
            rank=info.rank,
            world_size=info.world,
            timeout=patience,
        )
    own = core_numbers()
    everywhere: list[Any] = [(info.host, own)]
    if info.world > 1:
        everywhere *= info.world
        dist.all_gather_object(everywhere, (info.host, own))
    here = [cores for host, cores in everywhere if host == info.host]
    torch.set_num_threads(threads or thread_count(own, here))
    address = LOOPBACK if info.local_world == info.world else info.address
    lifeline = Lifeline.start(info.rank, info.world, address, share)
    return Process(info.rank, info.world, info.host, device, lifeline, tuple(host for host, _ in everywhere))


def thread_count(own: frozenset[int], here: Sequence[frozenset[int]]) -> int:
    """Return the CPU threads of a process: of each core that it may use its part, at least 1 in all.

    Launchers differ: torchrun lets all processes of a machine use all its cores, srun may bind each task to its own.

    Args:
        own: cores that it may use.
        here: the same of every process on its machine, itself too.
    """
    return max(1, int(sum(Fraction(1, sum(core in cores for cores in here)) for core in own)))


def leave_processes() -> None:
    """Part from the other processes in order."""
    if dist.is_initialized():
        dist.destroy_process_group()


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turn running out of memory, on the device or the host, into an error that says what to do."""
    try:
        yield
    except RuntimeError as error:  # torch.OutOfMemoryError is one; a CPU's allocator has none of its own
        if not isinstance(error, torch.OutOfMemoryError) and "DefaultCPUAllocator" not in str(error):
            raise
        raise UserError(
            "the memory of the device does not hold a micro-batch",
            "weights, gradients, optimizer state and the activations of pretrain.micro_batch samples must fit",
            "halve pretrain.micro_batch (the global batch stays), or set pretrain.gradient_checkpointing=true",
        ) from None
