"""Memory of a device in training, by part, at the fullest moment of a step.

State, bytes a parameter (P of them; n devices). Weights, gradients and AdamW's two moments (of another optimizer
`OptimizerKind.state_numbers`) are fp32 whatever the model computes in; ZeRO keeps a part of its own of the weights
(stages 1 and 2) that AdamW updates:

    stage   weights        gradients     moments   communication
    0       4              4             8         DistributedDataParallel: 4 where micro-batches are accumulated, whose
                                                   sum is beside the buckets, else none: gradients lie in the buckets
                                                   DeepSpeed: a flat copy of up to 500 M gradients
    1       4 + 4/n        4             8/n       a bucket and a copy to send (on a CPU the bucket has
                                                   memory only once gradients move there), then 4/n
    2       4 + 4/n        4/n           8/n       bucket and copy
    3       2·4/n          4/n           8/n       the same; and weights gathered for computing

(DeepSpeed copies the part that AdamW updates even if it is fp32 already. In use in each of two processes on a CPU the
sums of all stages are within 15% of what is measured: `tests/pretrain/cost/test_memory_measured.py`, a drill.)

At stage 3 DeepSpeed lets go of a weight only if it is not used again within 1e9 parameters. From the forward pass of a
layer to its backward pass there are twice the parameters after it, so a model of up to 0.5e9 is whole on every device
in the middle of each micro-batch; of a larger one the last 0.5e9 are.

Activations, bytes a token and layer, that the backward pass needs (h width, f feed-forward, w bytes of a number, 4 or
2; A heads, s tokens that see each other):

    input, queries, keys, values, what attention gives, first layer norm         6·w·h
    input of the two layer norms                                                 2·w·h; eager autocast on a GPU: 2·4·h
    feed-forward before and after GELU                                           2·w·f
    masks of the two dropouts of hidden states                                   2·h; on a CPU 2·w·h
    a number a head by which the softmax can be computed again                   4·A
    where no kernel does that (TPU; CPU with attention dropout; a model that
    has none, see `Architecture.score_bytes`): its weights                       w·A·s
    their dropout, and what it leaves                                            (1 + w)·A·s; on a CPU (w + w)·A·s

With f = 4h, 16 bits and dropout these are 34·h as in Korthikanti et al. 2022. Where layers are computed again, w·h a
layer stays, and one layer is whole. Uncompiled autocast keeps a 16-bit copy of the layers' weights beside all this.
Embeddings and the end of the model: (4 + w)·h a token, w·h or on a CPU 4·h for dropout's mask in it.

The head sees R predicted rows: (3·w + 4 + 4)·h each. Logits exist for a chunk of rows at a time (the cross-entropy of
`pretrain.kernels`), in fp32 and once more in 16 bits; the gradient of the V·h vocabulary weights is made with them, in
fp32, and with autocast a 16-bit copy of the weights and a 16-bit product; the backward pass scales that gradient into a
second one.

On a CPU the C library keeps what is freed, and gradients of weights take places among freed activations, so that those
of the next micro-batch lie elsewhere: resident memory is larger by 0.64 to 0.92 of the activations (glibc, six shapes
of 17 to 28 M parameters, measured); `GAPS` stands for it. Without these gaps the sum was met to 5%.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from pretrain.models.registry import ARCHITECTURES
from pretrain.objectives.registry import OBJECTIVES
from pretrain.optim.registry import OPTIMIZERS
from pretrain.parallel.buckets import bucket_elements
from pretrain.settings import PretrainSettings

FP32 = 4
FLAT_COPY = 500_000_000
"""Elements that DeepSpeed averages at a time without ZeRO."""
KEPT_GATHERED = 500_000_000
"""Parameters that ZeRO 3 holds whole in the middle of a micro-batch, at most."""
GAPS = 0.75
"""Share of the activations by which a CPU's allocator takes more than is in use."""
CPU_CHUNK_BYTES, CHUNK_BYTES = 32 << 20, 1 << 30
"""Logits at work, in fp32 (`pretrain.kernels.cross_entropy`)."""


@dataclass(frozen=True)
class Arithmetic:
    """The kind of a device, and how it computes."""

    kind: Literal["gpu", "tpu", "cpu"]
    width: int
    """Bytes of a number: 2 under autocast, else 4."""
    compiled: bool


@dataclass(frozen=True)
class Memory:
    """Bytes of a device, by part."""

    weights: float
    gathered: float
    """Whole weights, at ZeRO stage 3."""
    gradients: float
    moments: float
    communication: float
    """Buckets in which gradients are averaged."""
    activations: float
    head: float
    """Predicted rows, logits, and the gradient of the vocabulary's weights."""
    gaps: float
    """Free bytes between allocations, on a CPU."""

    @property
    def total(self) -> float:
        """Bytes of all parts together."""
        return float(sum(getattr(self, part.name) for part in fields(self)))

    @property
    def state(self) -> float:
        """What stays from step to step, and the gradients."""
        return self.weights + self.gradients + self.moments


def memory(
    settings: PretrainSettings, vocab_size: int, parameters: int, devices: int, arithmetic: Arithmetic, engine: str
) -> Memory:
    """Return the bytes that a device holds at the fullest moment of a run; `engine` is "torch" or "deepspeed"."""
    if settings.phases:
        phases = (phase.settings for phase in settings.every_phase)
        each = (memory(phase, vocab_size, parameters, devices, arithmetic, engine) for phase in phases)
        return max(each, key=lambda memory: memory.total)
    p, stage = float(parameters), settings.zero_stage
    accumulates = settings.global_batch > settings.micro_batch * devices
    states = float(OPTIMIZERS[settings.optimizer.type].state_numbers(settings, parameters))
    own, bucket = p / devices, min(p, bucket_elements(settings, p))
    weights, gradients, moments, gathered = (
        (p, p, states, 0.0),
        (p + own, p, states / devices, 0.0),
        (p + own, own, states / devices, 0.0),
        (2 * own, own, states / devices, min(p, KEPT_GATHERED)),
    )[stage]
    if stage == 1:
        buckets = max((1 if arithmetic.kind == "cpu" else 2) * bucket, own)
    elif stage:
        buckets = 2 * bucket
    elif devices == 1:
        buckets = 0.0
    elif engine == "torch":
        buckets = p if accumulates else 0.0
    else:
        buckets = min(p, FLAT_COPY)
    activations = _activations(settings, arithmetic)
    return Memory(
        weights=FP32 * weights,
        gathered=FP32 * gathered,
        gradients=FP32 * gradients,
        moments=FP32 * moments,
        communication=FP32 * buckets,
        activations=activations,
        head=_head(settings, vocab_size, arithmetic),
        gaps=GAPS * activations if arithmetic.kind == "cpu" else 0.0,
    )


def layer_bytes_per_token(settings: PretrainSettings, arithmetic: Arithmetic) -> float:
    """Return the bytes that a layer keeps of each token for the backward pass; see the top of this file."""
    model = settings.model
    w = arithmetic.width
    on_cpu = arithmetic.kind == "cpu"
    norm = FP32 if arithmetic.kind == "gpu" and not arithmetic.compiled else w
    mask = w if on_cpu else 1
    architecture = ARCHITECTURES[model.type]
    total = architecture.layer_bytes(model, w, norm, mask)
    if architecture.keeps_scores or arithmetic.kind == "tpu" or (on_cpu and model.dropped_attention):
        total += architecture.score_bytes(model, w, mask, settings.max_seq_len, arithmetic.compiled)
    return total


def _activations(settings: PretrainSettings, arithmetic: Arithmetic) -> float:
    model, w = settings.model, arithmetic.width
    tokens = settings.micro_batch * settings.max_seq_len
    layer = tokens * layer_bytes_per_token(settings, arithmetic)
    activations = layer + model.layers * tokens * w * model.hidden
    if not settings.gradient_checkpointing:
        activations = model.layers * layer
    mask = 0 if not model.dropout else FP32 if arithmetic.kind == "cpu" else w
    ends = tokens * (FP32 + w + mask) * model.hidden
    copies = 0.0
    if w < FP32 and not arithmetic.compiled:
        weights = ARCHITECTURES[model.type].layer_products(model)
        copies = float(w * weights * (1 if settings.gradient_checkpointing else model.layers))
    return activations + ends + copies


def _head(settings: PretrainSettings, vocab_size: int, arithmetic: Arithmetic) -> float:
    hidden, w = settings.model.hidden, arithmetic.width
    rows = settings.micro_batch * rows_of_sample(settings)
    most = (CPU_CHUNK_BYTES if arithmetic.kind == "cpu" else CHUNK_BYTES) // (FP32 * vocab_size)
    logits = min(rows, max(1, most)) * vocab_size * (FP32 + (w if w < FP32 else 0))
    table = vocab_size * hidden
    while_logits = logits + (2 * w * table if w < FP32 else 0)
    scaled = FP32 * table  # in the backward pass, when the logits are gone
    return float(rows * (3 * w + 2 * FP32) * hidden + FP32 * table + max(while_logits, scaled))


def rows_of_sample(settings: PretrainSettings) -> int:
    """Return how many positions of a sample the head computes, whatever the step of a phase."""
    return OBJECTIVES[settings.objective].rows(settings)


def largest_micro_batch(
    settings: PretrainSettings,
    vocab_size: int,
    parameters: int,
    devices: int,
    arithmetic: Arithmetic,
    engine: str,
    room: float,
    checkpointing: bool,
) -> tuple[int, int]:
    """Return the most samples of a micro-batch in `room` bytes, and the most that also divide the global batch.

    Neither is more than a device's share of the global batch; either is 0 where none fits.
    """

    def fits(micro_batch: int) -> bool:
        changed = settings.model_copy(update={"micro_batch": micro_batch, "gradient_checkpointing": checkpointing})
        return memory(changed, vocab_size, parameters, devices, arithmetic, engine).total <= room

    share = settings.smallest_batch // devices
    if share and fits(share):
        return share, largest_dividing(settings, devices, share)
    low, high = 0, max(0, share - 1)  # up to there, where gradients are accumulated, memory grows with the micro-batch
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low, largest_dividing(settings, devices, low)


def largest_dividing(settings: PretrainSettings, devices: int, at_most: int) -> int:
    """Return the largest micro-batch that so many devices can share every global batch in, 0 where there is none."""
    share = settings.smallest_batch // devices
    uneven = any(phase.settings.smallest_batch % devices for phase in settings.every_phase)
    return 0 if uneven else max((m for m in range(1, min(share, at_most) + 1) if share % m == 0), default=0)
