"""The DeepSpeed engine: environment, configuration and one optimizer step."""

from __future__ import annotations

import logging
import os
import socket
import warnings
from typing import Any

import torch

from pretrain.loader import Loader
from pretrain.masking import MaskedBatch
from pretrain.model import MaskedRowsModel
from pretrain.order import key_of
from pretrain.samples import Batch
from pretrain.settings import PretrainSettings


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
    torch.set_num_threads(threads or max(1, (os.cpu_count() or 1) // local))
    os.environ.setdefault("DEEPSPEED_LOG_LEVEL", "error")
    warnings.filterwarnings("ignore", module="deepspeed")
    logging.getLogger("DeepSpeed").setLevel(logging.ERROR)


def resolve_dtype(dtype: str) -> str:
    """Return "fp32" or "bf16" for a dtype setting, by the device at hand."""
    if dtype != "auto":
        return dtype
    return "bf16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else "fp32"


def deepspeed_config(settings: PretrainSettings, world: int) -> dict[str, Any]:
    """Return the DeepSpeed configuration of a run on `world` processes."""
    config: dict[str, Any] = {
        "train_batch_size": settings.global_batch,
        "train_micro_batch_size_per_gpu": settings.micro_batch,
        "gradient_accumulation_steps": settings.global_batch // (settings.micro_batch * world),
        "gradient_clipping": settings.optimizer.clip,
        "zero_optimization": {"stage": settings.zero_stage},
        "zero_allow_untested_optimizer": True,
        "steps_per_print": 10**12,
        "wall_clock_breakdown": False,
    }
    if resolve_dtype(settings.dtype) == "bf16":
        # autocast keeps the weights in fp32, so checkpoints and exports lose nothing
        config["torch_autocast"] = {"enabled": True, "dtype": "bfloat16"}
    return config


def parameter_groups(model: torch.nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Return AdamW groups: biases and LayerNorm weights (every vector) without decay, all else with it."""
    decayed = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    plain = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]
    return [{"params": decayed, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}]


def start_engine(model: MaskedRowsModel, settings: PretrainSettings) -> Any:
    """Return the DeepSpeed engine for the model, with AdamW."""
    import deepspeed

    # on CPUs DeepSpeed would compile a shared-memory all-reduce when it starts: minutes, a C++ compiler, and a lock
    # that a killed build leaves behind; gloo does the same work
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    o = settings.optimizer
    optimizer = torch.optim.AdamW(
        parameter_groups(model, o.weight_decay),
        lr=o.lr,
        betas=(o.beta1, o.beta2),
        eps=o.eps,
        fused=torch.cuda.is_available() or None,
    )
    deepspeed.init_distributed(dist_backend="nccl" if torch.cuda.is_available() else "gloo", verbose=False)
    engine, *_ = deepspeed.initialize(
        model=model,
        optimizer=optimizer,
        config=deepspeed_config(settings, torch.distributed.get_world_size()),
        dist_init_required=False,
    )
    return engine


def to_device(batch: Batch, masked: MaskedBatch, device: torch.device) -> tuple[torch.Tensor | None, ...]:
    """Return the model's arguments on the device; lengths are None when nothing is padded."""
    padded = bool((batch.lengths_B < batch.ids_BS.shape[1]).any())
    arrays = (masked.ids_BS, batch.lengths_B if padded else None, masked.rows_BM, masked.labels_BM)
    return tuple(None if a is None else torch.from_numpy(a).to(device, non_blocking=True) for a in arrays)


class Trainer:
    """One optimizer step, and the validation loss; it owns no state beyond the engine's.

    Args:
        engine: the DeepSpeed engine.
        loader: source of batches.
    """

    def __init__(self, engine: Any, loader: Loader) -> None:
        self.engine, self.loader, self.settings = engine, loader, loader.settings
        self.gradient_norm = 0.0
        """Norm of the last gradient asked for, before clipping."""

    def step(
        self, step: int, lr: float, micro_batches: list[tuple[Batch, MaskedBatch]], measure_norm: bool
    ) -> torch.Tensor:
        """Do one optimizer step and return (loss sum, right, predicted) of this process, float64 of shape (3,).

        The gradient is the sum of the losses over the global batch divided by a constant (rows a full batch has),
        so every predicted token weighs the same, whatever micro-batch or process it is in. Dropout is drawn from
        (seed, step, place of the micro-batch), so a resumed run repeats nothing and stores no random state.
        """
        for group in self.engine.optimizer.param_groups:
            group["lr"] = lr
        totals = torch.zeros(3, dtype=torch.float64)
        for a, (batch, masked) in enumerate(micro_batches):
            place = a * self.loader.world + self.loader.rank
            torch.manual_seed(key_of(self.settings.seed, 3, step, place) % 2**63)
            loss, right, predicted = self.engine(*to_device(batch, masked, self.engine.device))
            # the engine divides by the accumulation steps and averages over processes
            self.engine.backward(loss / masked.labels_BM.size)
            if measure_norm and a == len(micro_batches) - 1 and not self.settings.zero_stage:
                gradients = [p.grad for p in self.engine.module.parameters() if p.grad is not None]
                self.gradient_norm = float(torch.nn.utils.get_total_norm(gradients))
            self.engine.step()
            totals += torch.stack([loss.detach().double(), right.double(), predicted.double()]).cpu()
        if measure_norm and self.settings.zero_stage:
            self.gradient_norm = float(self.engine.get_global_grad_norm() or 0.0)
        return totals

    @torch.no_grad()
    def validate(self) -> torch.Tensor:
        """Return (loss sum, right, predicted) over this process's held-out samples; draws no random number."""
        self.engine.eval()
        totals = torch.zeros(3, dtype=torch.float64)
        for batch, masked in self.loader.validation():
            loss, right, predicted = self.engine.module(*to_device(batch, masked, self.engine.device))
            totals += torch.stack([loss.double(), right.double(), predicted.double()]).cpu()
        self.engine.train()
        return totals
