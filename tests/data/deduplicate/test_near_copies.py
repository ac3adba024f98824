"""Near copies found task by task: what everything in memory gives, under any cut, executor and kills."""

import os
import random
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.deduplicate import cluster, groups, near_copies
from data.deduplicate.equal_documents import find_equal_documents
from data.deduplicate.near import PERMUTATIONS, choose_bands, signatures
from data.deduplicate.near_copies import find_near_copies
from data.deduplicate.report import write_report
from data.deduplicate.sides import SIGNATURES
from data.executors.choice import open_executor
from data.executors.local import LocalPool

from ..building import write_part
from .in_memory import Corpus
from .invented import planted

ONE = LocalPool(1)


def write_parts(folder: Path, texts: list[str], cuts: list[int]) -> list[Path]:
    """Write texts as parts with their signatures; a document's id is its place."""
    folder.mkdir(exist_ok=True)
    borders = [0, *sorted(cuts), len(texts)]
    paths = []
    for first, last in pairwise(borders):
        names = [f"문서 {place}" for place in range(first, last)]
        paths.append(write_part(folder / f"part-{len(paths):04d}.parquet", texts[first:last], names))
        np.save(paths[-1].with_suffix(SIGNATURES), signatures(texts[first:last]))
    return paths


def in_memory(texts: list[str], exact: bool) -> tuple[list[tuple[int, int, int]], bytes]:
    """Return all (dropped, kept, equal numbers) of near copies, and the report: the oracle."""
    first = {}
    twins = {place: first[text] for place, text in enumerate(texts) if first.setdefault(text, place) != place}
    twins = twins if exact else {}
    stays = np.array([place not in twins for place in range(len(texts))], bool)
    copies = Corpus(signatures(texts)).near(0.8, stays).tolist()
    near = {dropped: (kept, equal) for dropped, kept, equal in copies}
    lines = []
    for place in sorted([*twins, *near]):
        kept, equal = near.get(place) or near.get(twins[place]) or (twins[place], PERMUTATIONS)
        rule = "near" if place in near else "documents"
        line = {"id": f"문서 {place}", "kept": f"문서 {kept}", "rule": rule, "similarity": equal / PERMUTATIONS}
        lines.append(orjson.dumps(line | {"similarity": round(line["similarity"], 4)}) + b"\n")
    return copies, b"".join(lines)


def by_tasks(parts: list[Path], folder: Path, exact: bool, execute=ONE) -> tuple[list[tuple[int, int, int]], bytes]:
    """Return the same, by tasks."""
    rows, twins = find_equal_documents(parts, folder, execute)
    twins = twins if exact else None
    near = find_near_copies(parts, rows, 0.8, twins, folder, execute)
    write_report(folder / "report", parts, rows, twins, near, folder, execute)
    return [row for copies in near for row in copies.tolist()], (folder / "report").read_bytes()


def mixed(count: int, seed: int) -> list[str]:
    texts = planted(count, (0.0, 0.01, 0.02, 0.03, 0.08), seed)
    return texts + random.Random(seed).sample(texts, count // 3)


@settings(max_examples=10)
@given(
    seed=st.integers(0, 999),
    cuts=st.lists(st.integers(0, 40), max_size=6),
    group=st.integers(1, 4),
    partition=st.sampled_from([40, 300, 10**6]),
    at_once=st.sampled_from([1, 100, 10**6]),
    some=st.sampled_from([1, 5, 10**6]),
    exact=st.booleans(),
)
def test_it_is_what_everything_in_memory_gives(tmp_path_factory, seed, cuts, group, partition, at_once, some, exact):
    folder = tmp_path_factory.mktemp("near")
    texts = mixed(16, seed)
    parts = write_parts(folder / "parts", texts, [min(cut, len(texts)) for cut in cuts])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "GROUP_PARTS", group)
        patch.setattr(near_copies, "PARTITION", partition)
        patch.setattr(near_copies, "GATHERED", at_once)
        patch.setattr(near_copies, "CLUSTERS", some)
        assert by_tasks(parts, folder, exact) == in_memory(texts, exact)


def test_nothing(tmp_path):
    for texts, cuts in (([], []), ([], [0, 0]), (["하나의 글이다."], [0])):
        parts = write_parts(tmp_path / "parts", texts, cuts)
        assert by_tasks(parts, tmp_path, True) == ([], b"")
    assert by_tasks([], tmp_path, True) == ([], b"")


@pytest.mark.parametrize("executor", ["threads", "two processes", pytest.param("ray", marks=pytest.mark.slow)])
def test_any_executor_gives_the_same_bytes(executor, tmp_path):
    if executor == "ray":
        pytest.importorskip("ray")
    texts = mixed(90, 5)
    parts = write_parts(tmp_path / "parts", texts, [30, 70, 71, 150])
    name = "ray" if executor == "ray" else "local"
    with open_executor(name, 2, "local", tmp_path, threads=executor == "threads") as execute:
        assert by_tasks(parts, tmp_path, True, execute) == in_memory(texts, True)


def test_other_parts_thresholds_and_choices_are_not_taken_up_and_wait(tmp_path, monkeypatch):
    texts = mixed(40, 6)
    parts = write_parts(tmp_path / "parts", texts, [20, 50])
    by_tasks(parts, tmp_path, True)
    assert by_tasks(parts, tmp_path, False) == in_memory(texts, False)
    rows = np.array([20, 30, len(texts) - 50])
    other = find_near_copies(parts, rows, 0.6, None, tmp_path, ONE)
    expected = Corpus(signatures(texts)).near(0.6)
    assert np.concatenate(list(other)).tolist() == expected.tolist()
    for function in ("band_keys", "like_pairs", "clusters", "copies"):  # nothing is done again
        monkeypatch.setattr(near_copies, function, None)
    assert by_tasks(parts, tmp_path, True) == in_memory(texts, True)


def test_a_task_holds_so_many_keys_and_no_more(tmp_path, monkeypatch):
    """The memory of a task is bounded by what it reads: its share of the keys, or one bucket."""
    monkeypatch.setattr(near_copies, "PARTITION", 500)
    monkeypatch.setattr(near_copies, "GATHERED", 600)
    numbers = np.random.default_rng(0).integers(0, 1 << 32, (4000, PERMUTATIONS), np.uint32)
    parts = write_parts(tmp_path / "parts", [""] * 4000, [1000, 2500])
    for part, rows in zip(parts, np.split(numbers, [1000, 2500]), strict=True):
        np.save(part.with_suffix(SIGNATURES), rows)
    sizes = []
    pairs = cluster.like_pairs
    monkeypatch.setattr(near_copies, "like_pairs", lambda keys, *rest: sizes.append(len(keys)) or pairs(keys, *rest))
    find_near_copies(parts, np.array([1000, 1500, 1500]), 0.8, None, tmp_path, ONE)
    assert len(sizes) == 8 * choose_bands(0.8)[0]
    assert sum(sizes) == 4000 * choose_bands(0.8)[0]
    assert max(sizes) < 650


RUN = """
import sys
from functools import partial
from pathlib import Path
from data.deduplicate import groups, near_copies
from data.executors.local import LocalPool
from tests.data.deduplicate.test_near_copies import by_tasks
groups.GROUP_PARTS, near_copies.PARTITION, near_copies.CLUSTERS = 2, 50, 9
folder = Path(sys.argv[1])
by_tasks(sorted((folder / "parts").glob("part-*.parquet")), folder, True)
"""


def run_with_kills(program: str, folder: Path, most: int) -> int:
    """Return how often a program in a folder is killed, each time after some new files, until it comes to its end."""
    draw, kills = random.Random(3), 0
    for _ in range(60):
        process = subprocess.Popen([sys.executable, "-c", program, str(folder)], start_new_session=True)
        before = len(list(folder.glob("*-*/*")))
        more = draw.randrange(1, most)
        while process.poll() is None and len(list(folder.glob("*-*/*"))) < before + more:
            time.sleep(0.001)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            kills += 1
        if process.wait() == 0:
            break
        assert process.returncode == -signal.SIGKILL
    return kills


@pytest.mark.drill
def test_kills_at_any_moment_change_no_byte(tmp_path):
    texts = mixed(60, 7)
    write_parts(tmp_path / "parts", texts, [10, 20, 21, 60, 100])
    assert run_with_kills(RUN, tmp_path, most=15) >= 3
    assert (tmp_path / "report").read_bytes() == in_memory(texts, True)[1]
