"""A process of a run: its environment, its device, what it computes in, and the others."""

from __future__ import annotations

import logging
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist

from common.errors import UserError
from common.process import available_cores

HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}
"""Dtypes of 16 bits."""


def prepare_environment(threads: int | None) -> None:
    """Set what DeepSpeed reads from the environment when no launcher did, and the number of CPU threads.

    A single process is a world of one; without these DeepSpeed would look for MPI.
    """
    if "RANK" not in os.environ:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        os.environ |= {
            "RANK": "0",
            "LOCAL_RANK": "0",
            "WORLD_SIZE": "1",
            "LOCAL_WORLD_SIZE": "1",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
        }
    if not torch.cuda.is_available():
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    torch.set_num_threads(threads or max(1, available_cores() // local))
    os.environ.setdefault("DEEPSPEED_LOG_LEVEL", "error")
    warnings.filterwarnings("ignore", module="deepspeed")
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"torch\.distributed")  # of DeepSpeed's calls
    logging.getLogger("DeepSpeed").setLevel(logging.ERROR)


def device() -> torch.device:
    """Return the device of this process."""
    return torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")


def summed(values: torch.Tensor) -> list[float]:
    """Return a vector's sum over all processes; every process calls it, and `values` stays as it is."""
    if dist.is_initialized() and dist.get_world_size() > 1:
        values = values.clone()
        dist.all_reduce(values)
    return [float(value) for value in values]


def any_process(asked: bool) -> bool:
    """Return whether any process says so, the same answer on all of them."""
    return asked if dist.get_world_size() == 1 else summed(torch.tensor([float(asked)], device=device()))[0] > 0


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turn a device's or a machine's want of memory into an error that says what to do."""
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


def resolve_dtype(dtype: str) -> str:
    """Return "fp32", "bf16" or "fp16" for a dtype setting, by the device at hand."""
    if dtype != "auto":
        return dtype
    has_bf16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    return "bf16" if has_bf16 else "fp32"


def computing_in(dtype: str, device: torch.device) -> torch.autocast:
    """Return the context in which the engine computes a forward pass, for those that it does not see."""
    half = HALVES.get(resolve_dtype(dtype))
    return torch.autocast(device.type, half, enabled=half is not None)


def join_processes() -> None:
    """Meet the other processes of the run."""
    import deepspeed

    logging.getLogger("DeepSpeed").setLevel(logging.ERROR)  # its import has set another
    local, gpus = int(os.environ.get("LOCAL_WORLD_SIZE", "1")), torch.cuda.device_count()
    if torch.cuda.is_available() and local > gpus:
        raise UserError(
            f"{local} processes on a machine with {gpus} GPUs", "a process has a GPU of its own",
            f"set pretrain.processes={gpus}",
        )  # fmt: skip
    if torch.cuda.is_available():
        torch.cuda.set_device(device())  # before anything is put on the first one by default
    # on CPUs DeepSpeed would compile a shared-memory all-reduce when it starts: minutes, a C++ compiler, and a lock
    # that a killed build leaves behind; gloo does the same work
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed(
        dist_backend="nccl" if torch.cuda.is_available() else "gloo",
        timeout=timedelta(hours=2),  # the first process may plan samples for so long
        verbose=False,
    )
