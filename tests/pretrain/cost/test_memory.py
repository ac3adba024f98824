"""Memory by part, worked out by hand for RoBERTa-base at length 512 with a vocabulary of 32,000."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pretrain.batches.predictions import rows_for
from pretrain.cost import memory as costs
from pretrain.cost.memory import Arithmetic, largest_micro_batch, layer_bytes_per_token, memory, rows_of_sample
from pretrain.kernels import cross_entropy as loss
from pretrain.models.registry import ARCHITECTURES
from pretrain.settings import ModelSettings, PretrainSettings

V = 32_000
# embeddings (32,000 + 514 + 1 + 2) · 768 = 24,973,056; a layer 4 · (768² + 768) + 2 · 768 · 3072 + 3072 + 768 + 4 · 768
# = 7,087,872, twelve of them 85,054,464; the head 768² + 768 + 2 · 768 + 32,000 = 624,128
P = 110_651_648
COMPILED, EAGER = Arithmetic("gpu", 2, compiled=True), Arithmetic("gpu", 2, compiled=False)


def run(**changes: Any) -> PretrainSettings:
    return PretrainSettings.model_validate({"micro_batch": 1, **changes})


def test_the_shape_of_roberta_base() -> None:
    model = ModelSettings()
    assert ARCHITECTURES["roberta"].parameters(model, V, 512) == P
    # 72 · (4 · 768² + 2 · 768 · 3072) = 509,607,936; 144 · 768 · 512 = 56,623,104;
    # 0.9 · (32,000 · 768 + 768²) = 22,649,241.6
    assert ARCHITECTURES["roberta"].flops_per_token(model, V, 512, 0.15) == pytest.approx(588_880_281.6)
    assert 588_880_281.6 * run().tokens == pytest.approx(6.175e20, rel=1e-3)  # 1M steps × 2048 × 512 tokens


@pytest.mark.parametrize(
    ("stage", "weights", "gathered", "gradients", "moments", "communication"),
    [
        # P/8 = 13,831,456; and buckets: P, and twice P/8
        (0, 442_606_592, 0, 442_606_592, 885_213_184, 442_606_592),
        (1, 497_932_416, 0, 442_606_592, 110_651_648, 110_651_648),
        (2, 497_932_416, 0, 55_325_824, 110_651_648, 110_651_648),
        (3, 110_651_648, 442_606_592, 55_325_824, 110_651_648, 110_651_648),
    ],
)
def test_state_of_eight_devices(
    stage: int, weights: int, gathered: int, gradients: int, moments: int, communication: int
) -> None:
    usage = memory(run(zero_stage=stage), V, P, 8, COMPILED, "torch" if stage == 0 else "deepspeed")
    assert (usage.weights, usage.gathered, usage.gradients) == (weights, gathered, gradients)
    assert (usage.moments, usage.communication) == (moments, communication)
    assert usage.total == sum((*(weights, gathered, gradients, moments, communication), usage.activations, usage.head))


def test_buckets_without_zero() -> None:
    alone = memory(run(), V, P, 1, COMPILED, "torch")
    assert (alone.state, alone.communication) == (16 * P, 0)
    once = run(global_batch=8)  # nothing is accumulated: the gradients lie in the buckets
    assert memory(once, V, P, 8, COMPILED, "torch").communication == 0
    assert memory(once, V, P, 8, COMPILED, "deepspeed").communication == 4 * P
    assert memory(run(), V, 10**9, 8, COMPILED, "deepspeed").communication == 2 * 10**9


def test_a_large_model_is_never_whole_at_stage_3() -> None:
    usage = memory(run(zero_stage=3), V, 4 * 10**9, 8, EAGER, "deepspeed")
    assert usage.gathered == 4 * 500e6
    on_cpu = Arithmetic("cpu", 4, compiled=False)
    assert memory(run(zero_stage=1), V, P, 8, on_cpu, "deepspeed").communication == 55_325_824
    # two devices at stage 1: half of the averaged gradients is more than a bucket
    assert memory(run(zero_stage=1), V, 10**9, 2, EAGER, "deepspeed").communication == 4 * 500e6


def test_activations_of_one_sample() -> None:
    # 6·2·768 + 2·2·768 + 2·2·3072 + 2·768 + 4·12 = 26,160 a token and layer; 512 tokens, 12 layers; ends 512 · 8 · 768
    assert layer_bytes_per_token(run(), COMPILED) == 26_160
    assert memory(run(), V, P, 1, COMPILED, "torch").activations == 160_727_040 + 3_145_728
    # uncompiled: norms in fp32, 2 · 2 · 768 more; and weights once more, 2 · 12 · 7,077,888
    eager = memory(run(), V, P, 1, EAGER, "torch").activations
    assert eager == 29_232 * 512 * 12 + 3_145_728 + 169_869_312
    # computed again: one layer, and 2 · 768 a token of each of the twelve
    again = memory(run(gradient_checkpointing=True), V, P, 1, COMPILED, "torch")
    assert again.activations == 13_393_920 + 9_437_184 + 3_145_728
    # about 34 · h as in Korthikanti et al. 2022
    assert layer_bytes_per_token(run(), COMPILED) == pytest.approx(34 * 768, rel=0.01)


def test_activations_where_no_kernel_spares_the_softmax() -> None:
    # 18,432 + 6,144 + 24,576 + 6,144 + 48 and (4 + 4 + 4) · 12 · 512 = 73,728
    assert layer_bytes_per_token(run(), Arithmetic("cpu", 4, compiled=False)) == 129_072
    none = run(model={"dropout": 0.0})
    assert layer_bytes_per_token(none, Arithmetic("cpu", 4, compiled=False)) == 18_432 + 6_144 + 24_576 + 48
    # 26,160 and (2 + 1 + 2) · 12 · 512 = 30,720
    assert layer_bytes_per_token(run(), Arithmetic("tpu", 2, compiled=True)) == 56_880


def test_head_of_one_sample() -> None:
    # 77 rows · (3·2 + 8) · 768 = 827,904; gradient 4 · 32,000 · 768 = 98,304,000; beside it logits,
    # 77 · 32,000 · 6 = 14,784,000, and the weights in 16 bits and a product, 2 · 2 · 24,576,000 = 98,304,000
    assert memory(run(), V, P, 1, COMPILED, "torch").head == 827_904 + 98_304_000 + 14_784_000 + 98_304_000
    # many rows: the logits are those of 2³⁰ / (4 · 32,000) = 8388 of them
    most = memory(run(micro_batch=1024), V, P, 1, COMPILED, "torch").head
    assert most == 1024 * 827_904 + 98_304_000 + 8388 * 192_000 + 98_304_000


def test_constants_are_those_of_training() -> None:
    assert (costs.CPU_CHUNK_BYTES, costs.CHUNK_BYTES) == (loss.CPU_CHUNK_BYTES, loss.CHUNK_BYTES)
    for length, rate in ((512, 0.15), (64, 0.4), (128, 0.3)):
        assert rows_of_sample(run(max_seq_len=length, masking={"rate": rate})) == rows_for(length, rate)


def test_deepspeed_keeps_and_averages_as_much_as_is_reckoned() -> None:
    from deepspeed.runtime.zero.config import DeepSpeedZeroConfig

    zero = DeepSpeedZeroConfig(stage=3)
    assert zero.max_reuse_distance == 2 * costs.KEPT_GATHERED and zero.overlap_comm
    assert not DeepSpeedZeroConfig(stage=2).overlap_comm
    assert zero.allgather_bucket_size == costs.FLAT_COPY


@given(
    devices=st.sampled_from([2, 4, 8, 64]),
    parameters_=st.integers(10**6, 10**10),
    kind=st.sampled_from(["gpu", "tpu", "cpu"]),
)
@settings(max_examples=50)
def test_a_higher_stage_never_holds_more_state(devices: int, parameters_: int, kind: Any) -> None:
    states = [
        memory(run(zero_stage=stage), V, parameters_, devices, Arithmetic(kind, 2, False), "deepspeed").state
        for stage in range(4)
    ]
    assert states == sorted(states, reverse=True)


@given(room=st.floats(1e9, 2e11), devices=st.sampled_from([1, 2, 8, 64]), stage=st.integers(0, 3), again=st.booleans())
@settings(max_examples=50)
def test_the_largest_micro_batch_fits_and_the_next_does_not(room: float, devices: int, stage: int, again: bool) -> None:
    asked = run(zero_stage=stage)
    fits, divides = largest_micro_batch(asked, V, P, devices, COMPILED, "deepspeed", room, again)

    def total(size: int) -> float:
        changed = asked.model_copy(update={"micro_batch": size, "gradient_checkpointing": again})
        return memory(changed, V, P, devices, COMPILED, "deepspeed").total

    share = 2048 // devices
    assert not fits or total(fits) <= room
    assert fits == share or total(fits + 1) > room
    assert divides <= fits and (not divides or share % divides == 0)
    assert not any(share % size == 0 for size in range(divides + 1, fits + 1))
