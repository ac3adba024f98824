"""Settings of the tune stage."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from common.settings import Settings, place, runtime
from pretrain.settings import Tracking, Wandb


class LoraSettings(Settings):
    """LoRA: small matrices beside every linear layer but the head are trained, the base's weights are not."""

    rank: int = Field(16, ge=1)
    """Rank of the matrices. A higher rank learns more and takes more memory."""
    alpha: int = Field(32, ge=1)
    """Scale of what the matrices add: alpha / rank. Twice the rank is usual."""
    dropout: float = Field(0.05, ge=0, lt=1)
    """Dropout of the matrices' inputs, against overfitting on few examples."""


class TuneOptimizerSettings(Settings):
    """AdamW and its schedule; the defaults are usual for tuning decoders of 1 to 10 billion weights."""

    learning_rate: float = Field(5e-5, gt=0)
    """Peak learning rate. LoRA needs about ten times the rate for tuning all weights."""
    beta1: float = Field(0.9, ge=0, lt=1)
    """Adam β1."""
    beta2: float = Field(0.999, ge=0, lt=1)
    """Adam β2."""
    weight_decay: float = Field(0.0, ge=0)
    """Decoupled weight decay; biases and norms have none."""
    warmup_share: float = Field(0.03, ge=0, lt=1)
    """Share of all steps in which the rate rises from 0. Raise it if the loss spikes at the start."""
    schedule: Literal["linear", "cosine", "constant_with_warmup"] = "linear"
    """Learning rate after the warm-up: it falls to 0 linearly or as a half cosine, or stays constant."""
    max_grad_norm: float = Field(1.0, ge=0)
    """Largest gradient norm; 0 clips nothing."""


class TuneSettings(Settings):
    """Tuning of a causal decoder on instructions."""

    base: str = place()
    """Model to tune: a transformers folder or hf:OWNER/NAME@COMMIT, loaded without remote code."""
    max_seq_len: int = Field(1024, ge=8)
    """Maximum tokens of an example, end token included, at most the base's positions; longer ones are quarantined."""
    lora: LoraSettings | None = None
    """LoRA; None trains all weights."""
    epochs: int = Field(2, ge=1)
    """Passes over all examples."""
    global_batch: int = Field(128, ge=1)
    """Examples in an optimizer step over all processes."""
    micro_batch: int = Field(4, ge=1)
    """Examples of similar length that a process computes at once; the global batch is accumulated from these. Choose it
    by memory. It decides which examples share a step, so another value gives another model."""
    optimizer: TuneOptimizerSettings = TuneOptimizerSettings()
    """Optimizer and learning-rate schedule."""
    seed: int = Field(42, ge=0, lt=2**32)
    """Seed of micro-batches, their order, LoRA's initial weights and dropout."""
    dtype: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """Type of the computation, of LoRA's frozen base and of the final model; trained weights are fp32 (under DeepSpeed
    their masters). `auto`: bf16 on a GPU that has it, else fp32. `fp16` has a loss scale."""
    gradient_checkpointing: bool = runtime(False)
    """Recompute layers in the backward pass: less memory, a third more time."""
    zero_stage: Literal[0, 1, 2, 3] = runtime(0)
    """DeepSpeed ZeRO stage: what is sharded over the processes. 1: the optimizer state, 2: the gradients too, 3: the
    weights too. A run must resume with the stage and the number of processes that it began with."""
    processes: int = runtime(1, ge=1)
    """Processes on this machine, one per GPU; torchrun and srun set the number themselves. A run must resume with the
    number that it began with."""
    threads: int | None = runtime(None, ge=1)
    """CPU threads per process; None divides the cores. On a CPU, bit-equal reruns need the same number."""
    checkpoint_every: int = runtime(200, ge=1)
    """Steps between checkpoints; a kill loses at most this many."""
    keep_last: int = runtime(2, ge=1)
    """Checkpoints kept. With one, nothing is left to resume from where it is damaged."""
    log_every: int = runtime(10, ge=1)
    """Steps between two lines of metrics."""
    tracking: Tracking = runtime([])
    """Trackers that show the metrics: `wandb` (as `wandb: auto`), `trackio`, `tensorboard` (files in the stage's
    `logs/tensorboard`). trackio and tensorboard are extras of these names. `metrics.jsonl` is written in any case."""
    wandb: Wandb = runtime("off")
    """`auto`: online when logged in, else offline. `off`: nothing is sent unless `tracking` names wandb; metrics go to
    JSON Lines in any case."""
    wandb_project: str = runtime("hunmin")
    """Project name in wandb and trackio."""

    @model_validator(mode="after")
    def _batches_divide(self) -> TuneSettings:
        if fault := self.batch_fault(self.processes):
            raise ValueError(fault)
        return self

    def batch_fault(self, processes: int) -> str:
        """Return why so many processes cannot share a global batch evenly; "" when they can."""
        whole = self.micro_batch * processes
        fault = f"tune.global_batch ({self.global_batch}) must be a multiple of micro_batch × processes ({whole})"
        return f"{fault}, e.g. {-(-self.global_batch // whole) * whole}" if self.global_batch % whole else ""
