"""The device of a process (GPU, TPU core or CPU), and the backend by which processes exchange tensors.

TPUs are reached through TorchTPU (https://github.com/google-pytorch/torch_tpu), which follows PyTorch/XLA: where it is
installed and the machine has a TPU, `import torch` registers the device type "tpu".
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import torch

from common.errors import UserError
from pretrain.parallel.world import WorldInfo

TPU_VARIABLES = ("TORCH_TPU_TOPOLOGY", "TORCH_TPU_SLICEBUILDER_ADDRESSES")
"""Variables by which the processes on a TPU slice find each other; the launcher sets them, the same for all."""
GROUPS = {"cuda": "nccl", "tpu": "cpu:gloo,tpu:tpu_dist", "cpu": "gloo"}
"""Type of device → backend of torch.distributed."""


def accelerator() -> str:
    """Return the type of this machine's device: "cuda", "tpu" or "cpu"."""
    if torch.cuda.is_available():
        return "cuda"
    device = torch.accelerator.current_accelerator(check_available=True)
    return "tpu" if device is not None and device.type == "tpu" else "cpu"


def named_device(name: str) -> torch.device:
    """Return the device that a user names. Raises UserError where torch knows none of that name, or it is not here."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # on "meta" nothing is computed
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UserError(
            f"device {name}: {str(error).splitlines()[0][:200]}",
            "a device is cpu, or a GPU of this machine (cuda, cuda:1 …)",
            "name another; hunmin doctor says what is here",
        ) from None
    return device


def device_of(info: WorldInfo, environment: Mapping[str, str] = os.environ) -> torch.device:
    """Return the device of a process.

    Raises:
        UserError: there are more processes than GPUs on this machine, or processes on TPUs that cannot find each other.
    """
    kind = accelerator()
    if kind == "cuda":
        return torch.device(kind, info.device_index(torch.cuda.device_count()))
    missing = [name for name in TPU_VARIABLES if not environment.get(name)]
    addresses = environment.get(TPU_VARIABLES[1], "").split(",")
    if kind == "tpu" and info.world > 1 and (missing or len(addresses) != info.world):
        raise UserError(
            f"{info.world} processes on TPUs without {' and '.join(missing)}"
            if missing
            else f"{info.world} processes on TPUs with {len(addresses)} addresses in {TPU_VARIABLES[1]}",
            "each process has a chip of its own, and finds those of the others by their addresses",
            "start them with hunmin launch --launcher xla, or set what `python -m torch.tpu.distributed` prints",
        )
    return torch.device(kind)  # of a TPU's cores a process sees its own one alone
