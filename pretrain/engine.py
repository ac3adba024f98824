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
from pretrain.model import MaskedRowsModel, Sums
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


def join_processes() -> None:
    """Meet the other processes of the run."""
    import deepspeed

    # on CPUs DeepSpeed would compile a shared-memory all-reduce when it starts: minutes, a C++ compiler, and a lock
    # that a killed build leaves behind; gloo does the same work
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed(dist_backend="nccl" if torch.cuda.is_available() else "gloo", verbose=False)


def start_engine(model: MaskedRowsModel, settings: PretrainSettings) -> Any:
    """Return the DeepSpeed engine for the model, with AdamW; after `join_processes`."""
    import deepspeed

    o = settings.optimizer
    optimizer = torch.optim.AdamW(
        parameter_groups(model, o.weight_decay),
        lr=o.lr,
        betas=(o.beta1, o.beta2),
        eps=o.eps,
        fused=True,
    )
    engine, *_ = deepspeed.initialize(
        model=model,
        optimizer=optimizer,
        config=deepspeed_config(settings, torch.distributed.get_world_size()),
        dist_init_required=False,
    )
    return engine


def to_device(batch: Batch, masked: MaskedBatch, samples: str, device: torch.device) -> dict[str, torch.Tensor | None]:
    """Return the model's arguments on the device; lengths are None when nothing is padded.

    Args:
        batch: before masking.
        masked: the same batch, masked.
        samples: their kind.
        device: where the model is.
    """
    arrays: dict[str, Any] = {"ids_BS": masked.ids_BS, "rows_BM": masked.rows_BM, "labels_BM": masked.labels_BM}
    if samples == "packed":
        arrays["texts_BS"] = batch.texts_BS
    elif batch.padded:
        arrays["lengths_B"] = batch.lengths_B
    if samples == "sentence-pairs":
        arrays |= {"texts_BS": batch.texts_BS, "follows_B": batch.follows_B}
    return {name: torch.from_numpy(array).to(device, non_blocking=True) for name, array in arrays.items()}


TOTALS = (*Sums._fields, "tokens")
"""What a step adds up: the model's sums, and positions that are not padding."""


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
        """Do one optimizer step and return this process's `TOTALS`, float64.

        The gradient is the sum of the losses over the global batch divided by a constant (rows a full batch has),
        so every predicted token weighs the same, whatever micro-batch or process it is in; the mean loss of the pairs
        is added to it. Dropout is drawn from
        (seed, step, place of the micro-batch), so a resumed run repeats nothing and stores no random state.
        """
        for group in self.engine.optimizer.param_groups:
            group["lr"] = lr
        totals = torch.zeros(len(TOTALS), dtype=torch.float64)
        for a, (batch, masked) in enumerate(micro_batches):
            place = a * self.loader.world + self.loader.rank
            torch.manual_seed(key_of(self.settings.seed, 3, step, place) % 2**63)
            sums = self.engine(**to_device(batch, masked, self.settings.samples, self.engine.device))
            # the engine divides by the accumulation steps and averages over processes
            self.engine.backward(sums.loss / masked.labels_BM.size + sums.pair_loss / len(batch.ids_BS))
            if measure_norm and a == len(micro_batches) - 1 and not self.settings.zero_stage:
                gradients = [p.grad for p in self.engine.module.parameters() if p.grad is not None]
                self.gradient_norm = float(torch.nn.utils.get_total_norm(gradients))
            self.engine.step()
            totals += _totals(sums, batch)
        if measure_norm and self.settings.zero_stage:
            self.gradient_norm = float(self.engine.get_global_grad_norm() or 0.0)
        return totals

    @torch.no_grad()
    def validate(self) -> torch.Tensor:
        """Return `TOTALS` over this process's held-out samples; draws no random number."""
        self.engine.eval()
        totals = torch.zeros(len(TOTALS), dtype=torch.float64)
        for batch, masked in self.loader.validation():
            arguments = to_device(batch, masked, self.settings.samples, self.engine.device)
            totals += _totals(self.engine.module(**arguments), batch)
        self.engine.train()
        return totals


def _totals(sums: Sums, batch: Batch) -> torch.Tensor:
    counted = torch.stack([value.detach().double() for value in sums]).cpu()
    return torch.cat([counted, torch.tensor([batch.lengths_B.sum()], dtype=torch.float64)])
