"""Seconds of a step: computation of each device, communication between them, and how far the two overlap.

    c     seconds in which a device computes one micro-batch: its FLOPs by the rate that is reached
    β     share of c that is the backward pass: 2/3, or 3/4 where layers are computed again (a forward pass more)
    a     micro-batches of a device a step
    R     all-reduce of the gradients, 4 bytes a parameter or 2 (`pretrain.grad_reduce_dtype`), see `pretrain.cost`
    r     all-reduce of those that are ready last, the embeddings': nothing is left to compute beside it
    S, G  reduce-scatter of the gradients, all-gather of the weights; each half of R
    g     share of the weights that ZeRO 3 gathers once more for the backward pass: those beyond 0.5e9

What the engines do at each stage of ZeRO, and the step's seconds by it:

    0, torch      averages during the last micro-batch's backward pass        (a − β)·c + max(β·c, R − r) + r
    0, deepspeed  averages after it                                           a·c + R
    1             averages within the last backward pass, a bucket at a
                  time (an all-reduce of it all, of which each device keeps
                  its part), and gathers the new weights                      a·c + R + G
    2             averages within every micro-batch's backward pass           a·(c + R) + G
    3             gathers weights ahead of the layers, scatters gradients
                  behind them, beside the computing of every micro-batch      a·(max((1 − β)·c, G) + max(β·c, S + g·G))

DeepSpeed is asked to send beside the computing at stages 1 and 2 as well; how much of R that hides has not been
measured, so it is all counted.

Not in it: the optimizer's update, the sums of a step's few scalars, and validation and checkpoints between steps.
"""

from __future__ import annotations

from dataclasses import dataclass

from pretrain.cost.communication import Cluster, all_gather, all_reduce, reduce_scatter
from pretrain.cost.memory import FP32, KEPT_GATHERED
from pretrain.models.registry import ARCHITECTURES
from pretrain.objectives.registry import OBJECTIVES
from pretrain.settings import PretrainSettings

DEEPSPEED_BUCKET = 2_000_000_000
"""Bytes that DeepSpeed averages at a time without ZeRO."""
GATHER_BUCKET = 2_000_000_000
"""Bytes of weights that ZeRO 1 and 2 gather at a time."""


@dataclass(frozen=True)
class Step:
    """Seconds of an optimizer step."""

    compute: float
    communication: float
    """Seconds in all, whether or not computation overlaps them."""
    seconds: float
    """Seconds of the step."""

    @property
    def waiting(self) -> float:
        """Seconds in which nothing is computed."""
        return self.seconds - self.compute


def flops_per_token(settings: PretrainSettings, vocab_size: int, head: bool = True) -> float:
    """Return forward + backward FLOPs a token, on average over the run: a phase weighs as many tokens as it takes."""
    architecture, total = ARCHITECTURES[settings.model.type], 0.0
    before = settings.positions_before
    for phase, first, end in settings.every_phase:
        objective = OBJECTIVES[phase.objective]
        share = objective.predicted_share(phase, first, end) if head else 0.0
        span = objective.span(phase.max_seq_len)
        weight = (before(end) - before(first)) / before(settings.steps)
        total += weight * architecture.flops_per_token(phase.model, vocab_size, span, share)
    return total


def micro_batch_flops(settings: PretrainSettings, vocab_size: int) -> float:
    """Return the FLOPs that a device computes for a mean micro-batch, those of layers computed again too."""
    per_token = flops_per_token(settings, vocab_size)
    if settings.gradient_checkpointing:
        per_token += flops_per_token(settings, vocab_size, head=False) / 3
    return per_token * settings.tokens / micro_batches(settings)


def micro_batches(settings: PretrainSettings) -> float:
    """Return the micro-batches of all steps and devices."""
    return sum(phase.samples_before(phase.end) / phase.settings.micro_batch for phase in settings.every_phase)


def step(
    compute: float,
    micro_batches: float,
    parameters: int,
    last_ready: int,
    stage: int,
    engine: str,
    checkpointing: bool,
    cluster: Cluster,
    bucket: int,
    width: int = FP32,
) -> Step:
    """Return the seconds of a step by the model at the top of this file.

    Args:
        compute: seconds in which a device computes a micro-batch.
        micro_batches: of a device a step (on average, where batches grow).
        last_ready: parameters whose gradients are ready last, together.
        bucket: elements of the gradient that are averaged at a time; `width` is bytes of one on its way.
    """
    a = micro_batches
    c = compute
    size = float(FP32 * parameters)
    sent = float(width * parameters)
    back = 3 / 4 if checkpointing else 2 / 3
    if cluster.devices == 1:
        return Step(a * c, 0.0, a * c)
    if stage == 0:
        reduce = all_reduce(sent, cluster, _pieces(size, FP32 * bucket if engine == "torch" else DEEPSPEED_BUCKET))
        if engine != "torch":
            return Step(a * c, reduce, a * c + reduce)
        alone = all_reduce(float(width * last_ready), cluster)
        return Step(a * c, reduce, (a - back) * c + max(back * c, reduce - alone) + alone)
    pieces = _pieces(size, FP32 * bucket)
    gather = all_gather(size, cluster, _pieces(size, GATHER_BUCKET) if stage < 3 else pieces)
    if stage < 3:
        reduce = all_reduce(sent, cluster, pieces) * (1 if stage == 1 else a)
        return Step(a * c, reduce + gather, a * c + reduce + gather)
    scatter = reduce_scatter(sent, cluster, pieces)
    scatter += gather * max(0.0, 1 - KEPT_GATHERED / parameters)
    seconds = a * (max((1 - back) * c, gather) + max(back * c, scatter))
    return Step(a * c, a * (gather + scatter), seconds)


def _pieces(size: float, bucket: int) -> int:
    return -int(-size // bucket)
