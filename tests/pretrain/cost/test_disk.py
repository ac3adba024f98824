"""Disk of a run, by hand and against the saving itself."""

from hypothesis import given
from hypothesis import strategies as st

from pretrain.cost.run import disk, most_checkpoints
from pretrain.settings import PretrainSettings


def run(steps: int = 1_000_000, every: int = 5000, last: int = 2, for_good: int | None = None) -> PretrainSettings:
    return PretrainSettings.model_validate(
        {
            "steps": steps,
            "optimizer": {"warmup_steps": 0},
            "checkpoint_every": every,
            "keep_last": last,
            "keep_every": for_good,
        }
    )


def test_checkpoints_by_hand() -> None:
    assert most_checkpoints(run()) == 3  # two, and the next is whole before the older one goes
    assert most_checkpoints(run(for_good=100_000)) == 13  # 100,000 … 1,000,000; the newest two; one being written
    assert most_checkpoints(run(1000, 1000)) == 1
    assert most_checkpoints(run(1000, 100, for_good=100)) == 10  # none ever goes
    assert most_checkpoints(run(1050, 100, for_good=350)) == 4  # 700; 1000, 1050; and one


def test_bytes() -> None:
    usage = disk(run(), 32_000, 110_000_000, 10**9)
    assert (usage.checkpoint, usage.checkpoints, usage.export) == (1_320_000_000, 3_960_000_000, 440_000_000)
    assert usage.tokens == 2 * 10**9 and usage.total == 6_400_000_000
    assert disk(run(), 65_537, 1, 10**9).tokens == 4 * 10**9
    assert disk(run(), 65_536, 1, 10**9).tokens == 2 * 10**9
    assert disk(run(), 32_000, 110_000_000, None).total == 4_400_000_000


@given(st.integers(1, 300), st.integers(1, 60), st.integers(1, 5), st.none() | st.integers(1, 60))
def test_checkpoints_as_they_are_saved(steps: int, every: int, last: int, for_good: int | None) -> None:
    there: list[int] = []
    most = 0
    for done in range(1, steps + 1):
        if done % every == 0 or done == steps:
            there.append(done)
            most = max(most, len(there))
            there = [step for step in there[:-last] if for_good and step % for_good == 0] + there[-last:]
    assert most <= most_checkpoints(run(steps, every, last, for_good)) <= most + last + 1
