"""Array elements: who does what, bad environments, and that one alone ends the stage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import UserError
from data.executors.slurm import ArrayElement, ArrayShare


def environment(own: int, count: int, first: int = 0, **more: str) -> dict[str, str]:
    names = {"ID": own, "COUNT": count, "MIN": first}
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in names.items()} | more


def test_rank_and_count_come_from_the_environment():
    assert ArrayElement.from_environment(environment(0, 4)) == ArrayElement(0, 4, "0")
    assert ArrayElement.from_environment(environment(7, 4, 5, SLURM_ARRAY_JOB_ID="99")) == ArrayElement(2, 4, "99")
    assert ArrayElement.from_environment(environment(20, 3, 0, SLURM_ARRAY_TASK_STEP="10")).rank == 2
    assert ArrayElement.from_environment(environment(3, 1, 3)) == ArrayElement(0, 1, "0")


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({}, "SLURM_ARRAY_TASK_ID is not set"),
        ({"SLURM_ARRAY_TASK_ID": "1"}, "SLURM_ARRAY_TASK_COUNT is not set"),
        (environment(0, 4) | {"SLURM_ARRAY_TASK_ID": "x"}, "no number"),
        (environment(7, 2, 3), "id 7 is not one of 2 consecutive array ids from 3"),
        (environment(3, 4, 0, SLURM_ARRAY_TASK_STEP="2"), "not one of"),
    ],
)
def test_an_environment_that_gives_no_share_is_refused(variables, message):
    with pytest.raises(UserError, match=message):
        ArrayElement.from_environment(variables)


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=30), st.integers(1, 9), st.lists(st.integers(0, 50)))
def test_every_block_belongs_to_one_element_that_reads_its_file(sizes, count, blocks):
    shares = [ArrayShare(ArrayElement(rank, count, "0"), sizes) for rank in range(count)]
    for file in range(len(sizes)):
        for block in blocks:
            owners = [rank for rank, share in enumerate(shares) if share.reads(file) and share.has(file, block)]
            assert len(owners) == 1
            assert all(share.owner(file, block) == owners[0] for share in shares)


def test_shares_are_even():
    many = [ArrayShare(ArrayElement(rank, 4, "0"), [10] * 40) for rank in range(4)]
    assert [sum(share.reads(file) for file in range(40)) for share in many] == [10] * 4
    one = [ArrayShare(ArrayElement(rank, 4, "0"), [1000]) for rank in range(4)]
    assert [sum(share.has(0, block) for block in range(40)) for share in one] == [10] * 4
    assert [share.portion(0) for share in one] == [0.25] * 4
    assert sum(share.portion(7) for share in many) == 1


def test_one_element_ends_the_stage_and_may_be_started_again(tmp_path):
    elements = [ArrayElement(rank, 3, "12") for rank in range(3)]
    assert elements[1].claim(tmp_path) is None
    assert elements[0].claim(tmp_path) == elements[2].claim(tmp_path) == "1"
    assert elements[1].claim(tmp_path) is None
    assert ArrayElement(0, 3, "13").claim(tmp_path) is None
