"""The DeepSpeed engine: environment, configuration and one optimizer step."""

from __future__ import annotations

import logging
import math
import os
import socket
import warnings
from datetime import timedelta
from typing import Any

import torch

from common.errors import UserError
from pretrain.loader import Loader
from pretrain.masking import MaskedBatch
from pretrain.model import MaskedRowsModel, Sums
from pretrain.order import key_of
from pretrain.samples import Batch
from pretrain.scaling import LossScale
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
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"torch\.distributed")  # of DeepSpeed's calls
    logging.getLogger("DeepSpeed").setLevel(logging.ERROR)


def device() -> torch.device:
    """Return the device of this process."""
    return torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")


def resolve_dtype(dtype: str) -> str:
    """Return "fp32", "bf16" or "fp16" for a dtype setting, by the device at hand."""
    if dtype != "auto":
        return dtype
    has_bf16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    return "bf16" if has_bf16 else "fp32"


BUCKET = 50_000_000
"""Elements of the gradient that ZeRO averages at a time; it holds them twice."""
HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}
"""Dtypes of 16 bits."""


def computing_in(dtype: str, device: torch.device) -> torch.autocast:
    """Return the context in which the engine computes a forward pass, for those that it does not see."""
    half = HALVES.get(resolve_dtype(dtype))
    return torch.autocast(device.type, half, enabled=half is not None)


def deepspeed_config(settings: PretrainSettings, world: int) -> dict[str, Any]:
    """Return the DeepSpeed configuration of a run on `world` processes."""
    config: dict[str, Any] = {
        # the largest batch: where a step ends, the trainer says
        "train_batch_size": settings.global_batch,
        "train_micro_batch_size_per_gpu": settings.micro_batch,
        "gradient_accumulation_steps": settings.global_batch // (settings.micro_batch * world),
        "gradient_clipping": settings.optimizer.clip if settings.zero_stage else 0.0,
        "zero_optimization": {"stage": settings.zero_stage, "reduce_bucket_size": BUCKET},
        # it would wait for the device twice a micro-batch
        "timers": {"throughput": {"enabled": False}},
        "zero_allow_untested_optimizer": True,
        "steps_per_print": 10**12,
        "wall_clock_breakdown": False,
    }
    if half := HALVES.get(resolve_dtype(settings.dtype)):
        # autocast keeps the weights in fp32, so checkpoints and exports lose nothing
        # and with no module named here, gradients are averaged in fp32 at every stage
        name = str(half).removeprefix("torch.")
        config["torch_autocast"] = {"enabled": True, "dtype": name, "lower_precision_safe_modules": []}
    return config


def parameter_groups(model: torch.nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Return AdamW groups: biases and LayerNorm weights (every vector) without decay, all else with it."""
    decayed = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    plain = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]
    return [{"params": decayed, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}]


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


def whole_weights(engine: Any) -> dict[str, torch.Tensor]:
    """Return the weights of the hub model, whole, on the CPU; all processes call this, the first gets them."""
    if engine.zero_optimization_stage() == 3:
        state = engine._zero3_consolidated_16bit_state_dict() or {}  # in the weights' own dtype, which is fp32
    else:
        state = engine.module.state_dict()
    return {name.removeprefix("hub."): tensor.cpu() for name, tensor in state.items()}


class ClippingAdamW(torch.optim.AdamW):
    """AdamW that undoes the loss scale, clips, and leaves a step out that is to be skipped or has no finite gradient.

    Under ZeRO the gradient is in parts, and DeepSpeed does all of it.
    """

    clip: float | None = None
    """Largest norm, 0 for any; None leaves all of that to DeepSpeed."""
    loss_scale = 1.0
    """Factor of the gradient that is undone."""
    skip = False
    """Whether the next step is left out, and afterwards whether it was."""
    norm = 0.0
    """Norm of the last gradient, before clipping."""

    def step(self, closure: Any = None) -> Any:
        """Update the weights, or not."""
        if self.clip is not None and not self.skip:
            clipped = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
            if self.loss_scale != 1:
                torch._foreach_div_([p.grad for p in clipped], self.loss_scale)
            norm = torch.nn.utils.get_total_norm([p.grad for p in clipped])
            self.norm = float(norm)
            self.skip = not math.isfinite(self.norm)
            if self.clip and not self.skip:
                torch.nn.utils.clip_grads_with_norm_(clipped, self.clip, norm)
        return None if self.skip else super().step(closure)


def speed_up(model: MaskedRowsModel, settings: PretrainSettings) -> None:
    """Have the model compute as fast as its device can: in 16 bits throughout, and compiled, where the run asks for it.

    Autocast gives back layer norms in single precision, and with them all that is added up between the layers: twice
    the memory traffic. Here they come out in the type that everything else is computed in.
    """
    half = HALVES.get(resolve_dtype(settings.dtype))
    if half:
        for module in model.modules():
            if isinstance(module, torch.nn.LayerNorm):
                module.register_forward_hook(lambda _module, _inputs, output: output.to(half))
    compiled = settings.compile
    if compiled is None:
        compiled = torch.cuda.is_available() and settings.zero_stage < 3
    if compiled:
        model.compile(dynamic=False)


def rehearse(
    model: MaskedRowsModel, arguments: dict[str, torch.Tensor | None], settings: PretrainSettings, world: int
) -> None:
    """Compute a micro-batch forwards and backwards, beside the room that AdamW will take, and forget it.

    So a micro-batch that does not fit is found before the run begins, not an hour later. At ZeRO stage 3, where no
    process ever holds the whole model, nothing is rehearsed.

    Raises:
        UserError: the device's memory does not hold it.
    """
    if settings.zero_stage == 3:
        return
    place = device()
    model.to(place).train()
    weights = sum(p.numel() for p in model.parameters())
    try:
        held = 2 * weights  # moments
        if settings.zero_stage:  # a part of them, of the weights and of the gradients, and what is being averaged
            held = 4 * weights // world + 2 * min(BUCKET, weights)
        room = torch.empty(held, device=place)
        with computing_in(settings.dtype, place):
            sums = model(**arguments)
        (sums.loss + sums.pair_loss).backward()
        del room, sums
    except torch.OutOfMemoryError:
        raise UserError(
            "a micro-batch does not fit into the memory of the device",
            "weights, gradients, optimizer state and the activations of pretrain.micro_batch samples must fit",
            "halve pretrain.micro_batch (the global batch stays), or set pretrain.gradient_checkpointing=true",
        ) from None
    except Exception as error:
        if not type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
            raise
        raise UserError(
            f"torch.compile does not work here: {str(error).strip().splitlines()[0]}",
            "it needs a C++ compiler, and on a GPU triton",
            "set pretrain.compile=false",
        ) from None
    model.zero_grad(set_to_none=True)
    if place.type == "cuda":
        torch.cuda.empty_cache()


def start_engine(model: MaskedRowsModel, settings: PretrainSettings, universal: bool = False) -> Any:
    """Return the DeepSpeed engine for the model, with AdamW; after `join_processes`.

    Args:
        model: with fresh weights, or those to go on from.
        settings: the run.
        universal: whether it will load a checkpoint made for any number of processes.
    """
    import deepspeed

    o = settings.optimizer
    optimizer = ClippingAdamW(
        parameter_groups(model, o.weight_decay),
        lr=o.lr,
        betas=(o.beta1, o.beta2),
        eps=o.eps,
        fused=True,
    )
    if not settings.zero_stage:
        optimizer.clip = o.clip
    config = deepspeed_config(settings, torch.distributed.get_world_size())
    engine, *_ = deepspeed.initialize(
        model=model,
        optimizer=optimizer,
        config=config | ({"checkpoint": {"load_universal": True}} if universal else {}),
        dist_init_required=False,
    )
    # DeepSpeed's own scale of autocast is in no checkpoint, and under ZeRO an overflow never lowers it
    engine.torch_autocast_z0_gradscaler = None
    if settings.zero_stage:
        engine.optimizer.torch_autocast_gradscaler = None
    if settings.zero_stage == 3:
        decoder = model.hub.get_output_embeddings()
        for parameter in (decoder.weight, decoder.bias):  # the loss takes them from another module
            deepspeed.zero.register_external_parameter(model, parameter)
    return engine


def restore(engine: Any, folder: str, tag: str) -> None:
    """Load a checkpoint's state into the engine."""
    engine.load_checkpoint(folder, tag=tag)
    # a universal checkpoint leaves AdamW's counts of steps on the CPU, where its fused kernel cannot read them
    for parameter, state in engine.basic_optimizer.state.items():
        if "step" in state:
            state["step"] = torch.as_tensor(state["step"], dtype=torch.float32, device=parameter.device)


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
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    if device.type != "cuda":
        return tensors
    # from other memory a copy would wait for all that the device still has to do
    return {name: tensor.pin_memory().to(device, non_blocking=True) for name, tensor in tensors.items()}


TOTALS = (*Sums._fields, "tokens")
"""What a step adds up: the model's sums, and positions that are not padding."""


AVERAGED = 100
"""Steps over which the running mean of the loss goes, about."""


class Trainer:
    """One optimizer step, and the validation loss.

    Args:
        engine: the DeepSpeed engine.
        loader: source of batches.
        average: running mean of the loss so far; None at the beginning.
        scaling: what `scale.state` was; None at the beginning.
    """

    def __init__(
        self, engine: Any, loader: Loader, average: float | None = None, scaling: tuple[float, int] | None = None
    ) -> None:
        self.engine, self.loader, self.settings = engine, loader, loader.settings
        self.gradient_norm = 0.0
        """Norm of the last gradient asked for, before clipping."""
        self.average = average
        """Running mean of the loss a predicted token; with the engine's state all that a step depends on."""
        self.scale = LossScale(*scaling or ()) if resolve_dtype(self.settings.dtype) == "fp16" else None
        self.skipped = False
        """Whether the last batch was skipped."""
        self.overflowed = False
        """Whether it was for the loss scale: the next ones are computed with a smaller one."""

    def step(
        self, step: int, lr: float, micro_batches: list[tuple[Batch, MaskedBatch]], measure_norm: bool
    ) -> torch.Tensor:
        """Do one optimizer step and return this process's `TOTALS`, float64, on the device; of a skipped batch, zeros.

        The gradient is the sum of the losses over the global batch divided by a constant (what it would predict without
        padding), so every predicted token weighs the same, whatever micro-batch or process it is in; the mean loss of
        the pairs is added to it. Dropout is drawn from (seed, step, place of the micro-batch), so a resumed run repeats
        nothing and stores no random state. A batch without a finite loss and gradient, or whose loss leaps up, changes
        nothing; in fp16 the loss scale alone learns from an overflow.
        """
        optimizer, average = self.engine.basic_optimizer, self.average
        for group in self.engine.optimizer.param_groups:
            group["lr"] = lr
        factor = self._begin_scaling(optimizer)
        accepted = False
        totals = torch.zeros(len(TOTALS), dtype=torch.float64, device=self.engine.device)
        for a, (batch, masked) in enumerate(micro_batches):
            last = a == len(micro_batches) - 1
            self.engine.set_gradient_accumulation_boundary(last)
            place = a * self.loader.world + self.loader.rank
            torch.manual_seed(key_of(self.settings.seed, 3, step, place) % 2**63)
            sums = self.engine(**to_device(batch, masked, self.settings.samples, self.engine.device))
            totals += _totals(sums, batch)
            loss = sums.loss / masked.expected + sums.pair_loss / len(batch.ids_BS)
            if last:
                accepted = self._accept(totals)
                optimizer.skip = not accepted
                if optimizer.skip:
                    loss = loss * math.nan  # ZeRO has a step of its own, which passes over what is not finite
            # the engine averages over processes; its number of micro-batches is that of the largest batch
            self.engine.backward(loss * factor / len(micro_batches), scale_wrt_gas=False)
            self.engine.step()
        self.skipped = optimizer.skip or bool(getattr(self.engine.optimizer, "overflow", False))
        self.overflowed = accepted and self.scale is not None and self.scale.update(overflow=self.skipped)
        if self.skipped:
            self.average = average
            return torch.zeros_like(totals)
        if measure_norm:
            norm = self.engine.get_global_grad_norm() if self.settings.zero_stage else optimizer.norm
            self.gradient_norm = float(norm or 0.0)
        return totals

    def _begin_scaling(self, optimizer: ClippingAdamW) -> float:
        """Have the loss scale undone at this step, and return what the loss is to be multiplied by."""
        if self.scale is None:
            return 1.0
        if self.settings.zero_stage:
            self.engine.optimizer.override_loss_scale(self.scale.factor)  # it multiplies, too
            return 1.0
        optimizer.loss_scale = self.scale.factor
        return self.scale.factor

    def _accept(self, totals: torch.Tensor) -> bool:
        """Return whether the batch may change the weights, the same on all processes; note its loss if so."""
        sums = totals[[0, 2, 3]].clone()
        if self.loader.world > 1:
            torch.distributed.all_reduce(sums)
        loss = float(sums[0] / sums[1])
        leaps = self.average is not None and loss > self.settings.spike * self.average
        if leaps or not math.isfinite(loss + float(sums[2])):
            return False
        self.average = loss if self.average is None else self.average + (loss - self.average) / AVERAGED
        return True

    @torch.no_grad()
    def validate(self) -> torch.Tensor:
        """Return `TOTALS` over this process's held-out samples; draws no random number."""
        self.engine.eval()
        totals = torch.zeros(len(TOTALS), dtype=torch.float64, device=self.engine.device)
        own = list(self.loader.validation())
        for number in range(self.loader.validation_batches):
            # under ZeRO 3 processes fetch weights together: one that has no batch left computes along
            batch, masked = own[number] if number < len(own) else self.loader.micro_batches(0)[0]
            arguments = to_device(batch, masked, self.settings.samples, self.engine.device)
            with computing_in(self.settings.dtype, self.engine.device):
                found = _totals(self.engine.module(**arguments), batch)
            if number < len(own):
                totals += found
        self.engine.train()
        return totals.cpu()


def _totals(sums: Sums, batch: Batch) -> torch.Tensor:
    """Return a micro-batch's `TOTALS`, on the device, so that nothing waits for it."""
    tokens = torch.full((), float(batch.lengths_B.sum()), dtype=torch.float64, device=sums.loss.device)
    return torch.stack([value.detach().double() for value in (*sums, tokens)])
