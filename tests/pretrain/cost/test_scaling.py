"""The table over device counts, and the sentence under it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pretrain.cost.devices import DEVICES
from pretrain.cost.run import Machines, run_cost
from pretrain.cost.scaling import Row, nodes_of, verdict
from pretrain.settings import PretrainSettings


def row(devices: int, micro_batch: int = 64, efficiency: float = 1.0) -> Row:
    return Row(devices, 1, micro_batch, 1.0, efficiency, None, 1e9, True)


@pytest.mark.parametrize(
    ("efficiencies", "most", "rest"),  # by number of devices, None: they cannot share the batch
    [
        ({1: 1, 2: 0.9, 4: 0.8}, "4 devices", "it is the last row here, and more may pay as well"),
        ({1: 1, 2: 1, 4: 0.79}, "2 devices", "on 4 devices it is 79.0%"),
        ({1: 1, 2: 0.7, 4: 0.9}, "1 device", "on 2 devices it is 70.0%"),
        ({1: 1, 3: None, 4: None}, "1 device", "4 devices cannot share the global batch evenly"),
        ({1: 1, 3: None, 4: 1}, "4 devices", "it is the last row here, and more may pay as well"),
    ],
)
def test_the_sentence_names_the_last_row_whose_efficiency_is_high(
    efficiencies: dict[int, float | None], most: str, rest: str
) -> None:
    rows = [row(n, 64 if efficiency else 0, efficiency or 0.0) for n, efficiency in efficiencies.items()]
    first, second = verdict(rows, 64).split(". ")
    assert first == f"Scaling pays up to {most}, where efficiency is at least 80%; {rest}"
    assert second == "Efficiency is the share of the time in which no device waits for others."


def test_a_smaller_micro_batch_is_a_note_and_no_end() -> None:
    """The table shows twice the speed on twice the devices, and so does the sentence."""
    said = verdict([row(1, 32), row(2, 16), row(4, 8)], 32)
    assert said.startswith("Scaling pays up to 4 devices,")
    assert "From 2 devices on, micro-batches are smaller than 32 samples (16 on 2)" in said


def test_every_node_has_as_many_devices() -> None:
    assert [nodes_of(n, 8) for n in (1, 8, 9, 16, 64)] == [1, 1, 3, 2, 8]
    assert nodes_of(5, 1) == 5


def test_a_run_by_hand() -> None:
    # RoBERTa-base, 1M × 2048 × 512 tokens of 588,880,281.6 FLOP, on eight H100 at 30% of 989 TFLOP/s: 260,157 s;
    # waiting, a step: the embeddings' (32,000 + 512) · 768 · 4 = 99,876,864 bytes, 2 · 7/8 of them at 360 GB/s, and
    # 14 hops of 3 µs: 485.5 + 42 µs; a million of them, 527.5 s
    cost = run_cost(PretrainSettings(micro_batch=64), 32_000, Machines(DEVICES["H100"], 8, 1, 25e9, price=2.0))
    assert cost["hours"] * 3600 == pytest.approx(260_157 + 527.5, rel=1e-4)
    assert cost["cost"] == pytest.approx(8 * 2.0 * cost["hours"])
    assert cost["flops_per_second"] == pytest.approx(8 * 0.3 * 989e12) and cost["micro_batches_per_step"] == 4
    assert [row["devices"] for row in cost["scaling"]] == [1, 2, 4, 8, 16, 32]
    assert [cost["scaling"][3][key] for key in ("hours", "cost")] == [cost["hours"], cost["cost"]]
    # a single device computes all of it, and waits for nobody
    assert cost["scaling"][0]["hours"] * 3600 == pytest.approx(8 * 260_157, rel=1e-4)


def test_a_growing_batch_has_its_own_tokens() -> None:
    growing = {"start": 512, "steps": 400_000}
    settings_ = PretrainSettings.model_validate({"micro_batch": 32, "batch_warmup": growing})
    # 512, 1024, 1536 for 100,000 steps each and 2048 from then on: 2048 · 700,000 + 3072 · 100,000 samples
    cost = run_cost(settings_, 32_000, Machines(DEVICES["H100"], 1, 1, 25e9))
    assert cost["tokens"] == (2048 * 700_000 + 3072 * 100_000) * 512
    assert cost["hours"] * 3600 == pytest.approx(cost["flops"] / cost["flops_per_second"])


@given(device=st.sampled_from(sorted(DEVICES)), stage=st.integers(0, 3), network=st.floats(1e9, 1e11))
@settings(max_examples=40)
def test_more_devices_never_compute_longer(device: str, stage: int, network: float) -> None:
    settings_ = PretrainSettings.model_validate({"micro_batch": 8, "zero_stage": stage, "global_batch": 2048})
    cost = run_cost(settings_, 32_000, Machines(DEVICES[device], 16, 2, network))
    shares = [row["hours"] * row["efficiency"] * row["devices"] for row in cost["scaling"]]  # what all of them compute
    assert shares == pytest.approx([shares[0]] * len(shares))
    assert all(0 < row["efficiency"] <= 1 + 1e-12 for row in cost["scaling"])
    assert cost["step_seconds"] >= cost["step_compute_seconds"] * (1 - 1e-12)
    fast = run_cost(settings_, 32_000, Machines(DEVICES[device], 16, 2, 2 * network))
    assert fast["hours"] <= cost["hours"]
