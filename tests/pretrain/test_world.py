"""Where a process is, in the environments that launchers make, written out by hand from their documentation."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import UserError
from pretrain.world import PORTS, expand_hosts, tasks_per_node, world_info

MEET = {"MASTER_ADDR": "n0", "MASTER_PORT": "29500"}
STEP = {
    "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "8", "SLURM_NNODES": "2",
    "SLURM_STEP_NODELIST": "gpu[07-08]", "SLURM_JOB_NODELIST": "gpu[07-08]", "SLURM_TASKS_PER_NODE": "4(x2)",
    "SLURM_STEP_TASKS_PER_NODE": "4(x2)",
}  # fmt: skip

PLACES: dict[str, tuple[dict[str, str], tuple[str, int, int, int, int, str]]] = {
    "torchrun, second node of two": (
        {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4", "GROUP_RANK": "1", **MEET,
         "TORCHELASTIC_RUN_ID": "none"},
        ("torchrun", 5, 8, 1, 4, "n0"),
    ),
    "DeepSpeed's launcher": (
        {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_SIZE": "2", "CROSS_RANK": "1",
         "CROSS_SIZE": "2", **MEET},
        ("torchrun", 3, 4, 1, 2, "n0"),
    ),
    "srun, two nodes of four": (
        {**STEP, "SLURM_PROCID": "6", "SLURM_LOCALID": "2", "SLURM_NODEID": "1"}, ("slurm", 6, 8, 2, 4, "gpu07"),
    ),
    "srun, nodes of different size": (
        {**STEP, "SLURM_STEP_NUM_TASKS": "6", "SLURM_STEP_TASKS_PER_NODE": "4,2", "SLURM_PROCID": "5",
         "SLURM_LOCALID": "1", "SLURM_NODEID": "1"},
        ("slurm", 5, 6, 1, 2, "gpu07"),
    ),
    "torchrun under srun, one task a node": (
        {**STEP, "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_TASKS_PER_NODE": "1(x2)", "SLURM_PROCID": "1",
         "SLURM_LOCALID": "0", "SLURM_NODEID": "1", "RANK": "7", "WORLD_SIZE": "8", "LOCAL_RANK": "3",
         "LOCAL_WORLD_SIZE": "4", "GROUP_RANK": "1", "TORCHELASTIC_RUN_ID": "x", **MEET},
        ("torchrun", 7, 8, 3, 4, "n0"),
    ),
    "srun whose script exports RANK of each task": (
        {**STEP, "SLURM_PROCID": "6", "SLURM_LOCALID": "2", "SLURM_NODEID": "1", "RANK": "6", "WORLD_SIZE": "8",
         **MEET},
        ("torchrun", 6, 8, 2, 4, "n0"),
    ),
    "the shell of a batch script": (
        {"SLURM_JOB_ID": "77", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0", "SLURM_NTASKS": "8",
         "SLURM_NNODES": "2", "SLURM_JOB_NODELIST": "gpu[07-08]", "SLURM_TASKS_PER_NODE": "4(x2)"},
        ("single", 0, 1, 0, 1, "127.0.0.1"),
    ),
    "Open MPI, one machine": (
        {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
         "OMPI_COMM_WORLD_LOCAL_SIZE": "2"},
        ("Open MPI", 1, 2, 1, 2, "127.0.0.1"),
    ),
    "Open MPI, two machines": (
        {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
         "OMPI_COMM_WORLD_LOCAL_SIZE": "2", **MEET},
        ("Open MPI", 3, 4, 1, 2, "n0"),
    ),
    "Intel MPI": (
        {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"},
        ("MPI", 1, 2, 1, 2, "127.0.0.1"),
    ),
    "a pod of an indexed Job": (
        {"JOB_COMPLETION_INDEX": "2", "WORLD_SIZE": "4", **MEET}, ("kubernetes", 2, 4, 0, 1, "n0"),
    ),
    "by itself": ({"PATH": "/bin"}, ("single", 0, 1, 0, 1, "127.0.0.1")),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_every_launchers_environment_is_understood(name: str) -> None:
    environment, wanted = PLACES[name]
    info = world_info(environment, lambda: 4711)
    assert (info.launcher, info.rank, info.world, info.local_rank, info.local_world, info.address) == wanted
    set_for_libraries = info.environment()
    assert set_for_libraries["RANK"] == str(info.rank) and set_for_libraries["LOCAL_WORLD_SIZE"] == str(
        info.local_world
    )
    assert world_info({**set_for_libraries}).rank == info.rank  # what a child of it sees


WRONG: dict[str, tuple[dict[str, str], str]] = {
    "a rank beyond the end": ({"RANK": "4", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "4", **MEET}, "rank 4 of 4"),
    "a local rank beyond the end": (
        {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "2", **MEET}, "2 of 2"),
    "more here than in all": (
        {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "4", **MEET}, "of 2, on this .* of 4"),
    "no number": ({"RANK": "first", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "4", **MEET}, "RANK=first"),
    "half of it": ({"RANK": "0", "WORLD_SIZE": "1"}, "MASTER_ADDR, MASTER_PORT is not"),
    "only the size": ({"WORLD_SIZE": "8", **MEET}, "RANK is not"),
    "nobody says how many are here": ({"RANK": "0", "WORLD_SIZE": "8", **MEET}, "without LOCAL_WORLD_SIZE"),
    "every task the first of one": (
        {**STEP, "SLURM_PROCID": "6", "SLURM_LOCALID": "2", "RANK": "0", "WORLD_SIZE": "1", **MEET}, "task 6 of 8"),
    "every task the first of eight": (
        {**STEP, "SLURM_PROCID": "6", "SLURM_LOCALID": "2", "RANK": "0", "WORLD_SIZE": "8", **MEET}, "task 6 of 8"),
    "a pod that does not know of how many": ({"JOB_COMPLETION_INDEX": "2"}, "without WORLD_SIZE"),
    "MPI over machines that do not know where to meet": (
        {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
         "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, "several machines"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_contradicts_itself_is_refused(name: str) -> None:
    environment, said = WRONG[name]
    with pytest.raises(UserError, match=said) as raised:
        world_info(environment)
    assert raised.value.exit_code == 2


def test_tasks_of_a_step_meet_at_one_port_and_other_steps_at_others() -> None:
    def port(rank: int, step: str) -> int:
        place = {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank % 4), "SLURM_NODEID": str(rank // 4)}
        return world_info({**STEP, **place, "SLURM_STEP_ID": step}).port

    assert len({port(rank, "0") for rank in range(8)}) == 1
    assert len({port(0, str(step)) for step in range(20)}) > 15 and port(0, "3") in PORTS


@pytest.mark.parametrize(
    ("local_rank", "here", "devices", "visible", "index"),
    [
        (3, 4, 4, None, 3),
        (1, 2, 8, "0,1,2,3,4,5,6,7", 1),
        (3, 4, 1, "2", 0),
        (0, 1, 1, None, 0),
        (2, 3, 1, "GPU-5f", 0),
    ],
)
def test_a_process_has_a_gpu_of_its_own(
    local_rank: int, here: int, devices: int, visible: str | None, index: int
) -> None:
    """One that the scheduler gave it is the first of those that it sees."""
    e = {"RANK": str(local_rank), "WORLD_SIZE": str(here), "LOCAL_RANK": str(local_rank), "LOCAL_WORLD_SIZE": str(here)}
    assert (
        world_info({**e, **MEET, **({"CUDA_VISIBLE_DEVICES": visible} if visible else {})}).device_index(devices)
        == index
    )


@pytest.mark.parametrize(("devices", "visible"), [(1, None), (2, "0,1"), (1, "")])
def test_more_processes_than_gpus_are_refused(devices: int, visible: str | None) -> None:
    e = {"RANK": "2", "WORLD_SIZE": "4", "LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "4", **MEET}
    info = world_info({**e, **({"CUDA_VISIBLE_DEVICES": visible} if visible is not None else {})})
    if visible == "":
        assert info.visible == ""  # none at all: torch finds no GPU, and nobody asks
        return
    with pytest.raises(UserError, match=f"4 processes on .* with {devices} GPU"):
        info.device_index(devices)


def test_cores_are_shared_by_the_processes_of_a_machine() -> None:
    info = world_info({**STEP, "SLURM_PROCID": "6", "SLURM_LOCALID": "2", "SLURM_NODEID": "1"})
    assert info.threads(64) == 16 and info.threads(2) == 1


@given(
    st.lists(
        st.tuples(
            st.text("abcxyz-", min_size=1, max_size=4).filter(lambda t: not t.startswith("-")),
            st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5), st.integers(1, 3)), max_size=3),
        ),
        min_size=1, max_size=4,
    )
)  # fmt: skip
def test_lists_of_machines_are_written_out(parts: list[tuple[str, list[tuple[int, int, int]]]]) -> None:
    """Slurm's notation, made from its meaning."""
    texts, hosts = [], []
    for name, ranges in parts:
        if not ranges:
            texts.append(name)
            hosts.append(name)
            continue
        written = []
        for first, more, width in ranges:
            low, high = f"{first:0{width}d}", f"{first + more:0{width}d}"
            written.append(f"{low}-{high}" if more else low)
            hosts += [f"{name}{n:0{len(low)}d}" for n in range(first, first + more + 1)]
        texts.append(f"{name}[{','.join(written)}]")
    assert expand_hosts(",".join(texts)) == hosts


@given(st.lists(st.tuples(st.integers(1, 16), st.integers(1, 5)), min_size=1, max_size=5))
def test_tasks_of_machines_are_written_out(runs: list[tuple[int, int]]) -> None:
    text = ",".join(f"{tasks}(x{count})" if count > 1 else str(tasks) for tasks, count in runs)
    assert tasks_per_node(text) == list(itertools.chain.from_iterable([tasks] * count for tasks, count in runs))
