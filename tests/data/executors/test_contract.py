"""What every executor does: results in order, failures named at the end, dead workers replaced, a full disk at once."""

import functools
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from common.code import running_code
from common.errors import DiskFullError, UserError
from common.manifest import describe_outputs
from data.executors.choice import open_executor
from data.executors.failures import MOST_FAILURES, Failures, WorkFailed
from data.executors.local import LocalPool
from data.executors.protocol import Call
from data.executors.ray import PACKAGES
from data.executors.threads import ThreadPool

from ..building import build, settings

sys.path.insert(0, str(Path(__file__).parent))
from executor_jobs import Number, broken, die_always, die_once, full, in_vain, large, misused, square, working_folder

OF_PROCESSES = ("processes", "ray")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    yield made
    made.shutdown()


# these connect by themselves, so they come before `execute`, whose connection lasts to the end of the module
def test_ray_imports_no_module_of_the_current_folder(cluster, tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("data", "common", "html", "random", "orjson"):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'EXECUTED')!r}, 'a').write(__name__ + ' ')\n")
    monkeypatch.chdir(folder)
    with open_executor("ray", None, cluster.address, tmp_path) as execute:
        assert execute(square, [Number(n) for n in range(4)]) == [0, 1, 4, 9]
        assert set(execute(working_folder, [Number(0)])) == {str(folder)}  # relative paths mean the same everywhere
    assert not (tmp_path / "EXECUTED").exists(), (tmp_path / "EXECUTED").read_text()


def test_a_ray_node_without_the_folder_or_with_other_code_is_refused(cluster, tmp_path, monkeypatch):
    with open_executor("ray", None, cluster.address, tmp_path) as execute:
        assert execute(functools.partial(large, b"x" * 5_000_000), numbers(2)) == [5_000_000, 5_000_001]
        code = running_code(*PACKAGES)
        for changed in ({"source": "0123456789abcdef"}, {"pyarrow": "1.0"}):  # other sources, other libraries
            changes = ", ".join(f"{name}: {value} → {code[name]}" for name, value in changed.items())
            with monkeypatch.context() as patch, pytest.raises(UserError, match=f"runs other code .*: {changes} "):
                patch.setattr("data.executors.ray._code", lambda changed=changed: code | changed)
                execute(square, numbers(1))
        for token in tmp_path.glob(".shared-*"):
            token.unlink()
        with pytest.raises(UserError, match="does not see"):
            execute(square, numbers(1))


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense", "ray://127.0.0.1:1"])
def test_no_cluster_at_the_address(tmp_path, address):
    with pytest.raises(UserError, match=f"no Ray cluster at {address}"), open_executor("ray", None, address, tmp_path):
        pass


@pytest.mark.slow
def test_a_corpus_from_two_ray_nodes_has_the_bytes_of_one_process(cluster, tmp_path):
    for name in ("a", "b"):
        text = "\n".join(f"{n}번 문장이 {name} 문서에 있다. 전화는 010-1234-{n % 10_000:04d} 번." for n in range(2_000))
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    inputs = [tmp_path / "a.txt", tmp_path / "b.txt"]
    build(settings(*inputs, unit_mb=0.05, shard_mb=0.1), tmp_path / "one")
    build(settings(*inputs, unit_mb=0.05, shard_mb=0.1, executor="ray", ray_address=cluster.address), tmp_path / "two")
    assert describe_outputs(tmp_path / "one") == describe_outputs(tmp_path / "two")


@pytest.fixture(scope="module", params=["here", "processes", "threads", "ray"])
def execute(request, tmp_path_factory) -> Iterator[Any]:
    kind, folder = request.param, tmp_path_factory.mktemp("shared")
    if kind == "ray":
        pytest.importorskip("ray")
        cluster = request.getfixturevalue("cluster")
        with open_executor("ray", None, cluster.address, folder) as opened:
            yield opened
        return
    with open_executor("local", 1 if kind == "here" else 2, "", folder, threads=kind == "threads") as opened:
        yield opened


@pytest.fixture
def kind(request) -> str:
    return str(request.node.callspec.params["execute"])


def numbers(count: int, drawn: list[int] | None = None, step: int = 1, first: int = 0) -> Iterator[Number]:
    for value in range(first, first + count * step, step):
        if drawn is not None:
            drawn.append(value)
        yield Number(value)


def test_results_come_in_the_order_of_the_tasks(execute):
    seen: list[int] = []
    assert execute(square, numbers(20), seen.append) == [n * n for n in range(20)]
    assert sorted(seen) == [n * n for n in range(20)]
    assert execute(square, iter([])) == []


def test_a_programming_error_names_the_unit_but_not_the_text_and_the_others_are_done(execute, capsys):
    seen: list[int] = []
    with pytest.raises(WorkFailed) as caught:
        execute(broken, numbers(6), seen.append)
    assert sorted(seen) == [0, 2, 3, 4, 5]
    assert "number 1: ValueError" in str(caught.value) and "in broken" in str(caught.value)
    assert "private words" not in str(caught.value) + capsys.readouterr().err


def test_every_failure_is_named_or_given_to_the_caller_and_users_mistakes_exit_with_2(execute):
    with pytest.raises(WorkFailed, match="2 work units failed") as caught:
        execute(misused, numbers(6))
    assert "number 1: bad 1" in str(caught.value) and "number 4: bad 4" in str(caught.value)
    assert caught.value.exit_code == 2
    failures = Failures()
    assert execute(misused, numbers(6), None, failures) == [0, 2, 3, 5]
    assert sorted(failure.name for failure in failures) == ["number 1", "number 4"]


def test_a_full_disk_ends_the_call_at_once_and_the_executor_serves_on(execute):
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    drawn: list[int] = []
    with pytest.raises(DiskFullError) as caught:
        execute(full, numbers(100, drawn))
    assert (caught.value.rule, caught.value.fix) == ("rule", "fix") and len(drawn) < 50
    with pytest.raises(KeyboardInterrupt):
        execute(square, numbers(6), interrupt)
    assert execute(square, numbers(6)) == [n * n for n in range(6)]


def test_a_worker_that_dies_is_replaced_and_what_kills_its_workers_is_named(execute, kind, tmp_path):
    if kind not in OF_PROCESSES:
        pytest.skip("it is this process")
    assert execute(functools.partial(die_once, tmp_path), numbers(6)) == list(range(6))
    seen: list[int] = []
    said = {"processes": "a worker died 3 times on it \\(exit code 9", "ray": "workers or their nodes died 4 times"}
    with pytest.raises(WorkFailed, match=f"number 2: {said[kind]}"):
        execute(die_always, numbers(6), seen.append)
    assert sorted(seen) == [0, 1, 3, 4, 5]


def test_results_that_come_out_of_order_are_put_in_order():
    call = Call(numbers(3), None, None)
    for index, task in reversed([call.take() for _ in range(3) if call.has_task()]):
        call.settle(index, task.value)
    assert call.results() == [0, 1, 2]


def test_one_reason_of_many_failures_is_told_once(capsys):
    with pytest.raises(WorkFailed, match="9 work units failed") as caught:
        LocalPool(1)(in_vain, numbers(9))
    said = capsys.readouterr().err
    assert said.count("no table: units") == 1 and "number 8: likewise" in said
    message = str(caught.value)
    assert message.count("no table: units") == 1
    assert "likewise: number 1, number 2, number 3, number 4, number 5, number 6" in message


def test_a_fault_in_every_unit_stops_the_run():
    drawn: list[int] = []
    with pytest.raises(WorkFailed, match=f"{MOST_FAILURES} work units failed"):
        LocalPool(1)(misused, numbers(10_000, drawn, step=3, first=1))
    assert len(drawn) == MOST_FAILURES


def test_so_many_threads_work_at_once_and_no_more_is_drawn():
    together, drawn = threading.Barrier(3, timeout=60), list[int]()

    def meet(task: Number) -> int:
        ahead = len(drawn)
        together.wait()  # broken, and so a failure, unless three are here
        return ahead

    assert max(ThreadPool(3)(meet, numbers(6, drawn))[:3]) <= 3
