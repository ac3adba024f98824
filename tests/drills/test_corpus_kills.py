"""The corpus stage on every executor, and killed again and again: the same manifest, so the same hash of each shard."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import zstandard

sys.path.insert(0, str(Path(__file__).parents[1] / "hunmin"))
from mini import write_mini

pytestmark = pytest.mark.drill
ROOT = Path(__file__).parents[2]
ENDINGS = ("갔다", "왔다", "보았다", "들었다", "적었다", "물었다", "알았다")


def invented(documents: int, seed: int) -> Iterator[str]:
    """Yield documents of invented sentences, some said before or nearly so, some with invented personal data."""
    draw, last = random.Random(seed), "글."
    for number in range(documents):
        if draw.random() < 0.05:
            yield f"같은 글은 여러 번 나옵니다. {draw.randrange(50)}번 글입니다."
            continue
        sentences = [
            f"{draw.randrange(10_000)}번 사람은 {draw.randrange(900)}번 골목의 {draw.randrange(90)}번 집으로 "
            f"{draw.choice(ENDINGS)}."
            for _ in range(draw.randrange(1, 12))
        ]
        if draw.random() < 0.1:
            sentences.append(f"문의는 010-{draw.randrange(10_000):04d}-{draw.randrange(10_000):04d} 번으로 주십시오.")
        if draw.random() < 0.1:
            yield last + " 고침."
        last = f"{number}번 글. " + " ".join(sentences)
        yield last


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drill")
    texts = folder / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text("\n".join(invented(6_000, 1)), encoding="utf-8")
    lines = (json.dumps({"id": f"b{n}", "text": text}, ensure_ascii=False) for n, text in enumerate(invented(5_000, 2)))
    (texts / "b.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress("\n".join(lines).encode()))
    for number in range(3):
        (texts / f"small-{number}.txt").write_text("\n".join(invented(150, 3 + number)), encoding="utf-8")
    return write_mini(folder)


def command(recipe: Path, out: Path, *options: str, **environment: str) -> subprocess.Popen[bytes]:
    texts = [str(recipe.parent / "texts"), str(recipe.parent / "sample" / "corpora" / "*")]
    overrides = [
        f"out={out}",
        f"corpus.inputs={json.dumps(texts)}",
        "corpus.unit_mb=0.3",
        "corpus.shard_mb=0.6",
        "corpus.deduplicate={near: true, sentences: true}",
    ]
    line = [sys.executable, "-m", "hunmin.main", "corpus", "build", str(recipe), *overrides, *options]
    surroundings = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", **environment}
    return subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=surroundings, cwd=ROOT, start_new_session=True
    )


def finish(process: subprocess.Popen[bytes], code: int = 0) -> str:
    """Wait for a command and return what it wrote to stderr."""
    _, errors = process.communicate(timeout=900)
    assert process.returncode == code, errors.decode()
    assert "Traceback" not in errors.decode()
    return errors.decode()


def manifest(out: Path) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads((out / "corpus" / "manifest.json").read_bytes())
    assert sum(name.endswith(".parquet") for name in tree["outputs"]) > 5
    assert tree["counts"]["duplicates"]["near"] > 200, tree["counts"]
    assert not list(out.glob("*.partial")) and not (out / "corpus" / ".work").exists()
    assert not [*out.glob("made/units-*"), *out.glob("made/.units-*")]
    return tree


def descendants(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def gone(processes: list[psutil.Process]) -> None:
    """Check that processes end within ten seconds."""
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert not [process for process in alive if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


def parts(out: Path) -> int:
    return len(list(out.glob("made/units-*/part-*.parquet")))


def until_parts(process: subprocess.Popen[bytes], out: Path, count: int) -> None:
    """Wait until a run has finished so many units."""
    end = time.monotonic() + 300
    while process.poll() is None and parts(out) < count:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()[1].decode()


@pytest.fixture(scope="module")
def straight(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], float]:
    """Return the manifest of a run by one worker that nobody touched, and its seconds."""
    out = tmp_path_factory.mktemp("straight")
    began = time.monotonic()
    finish(command(recipe, out, "corpus.workers=1"))
    return manifest(out), time.monotonic() - began


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    pytest.importorskip("ray")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    yield made
    made.shutdown()


def test_two_workers(recipe: Path, straight: tuple[dict[str, Any], float], tmp_path: Path) -> None:
    finish(command(recipe, tmp_path, "corpus.workers=2"))
    assert manifest(tmp_path) == straight[0]


def test_ray_with_two_nodes(recipe: Path, straight: tuple[dict[str, Any], float], tmp_path: Path, cluster: Any) -> None:
    finish(command(recipe, tmp_path, "--executor", "ray", "--ray-address", cluster.address))
    assert manifest(tmp_path) == straight[0]


def test_ray_loses_workers_and_a_node(
    recipe: Path, straight: tuple[dict[str, Any], float], tmp_path: Path, cluster: Any
) -> None:
    node = cluster.add_node(num_cpus=1)
    process = command(recipe, tmp_path, "--executor", "ray", "--ray-address", cluster.address)
    until_parts(process, tmp_path, 2)
    for raylet in (descendant for descendant in descendants(os.getpid()) if "raylet" in descendant.name()):
        for worker in raylet.children():
            if worker.is_running() and "ray::run" in " ".join(worker.cmdline()):
                worker.kill()
    until_parts(process, tmp_path, 4)
    cluster.remove_node(node, allow_graceful=False)
    finish(process)
    assert manifest(tmp_path) == straight[0]


def element(recipe: Path, out: Path, rank: int, count: int) -> subprocess.Popen[bytes]:
    return command(
        recipe, out, "corpus.workers=1", "--executor", "slurm-array",
        SLURM_ARRAY_TASK_ID=str(5 + rank), SLURM_ARRAY_TASK_MIN="5", SLURM_ARRAY_TASK_COUNT=str(count),
        SLURM_ARRAY_JOB_ID="71",
    )  # fmt: skip


@pytest.mark.parametrize("count", [2, 5])
def test_a_slurm_array(recipe: Path, straight: tuple[dict[str, Any], float], tmp_path: Path, count: int) -> None:
    elements = [element(recipe, tmp_path, rank, count) for rank in range(count)]
    assert all("sbatch --dependency=afterok:71" in finish(process) for process in elements)
    assert not (tmp_path / "corpus").exists()
    done = parts(tmp_path)
    finish(command(recipe, tmp_path, "--executor", "local"))
    assert manifest(tmp_path) == straight[0]
    assert done > 5 and "corpus     done" in finish(element(recipe, tmp_path, 1, count))


def test_a_slurm_array_whose_elements_and_end_are_killed(
    recipe: Path, straight: tuple[dict[str, Any], float], tmp_path: Path
) -> None:
    elements = [element(recipe, tmp_path, rank, 3) for rank in range(3)]
    until_parts(elements[1], tmp_path, 1)
    for process in elements:
        process.send_signal(signal.SIGSTOP)
    refused = finish(command(recipe, tmp_path, "--executor", "local"), code=2)
    assert "another command is at work" in refused
    for process in elements[1:]:
        process.kill()
        process.communicate()
    elements[0].send_signal(signal.SIGCONT)
    finish(elements[0])
    before = parts(tmp_path)
    requeued = element(recipe, tmp_path, 1, 3)
    until_parts(requeued, tmp_path, before + 1)
    requeued.kill()
    requeued.communicate()
    for process in [element(recipe, tmp_path, rank, 2) for rank in range(2)]:  # the array in another size
        finish(process)
    assert not list(tmp_path.glob("corpus.partial/[!.]*")), "elements write units alone"
    done = parts(tmp_path)
    end = command(recipe, tmp_path, "--executor", "local")
    while end.poll() is None and not list(tmp_path.glob("corpus.partial/shards/shard-*.parquet")):
        time.sleep(0.01)
    end.kill()
    end.communicate()
    assert parts(tmp_path) == done > before
    finish(command(recipe, tmp_path, "--executor", "local"))
    assert manifest(tmp_path) == straight[0]


@pytest.mark.parametrize("seed", range(3))
def test_five_kills_of_workers_and_parents(
    recipe: Path, straight: tuple[dict[str, Any], float], tmp_path: Path, seed: int
) -> None:
    draw = random.Random(seed)
    kills = ["worker", "worker", "parent", "parent", draw.choice(["worker", "parent"])]
    draw.shuffle(kills)
    process = command(recipe, tmp_path, "corpus.workers=2")
    for kind in kills:
        target = parts(tmp_path) + draw.randrange(3)
        while process.poll() is None and not (parts(tmp_path) >= target and working(process)):
            time.sleep(0.01)
        time.sleep(draw.uniform(0, 0.3))
        family = descendants(process.pid)
        if process.poll() is not None:  # it came to its end before the kill
            end_of_killed(process, tmp_path, straight[0])
            shutil.rmtree(tmp_path / "corpus", ignore_errors=True)
        elif kind == "worker" and (workers := working(process)):
            draw.choice(workers).kill()
            continue
        else:
            process.kill()
            process.communicate()
            gone(family)
        process = command(recipe, tmp_path, "corpus.workers=2")
    if not end_of_killed(process, tmp_path, straight[0]):
        finish(command(recipe, tmp_path, "corpus.workers=2"))
        assert manifest(tmp_path) == straight[0]


def end_of_killed(process: subprocess.Popen[bytes], out: Path, expected: dict[str, Any]) -> bool:
    """Wait for a run whose workers were killed; return whether it came through, or reported what killed too many."""
    _, errors = process.communicate(timeout=900)
    assert "Traceback" not in errors.decode()
    if process.returncode == 1:
        reported = "a worker died 3 times on it (exit code -9", "3 workers died as they started (exit code -9"
        assert any(message in errors.decode() for message in reported)
        return False
    assert process.returncode == 0, errors.decode()
    assert manifest(out) == expected
    return True


def working(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Return the workers of a local run, and the server they are forked from."""
    servers = []
    for child in descendants(process.pid):
        try:
            if "multiprocessing.forkserver" in " ".join(child.cmdline()):
                servers.append(child)
        except psutil.NoSuchProcess:
            continue
    return servers


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("executor", ["local", "ray"])
def test_a_polite_stop_leaves_no_process_and_goes_on(
    recipe: Path, straight: tuple[dict[str, Any], float], tmp_path: Path, executor: str, number: int, code: int
) -> None:
    if executor == "ray":
        pytest.importorskip("ray")
    process = command(recipe, tmp_path, "corpus.workers=2", "--executor", executor, "--ray-address", "local")
    until_parts(process, tmp_path, 2)
    family = descendants(process.pid)
    assert family
    process.send_signal(number)
    message = finish(process, code)
    assert "finished work is kept; resume with the same command" in message
    gone(family)
    finish(command(recipe, tmp_path, "corpus.workers=2"))
    assert manifest(tmp_path) == straight[0]


@pytest.mark.parametrize("units", [0, 2])
def test_a_ctrl_c_at_the_terminal_reaches_all_processes(
    recipe: Path, straight: tuple[dict[str, Any], float], tmp_path: Path, units: int
) -> None:
    process = command(recipe, tmp_path, "corpus.workers=2")
    while len(working(process)) < 2:
        assert process.poll() is None
        time.sleep(0.01)
    until_parts(process, tmp_path, units)
    family = descendants(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    assert "finished work is kept; resume with the same command" in finish(process, 130)
    gone(family)
    finish(command(recipe, tmp_path, "corpus.workers=2"))
    assert manifest(tmp_path) == straight[0]


def test_inputs_that_change_between_kills(recipe: Path, straight: tuple[dict[str, Any], float], tmp_path: Path) -> None:
    extra = recipe.parent / "texts" / "0-extra.txt"
    extra.write_text("\n".join(invented(2_500, 99)), encoding="utf-8")
    process = command(recipe, tmp_path, "corpus.workers=2")
    until_parts(process, tmp_path, 3)
    process.kill()
    process.communicate()
    before = parts(tmp_path)
    extra.unlink()
    process = command(recipe, tmp_path, "corpus.workers=2")
    until_parts(process, tmp_path, before)
    finish(process)
    assert manifest(tmp_path) == straight[0]
