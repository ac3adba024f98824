"""Where a process is, in the environments that launchers make, written out by hand from their documentation."""

import pytest

from common.errors import UserError
from pretrain.parallel.accelerator import named_device
from pretrain.parallel.world import first_host, world_info

MEET = {"MASTER_ADDR": "n0", "MASTER_PORT": "29500"}
STEP = {
    "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "8", "SLURM_NNODES": "2",
    "SLURM_STEP_NODELIST": "gpu[07-08]", "SLURM_JOB_NODELIST": "gpu[07-08]", "SLURM_TASKS_PER_NODE": "4(x2)",
    "SLURM_STEP_TASKS_PER_NODE": "4(x2)",
}  # fmt: skip
TASK_6 = {**STEP, "SLURM_PROCID": "6", "SLURM_LOCALID": "2", "SLURM_NODEID": "1"}
"""The third task on the second of two nodes."""
ONE_A_NODE = {
    **STEP, "SLURM_STEP_NUM_TASKS": "2", "SLURM_NTASKS": "2", "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
    "SLURM_TASKS_PER_NODE": "1(x2)", "SLURM_PROCID": "1", "SLURM_LOCALID": "0", "SLURM_NODEID": "1",
}  # fmt: skip
BATCH = {
    "SLURM_JOB_ID": "77", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0", "SLURM_NTASKS": "8",
    "SLURM_NNODES": "2", "SLURM_JOB_NODELIST": "gpu[07-08]", "SLURM_TASKS_PER_NODE": "4(x2)",
}  # fmt: skip


def without(e: dict[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in e.items() if name not in names}


def mpi(rank: int, world: int, local_rank: int, local_world: int) -> dict[str, str]:
    names = ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")
    numbers = (rank, world, local_rank, local_world)
    return {f"OMPI_COMM_WORLD_{name}": str(number) for name, number in zip(names, numbers, strict=True)}


# rank, world, local rank, local world, address
PLACES: dict[str, tuple[dict[str, str], tuple[int, int, int, int, str]]] = {
    "torchrun, second node of two": (
        {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4", "GROUP_RANK": "1", **MEET,
         "GROUP_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "none"},
        (5, 8, 1, 4, "n0"),
    ),
    "this package's own launcher": (
        {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", **MEET},
        (1, 2, 1, 2, "n0"),
    ),
    "this package's own launcher in a step of one task": (
        {**STEP, "SLURM_STEP_NUM_TASKS": "1", "SLURM_STEP_TASKS_PER_NODE": "1", "SLURM_PROCID": "0",
         "SLURM_LOCALID": "0", "SLURM_NODEID": "0", "RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "3",
         "LOCAL_WORLD_SIZE": "4", **MEET},
        (3, 4, 3, 4, "n0"),
    ),
    "DeepSpeed's launcher": (
        {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_SIZE": "2", "CROSS_RANK": "1",
         "CROSS_SIZE": "2", "CUDA_VISIBLE_DEVICES": "0,1", **MEET},
        (3, 4, 1, 2, "n0"),
    ),
    "DeepSpeed's launcher, nodes of three and two": (
        {"RANK": "3", "WORLD_SIZE": "5", "LOCAL_RANK": "1", "LOCAL_SIZE": "2", "CROSS_RANK": "1",
         "CROSS_SIZE": "2", **MEET},
        (3, 5, 1, 2, "n0"),
    ),
    "DeepSpeed's launcher in each task": (
        {**ONE_A_NODE, "RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_SIZE": "4", "CROSS_RANK": "1",
         "CROSS_SIZE": "2", **MEET},
        (5, 8, 1, 4, "n0"),
    ),
    "srun, two nodes of four": (TASK_6, (6, 8, 2, 4, "gpu07")),
    "srun, and a script that exports the number and the address": (
        {**TASK_6, "WORLD_SIZE": "8", "MASTER_ADDR": "n0"}, (6, 8, 2, 4, "n0"),
    ),
    "srun, nodes of different size": (
        {**STEP, "SLURM_STEP_NUM_TASKS": "6", "SLURM_STEP_TASKS_PER_NODE": "4,2", "SLURM_PROCID": "5",
         "SLURM_LOCALID": "1", "SLURM_NODEID": "1"},
        (5, 6, 1, 2, "gpu07"),
    ),
    "srun, a step smaller than its job": (
        {**STEP, "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_TASKS_PER_NODE": "2", "SLURM_STEP_NODELIST": "gpu08",
         "SLURM_STEP_NUM_NODES": "1", "SLURM_PROCID": "1", "SLURM_LOCALID": "1", "SLURM_NODEID": "0"},
        (1, 2, 1, 2, "gpu08"),
    ),
    "srun with PMI": ({**TASK_6, "PMI_RANK": "6", "PMI_SIZE": "8"}, (6, 8, 2, 4, "gpu07")),
    "srun with a rank of PMI alone": ({**TASK_6, "PMI_RANK": "6"}, (6, 8, 2, 4, "gpu07")),
    "torchrun under srun, one task a node": (
        {**ONE_A_NODE, "RANK": "7", "WORLD_SIZE": "8", "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "4", "GROUP_RANK": "1",
         "GROUP_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "x", **MEET},
        (7, 8, 3, 4, "n0"),
    ),
    "srun whose script exports RANK of each task": (
        {**TASK_6, "RANK": "6", "WORLD_SIZE": "8", **MEET}, (6, 8, 2, 4, "n0"),
    ),
    "the shell of a batch script": (BATCH, (0, 1, 0, 1, "127.0.0.1")),
    "the shell of a batch script, its step by number": (
        {**BATCH, "SLURM_STEP_ID": "4294967291"}, (0, 1, 0, 1, "127.0.0.1"),
    ),
    "the shell of a batch script, its step by name": (
        {**BATCH, "SLURM_STEP_ID": "batch"}, (0, 1, 0, 1, "127.0.0.1"),
    ),
    "torchrun in the shell of a batch script": (
        {**BATCH, "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "GROUP_RANK": "0",
         "GROUP_WORLD_SIZE": "1", "TORCHELASTIC_RUN_ID": "none", **MEET},
        (0, 1, 0, 1, "n0"),
    ),
    "Open MPI, one machine": (mpi(1, 2, 1, 2), (1, 2, 1, 2, "127.0.0.1")),
    "Open MPI, two machines": ({**mpi(3, 4, 1, 2), **MEET}, (3, 4, 1, 2, "n0")),
    "Open MPI, whose daemon srun started on the second machine of two": (
        {**STEP, "SLURM_STEP_NUM_TASKS": "1", "SLURM_STEP_TASKS_PER_NODE": "1", "SLURM_PROCID": "0",
         "SLURM_LOCALID": "0", "SLURM_NODEID": "0", **mpi(5, 8, 1, 4), **MEET},
        (5, 8, 1, 4, "n0"),
    ),
    "Open MPI in the pod of an indexed Job": (
        {"JOB_COMPLETION_INDEX": "0", **mpi(1, 2, 1, 2)}, (1, 2, 1, 2, "127.0.0.1"),
    ),
    "Intel MPI": (
        {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"},
        (1, 2, 1, 2, "127.0.0.1"),
    ),
    "a pod of an indexed Job": (
        {"JOB_COMPLETION_INDEX": "2", "WORLD_SIZE": "4", **MEET}, (2, 4, 0, 1, "n0"),
    ),
    "the only pod of an indexed Job": (
        {"JOB_COMPLETION_INDEX": "0", "WORLD_SIZE": "1"}, (0, 1, 0, 1, "127.0.0.1"),
    ),
    "a Kubeflow TrainJob of one node": (
        {"JOB_COMPLETION_INDEX": "0", "PET_NNODES": "1", "PET_NODE_RANK": "0", "PET_NPROC_PER_NODE": "auto"},
        (0, 1, 0, 1, "127.0.0.1"),
    ),
    "a Kubeflow TrainJob with torchrun": (
        {"JOB_COMPLETION_INDEX": "1", "PET_NNODES": "2", "PET_NODE_RANK": "1", "RANK": "3", "WORLD_SIZE": "4",
         "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "1", "GROUP_WORLD_SIZE": "2", **MEET},
        (3, 4, 1, 2, "n0"),
    ),
    "a Kubeflow PyTorchJob without torchrun": (
        {"RANK": "2", "WORLD_SIZE": "4", "PET_NNODES": "4", "PET_NODE_RANK": "2", **MEET},
        (2, 4, 0, 1, "n0"),
    ),
    "by itself": ({"PATH": "/bin"}, (0, 1, 0, 1, "127.0.0.1")),
    "by itself, with an address for others": (
        {"MASTER_ADDR": "n0", "WORLD_SIZE": "1"}, (0, 1, 0, 1, "127.0.0.1"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_every_launchers_environment_is_understood(name: str) -> None:
    environment, expected = PLACES[name]
    info = world_info(environment, lambda: 4711)
    assert (info.rank, info.world, info.local_rank, info.local_world, info.address) == expected
    for_libraries = info.environment()
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR")
    assert for_libraries == {**dict(zip(names, map(str, expected), strict=True)), "MASTER_PORT": str(info.port)}
    child = world_info({**environment, **for_libraries}, lambda: 4712)
    assert (child.rank, child.world, child.local_rank, child.local_world, child.address) == expected
    assert child.port == info.port


RANK_0 = {"RANK": "0", **MEET}
NOT_ONE = "in task 6 of 8"
WRONG: dict[str, tuple[dict[str, str], str]] = {
    "a rank beyond the end": (
        {"RANK": "4", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "4", **MEET}, "RANK=4, WORLD_SIZE=4"),
    "a rank before the beginning": (
        {"RANK": "-1", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "4", **MEET}, "RANK=-1, WORLD_SIZE=4"),
    "a local rank beyond the end": (
        {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "2", **MEET},
        "LOCAL_RANK=2, LOCAL_WORLD_SIZE=2"),
    "more here than in all": (
        {**RANK_0, "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "4"}, "WORLD_SIZE=2, .*_WORLD_SIZE=4"),
    "no number": ({"RANK": "first", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "4", **MEET}, "RANK=first"),
    "a fraction": ({**RANK_0, "WORLD_SIZE": "4.0"}, "WORLD_SIZE=4.0"),
    "half of it": ({"RANK": "0", "WORLD_SIZE": "1"}, "MASTER_ADDR, MASTER_PORT is not"),
    "a rank alone": (RANK_0, "RANK=0 is set, WORLD_SIZE is not"),
    "an empty address": ({**RANK_0, "WORLD_SIZE": "1", "MASTER_ADDR": ""}, "MASTER_ADDR is not"),
    "an empty rank": ({**MEET, "RANK": "", "WORLD_SIZE": "8"}, "RANK is not"),
    "no such port": ({**RANK_0, "WORLD_SIZE": "1", "MASTER_PORT": "65536"}, "MASTER_PORT=65536"),
    "only the size": ({"WORLD_SIZE": "8", **MEET}, "WORLD_SIZE=8 in a process that is rank 0 of 1"),
    "only the size, in a batch script": ({**BATCH, "WORLD_SIZE": "8", **MEET}, "WORLD_SIZE=8 in a process"),
    "another size than the step's": ({**TASK_6, "WORLD_SIZE": "4"}, "WORLD_SIZE=4 in a process that is rank 6 of 8"),
    "nobody says how many are here": ({**RANK_0, "WORLD_SIZE": "8"}, "LOCAL_WORLD_SIZE is not set"),
    "nobody says which one here": ({**RANK_0, "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"}, "LOCAL_RANK is not set"),
    "every task the first of one": ({**TASK_6, **RANK_0, "WORLD_SIZE": "1"}, NOT_ONE),
    "every task the first of one, to the last variable": (
        {**TASK_6, **RANK_0, "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}, NOT_ONE),
    "every task the first of eight": ({**TASK_6, **RANK_0, "WORLD_SIZE": "8"}, NOT_ONE),
    "every task the first of more": ({**TASK_6, **RANK_0, "WORLD_SIZE": "16"}, "LOCAL_WORLD_SIZE is not set"),
    "a whole run in each task": (
        {**ONE_A_NODE, "RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "4", **MEET},
        "RANK=3 and WORLD_SIZE=4 in task 1 of 2"),
    "fewer than the step's tasks": (
        {**TASK_6, "RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", **MEET}, NOT_ONE),
    "every process of mpirun the first of one": ({**mpi(1, 2, 1, 2), **RANK_0, "WORLD_SIZE": "1"}, "in task 1 of 2"),
    "a task beyond the end": ({**TASK_6, "SLURM_PROCID": "8"}, "SLURM_PROCID=8, SLURM_STEP_NUM_TASKS=8"),
    "a node beyond the end": ({**TASK_6, "SLURM_NODEID": "2"}, "how many of its tasks"),
    "tasks of another step": ({**TASK_6, "SLURM_STEP_TASKS_PER_NODE": "4"}, "SLURM_STEP_TASKS_PER_NODE=4"),
    "tasks that Slurm does not write": ({**TASK_6, "SLURM_STEP_TASKS_PER_NODE": "4x2"}, "SLURM_STEP_.*=4x2"),
    "a step without machines": (without(TASK_6, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"), "MASTER_ADDR"),
    "a list of machines that Slurm does not write": ({**TASK_6, "SLURM_STEP_NODELIST": "n[1-"}, "set MASTER_ADDR"),
    "the first pod, maybe of many": ({"JOB_COMPLETION_INDEX": "0"}, "WORLD_SIZE, MASTER_ADDR is not"),
    "a pod that does not know where to meet": ({"JOB_COMPLETION_INDEX": "0", "WORLD_SIZE": "2"}, "MASTER_ADDR is not"),
    "a second pod of one": ({"JOB_COMPLETION_INDEX": "1", "WORLD_SIZE": "1"}, "JOB_COMPLETION_INDEX=1, WORLD_SIZE=1"),
    "a node of a TrainJob without torchrun": (
        {"JOB_COMPLETION_INDEX": "1", "PET_NNODES": "2", "PET_NODE_RANK": "1"}, "start by torchrun"),
    "several nodes without torchrun": ({"PET_NNODES": "2", "PET_NODE_RANK": "1"}, "PET_NNODES=2"),
    "MPI over machines that know half of it": ({**mpi(3, 4, 1, 2), "MASTER_ADDR": "n0"}, "MASTER_PORT is not"),
    "MPI that does not say how many are here": ({"PMI_RANK": "1", "PMI_SIZE": "2"}, "PMI_SIZE=2 in a process"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_contradicts_itself_is_refused(name: str) -> None:
    environment, said = WRONG[name]
    with pytest.raises(UserError, match=said) as raised:
        world_info(environment)
    assert raised.value.exit_code == 2 and raised.value.rule and raised.value.fix


def test_tasks_of_a_step_meet_at_one_port_and_other_steps_at_others() -> None:
    def port(rank: int, step: int, job: int = 77) -> int:
        place = {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank % 4), "SLURM_NODEID": str(rank // 4)}
        return world_info({**STEP, **place, "SLURM_JOB_ID": str(job), "SLURM_STEP_ID": str(step)}).port

    assert len({port(rank, 0) for rank in range(8)}) == 1
    assert len({port(0, step) for step in range(500)}) == 500
    assert len({port(0, 0, job) for job in range(100)}) > 90
    assert all(20_000 <= port(0, step) < 30_000 for step in (0, 3, 9_999, 12_345))
    assert world_info({**TASK_6, "MASTER_PORT": "29500"}).port == 29500


def test_a_process_by_itself_takes_the_free_port() -> None:
    assert world_info({}, lambda: 4711).port == 4711
    assert 0 < world_info({}).port < 65_536


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


TORCHRUN_ALONE = {
    "RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4", "GROUP_RANK": "0",
    "GROUP_WORLD_SIZE": "1", "TORCHELASTIC_RUN_ID": "none", **MEET,
}  # fmt: skip


@pytest.mark.parametrize("nested", [{**ONE_A_NODE}, mpi(1, 2, 0, 1)])
def test_a_torchrun_for_itself_in_each_of_several_tasks_is_refused(nested: dict[str, str]) -> None:
    """Without --nnodes each would be a whole run, and all in one folder."""
    with pytest.raises(UserError, match="--nnodes"):
        world_info({**nested, **TORCHRUN_ALONE})
    together = {**TORCHRUN_ALONE, "WORLD_SIZE": "8", "GROUP_WORLD_SIZE": "2", "GROUP_RANK": "1", "RANK": "5"}
    assert world_info({**nested, **together}).rank == 5
    only = {**ONE_A_NODE, "SLURM_STEP_NUM_TASKS": "1", "SLURM_STEP_TASKS_PER_NODE": "1", "SLURM_PROCID": "0"}
    assert world_info({**only, **TORCHRUN_ALONE}).world == 4
    assert world_info({**BATCH, **TORCHRUN_ALONE}).world == 4  # of the batch script itself, which is no task


@pytest.mark.parametrize(("devices", "visible"), [(1, None), (2, "0,1"), (1, ""), (1, "0,1"), (3, "2")])
def test_more_processes_than_gpus_are_refused(devices: int, visible: str | None) -> None:
    e = {"RANK": "2", "WORLD_SIZE": "4", "LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "4", **MEET}
    info = world_info({**e, **({"CUDA_VISIBLE_DEVICES": visible} if visible is not None else {})})
    with pytest.raises(UserError, match=f"4 processes on .* with {devices} GPU"):
        info.device_index(devices)


def test_the_first_machine_of_a_list_as_slurm_writes_it() -> None:
    lists = {
        "gpu[03-05,9],other7": "gpu03",
        "n[098-101]": "n098",
        "a.b-c": "a.b-c",
        "n1,n2": "n1",
        "r[1-2]n[4,7]": "r1n4",
    }
    assert {text: first_host(text) for text in lists} == lists


@pytest.mark.parametrize("text", ["", "n[1-2", "n1-2]", "n[]", "n[x-y]", "n[1-]", " n1", ",n1"])
def test_what_is_no_list_of_machines_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="Slurm writes them as"):
        first_host(text)
    assert world_info({**TASK_6, "SLURM_STEP_NODELIST": text, "MASTER_ADDR": "n0"}).address == "n0"


@pytest.mark.parametrize("name", ["foo", "cuda:999", "meta", "", "cpu:x"])
def test_a_device_that_is_not_here_is_one_message(name: str) -> None:
    with pytest.raises(UserError, match=f"device {name}: "):
        named_device(name)
    assert named_device("cpu").type == "cpu"
