"""Ray: a cluster of two nodes on this machine; order, failures, workers and nodes that die."""

import functools
import os
import sys
from pathlib import Path

import pytest

from common.errors import UserError
from common.manifest import describe_outputs
from common.settings import parse_settings
from data.corpus import CorpusSettings, build_corpus
from data.executors import WorkFailed, open_executor

sys.path.insert(0, str(Path(__file__).parent))
from executor_jobs import Number, broken, die_always, die_once, large, square, working_folder

pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    yield made
    made.shutdown()


@pytest.fixture
def executor(cluster, tmp_path):
    with open_executor("ray", None, cluster.address, tmp_path) as opened:
        yield opened


def test_results_come_in_the_order_of_the_tasks_and_large_ones_too(executor):
    seen: list[int] = []
    tasks = [Number(n) for n in range(40)]
    assert executor(square, tasks, seen.append) == [n * n for n in range(40)]
    assert sorted(seen) == sorted(n * n for n in range(40))
    assert executor(functools.partial(large, b"x" * 5_000_000), iter(tasks[:6])) == [5_000_000 + n for n in range(6)]


def test_no_module_of_the_current_folder_is_imported(cluster, tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("data", "common", "html", "random", "orjson"):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'EXECUTED')!r}, 'a').write(__name__ + ' ')\n")
    monkeypatch.chdir(folder)
    with open_executor("ray", None, cluster.address, tmp_path) as execute:
        assert execute(square, [Number(n) for n in range(4)]) == [0, 1, 4, 9]
        assert set(execute(working_folder, [Number(0)])) == {str(folder)}  # relative paths mean the same everywhere
    assert not (tmp_path / "EXECUTED").exists(), (tmp_path / "EXECUTED").read_text()


def test_failures_are_named_at_the_end_and_dead_workers_replaced(executor, tmp_path):
    tasks = [Number(n) for n in range(6)]
    assert executor(functools.partial(die_once, tmp_path), tasks) == list(range(6))
    seen: list[int] = []
    with pytest.raises(WorkFailed, match="number 1: ValueError") as caught:
        executor(broken, tasks, seen.append)
    assert sorted(seen) == [0, 2, 3, 4, 5] and "private words" not in str(caught.value)
    with pytest.raises(WorkFailed, match="number 2: workers or their nodes died 4 times on it"):
        executor(die_always, tasks)


def test_a_node_without_the_folder_is_refused(executor, tmp_path):
    for token in tmp_path.glob(".shared-*"):
        token.unlink()
    with pytest.raises(UserError, match="does not see"):
        executor(square, [Number(1)])


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense", "ray://127.0.0.1:1"])
def test_no_cluster_at_the_address(tmp_path, address):
    with pytest.raises(UserError, match=f"no Ray cluster at {address}"), open_executor("ray", None, address, tmp_path):
        pass


def test_a_corpus_from_two_nodes_has_the_bytes_of_one_process(cluster, tmp_path):
    for name in ("a", "b"):
        text = "\n".join(
            f"{n}번 문장이 {name} 문서에 있다. 전화는 010-1234-{n % 10_000:04d} 번." for n in range(30_000)
        )
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    tree = {
        "inputs": [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")],
        "pii": {"key": "a key for tests only, 32 letters"},
        "decontaminate": {"enabled": False},
        "unit_mb": 1,
        "shard_mb": 1,
    }
    build_corpus(parse_settings(CorpusSettings, {**tree, "workers": 1}, "test"), tmp_path / "one")
    choice = {"executor": "ray", "ray_address": cluster.address}
    build_corpus(parse_settings(CorpusSettings, {**tree, **choice}, "test"), tmp_path / "two")
    assert describe_outputs(tmp_path / "one") == describe_outputs(tmp_path / "two")
