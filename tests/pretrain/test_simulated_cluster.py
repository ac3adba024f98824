"""What a run of 1,024 processes on 128 machines does, shown on one: each process's part, without its neighbours.

A process group whose collectives do nothing stands for the others, and a process that knows rank 0's answers for the
store. What is expected is written down here, not taken from the code.
"""

from __future__ import annotations

import copy
import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

from pretrain.batches.loader import Loader, plan_samples
from pretrain.callbacks.checkpoint import save_checkpoint
from pretrain.models.encoder import MaskedRowsModel, build_config, build_model
from pretrain.parallel.ddp import TorchEngine
from pretrain.parallel.monitor import SILENT, Monitor
from pretrain.parallel.processes import Process
from pretrain.parallel.world import world_info
from pretrain.settings import PretrainSettings
from pretrain.setup import begin
from tests.pretrain.small_tokens import SPECIAL, WORDS
from tokenizer.shards import TokenShards, token_dtype, write_meta, write_shard

MACHINES, EACH = 128, 8
WORLD = MACHINES * EACH
SAMPLES, HELD_OUT, ROOM = 2503, 100, 6
"""Samples of the numbered corpus, of them held out, and tokens in one: sizes that nothing divides."""
SMALL: dict[str, Any] = {
    "model": {"layers": 1, "hidden": 32, "heads": 2}, "packing": "contiguous", "max_seq_len": 16, "steps": 20,
    "global_batch": 2 * WORLD, "micro_batch": 2, "validation_samples": 16, "optimizer": {"warmup_steps": 2},
    "compile": False, "wandb": "off",
}  # fmt: skip


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tokens of which every six begin with three digits that say which six they are, over two shards."""
    folder = tmp_path_factory.mktemp("numbered")
    digits = np.arange(SAMPLES)[:, None] // np.array([WORDS * WORDS, WORDS, 1]) % WORDS
    rows = np.concatenate([digits, np.full((SAMPLES, ROOM - 3), 7)], 1) + 5
    entries = []
    for shard, part in enumerate(np.split(rows, [1000])):
        flat = part.ravel().astype(token_dtype(100))
        entries.append(write_shard(folder, shard, flat, [0, len(flat)], [0, len(flat)]))
    write_meta(folder, 100, SPECIAL, entries, unk=0)
    return folder


def numbers(ids_BS: np.ndarray) -> list[int]:
    """Return which samples rows are, by their digits: position 0 holds [CLS]."""
    return ((ids_BS[:, 1:4] - 5) @ np.array([WORDS * WORDS, WORDS, 1])).tolist()


def run_of(**changes: Any) -> PretrainSettings:
    fixed = {"packing": "contiguous", "max_seq_len": ROOM + 2, "steps": 50, "optimizer": {"warmup_steps": 0}}
    return PretrainSettings(**{**fixed, "validation_samples": HELD_OUT, "masking": {"rate": 0.3}, **changes})


def every_loader(run: PretrainSettings, tokens: Path, tokenizer: Path, plans: Path, world: int) -> list[Loader]:
    """Return the loaders of all processes: the last one made as a run makes it, the others its copies with their rank,
    which is all that they would differ by (to make 1,024 takes seconds)."""
    last = Loader(run, tokens, tokenizer, plans, world - 1, world)
    loaders = [copy.copy(last) for _ in range(world)]
    for rank, loader in enumerate(loaders):
        loader.rank = rank
    return loaders


Rows = list[tuple[int, bytes, bytes, int]]
"""Of each sample: its number, its masked tokens, what is predicted of it, and the place of its micro-batch."""


def rows_of(loaders: list[Loader], step: int) -> Rows:
    """Return the rows of a step as the processes share it: micro-batch a of process r has place a · world + r."""
    parts = [loader.masked_batches(step) for loader in loaders]
    assert len({len(part) for part in parts}) == 1  # all processes compute as many
    rows: Rows = []
    for a in range(len(parts[0])):
        for rank, part in enumerate(parts):
            batch, masked = part[a]
            assert len(batch.ids_BS) == loaders[0].settings.micro_batch
            for row, number in enumerate(numbers(batch.ids_BS)):
                place = a * len(loaders) + rank
                rows.append((number, masked.ids_BS[row].tobytes(), masked.labels_BM[row].tobytes(), place))
    return rows


@pytest.mark.drill
@pytest.mark.parametrize(
    ("sizes", "changes"),
    [
        ([2048] * 2, {"global_batch": 2048, "micro_batch": 1}),
        ([4096], {"global_batch": 4096, "micro_batch": 2}),
        # two stairs over two steps
        ([2048, 4096], {"global_batch": 4096, "micro_batch": 2, "batch_warmup": {"start": 2048, "steps": 2}}),
    ],
)
def test_any_number_of_processes_sees_each_sample_once_an_epoch_in_one_order(
    sizes: list[int], changes: dict[str, Any], numbered: Path, tokenizer: Path, tmp_path: Path
) -> None:
    run = run_of(**changes)
    plan_samples(run, numbered, tmp_path)
    streams = []
    for world in (1, 8, WORLD):
        loaders = every_loader(run, numbered, tokenizer, tmp_path, world)
        steps = [rows_of(loaders, step) for step in range(len(sizes))]
        assert [len(rows) for rows in steps] == sizes
        streams.append(steps)
    assert streams[0] == streams[1] == streams[2]

    order = [number for rows in streams[0] for number, *_ in rows]
    trained = SAMPLES - HELD_OUT
    assert len(order) > trained  # more than an epoch, whose end lies within a step
    first, second = order[:trained], order[trained : 2 * trained]
    held_out = set(range(SAMPLES)) - set(first)
    assert len(set(first)) == trained and len(held_out) == HELD_OUT
    assert len(set(second)) == len(second) and not held_out & set(second)
    assert first != sorted(first) and second != first[: len(second)]


def test_held_out_samples_are_seen_once_by_1024_processes(numbered: Path, tokenizer: Path, tmp_path: Path) -> None:
    """A hundred of them: most processes have none of their own, and still take as many micro-batches."""
    run = run_of(global_batch=2048, micro_batch=2)
    plan_samples(run, numbered, tmp_path)
    seen: Counter[int] = Counter()
    for loader in every_loader(run, numbered, tokenizer, tmp_path, WORLD):
        batches = list(loader.masked_validation())
        assert len(batches) == 1
        for batch, _ in batches:
            seen.update(np.array(numbers(batch.ids_BS))[batch.counted_B].tolist())
    assert len(seen) == HELD_OUT and set(seen.values()) == {1}
    whole = Loader(run, numbered, tokenizer, tmp_path, 0, 1)
    assert not set(seen) & {number for number, *_ in rows_of([whole], 0) + rows_of([whole], 1)}


WATCH: list[list[tuple[str, str]]] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if WATCH and event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], (str, os.PathLike)):
        WATCH[-1].append((event, os.fspath(arguments[0])))


sys.addaudithook(_audit)  # every open and listing of this interpreter passes here, numpy's and pathlib's too


@contextmanager
def watched(*folders: Path) -> Iterator[list[tuple[str, str]]]:
    """Note what is opened and listed in folders."""
    seen: list[tuple[str, str]] = []
    WATCH.append(seen)
    try:
        yield seen
    finally:
        WATCH.pop()
        seen[:] = [(event, path) for event, path in seen if any(path.startswith(str(f)) for f in folders)]


def test_a_process_does_not_read_the_tokens_to_begin(tokenizer: Path, tmp_path: Path) -> None:
    """It maps them: 1,024 loaders of a corpus of 40 MB hold none of it, and read what one sample needs."""
    folder, tokens = tmp_path / "tokens", 20_000_000
    folder.mkdir()
    flat = (np.arange(tokens) % WORDS + 5).astype(token_dtype(100))
    offsets = np.arange(0, tokens + 1, 500)
    write_meta(folder, 100, SPECIAL, [write_shard(folder, 0, flat, offsets, offsets)], unk=0)
    run = PretrainSettings(packing="full-sentences", max_seq_len=512, global_batch=2 * WORLD, micro_batch=2)
    plan_samples(run, folder, tmp_path / "plans")

    def read_bytes() -> int:  # by calls, and by pages of maps
        fields = dict(line.split(":") for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:])
        calls = dict(line.split(":") for line in Path("/proc/self/io").read_text().splitlines())
        return int(calls["rchar"]) + 1024 * int(fields["Rss"].split()[0])

    Loader(run, folder, tokenizer, tmp_path / "plans", 0, WORLD).masked_batches(0)  # compiles
    before = read_bytes()
    loaders = [Loader(run, folder, tokenizer, tmp_path / "plans", rank, WORLD) for rank in range(0, WORLD, 32)]
    own = (read_bytes() - before) / len(loaders)
    assert own < 1e6 < flat.nbytes / 30  # sentences' offsets, 320 kB, and the borders made of them


class Alone(Process):
    """Rank 0's work is done where rank is 0, and its answers are kept for the others."""

    kept: dict[str, Any]
    out: Path

    def on_first(self, name: str, work: Callable[[], Any]) -> Any:
        if self.first:
            self.kept[name] = json.loads(json.dumps(work()))
        elif name == "write to the run's folder":
            (self.out / ".shared-1").touch()
            return ".shared-1"
        return self.kept[name]

    def meet(self, name: str) -> None:
        (self.out / ".shared-1").unlink(missing_ok=True)


def start(rank: int, world: int, values: dict[str, Any], tokens: Path, tokenizer: Path, out: Path) -> Any:
    process = Alone(rank, world, "n0", torch.device("cpu"))
    process.kept, process.out = values, out
    return begin(PretrainSettings(**SMALL), tokens, tokenizer, out, process)


def test_what_a_process_opens_at_the_start_does_not_grow(tokens: Path, tokenizer: Path, tmp_path: Path) -> None:
    """A few ranks: the work of each depends on its rank by being the first or not, and in the loader by arithmetic."""
    values: dict[str, Any] = {}
    out = tmp_path / "out"
    engine = start(0, 1, values, tokens, tokenizer, out).engine
    config = engine.model.hf_model.config.to_diff_dict()  # as the trainer states it in each checkpoint
    metadata = {**start(0, 1, values, tokens, tokenizer, out).metadata, "guard": None, "config": config}
    for weight in engine.model.hf_model.parameters():
        weight.grad = torch.zeros_like(weight)
    engine.apply(0.0, torch.ones(()), torch.zeros(()))
    counts: dict[tuple[int, int, int], Counter[str]] = {}
    for checkpoints in (1, 30):
        for step in range(1, checkpoints + 1):
            save_checkpoint(engine, out / "checkpoints", step, metadata, keep_last=100)
        assert len(list((out / "checkpoints").glob("step-*"))) == checkpoints
        for world, ranks in ((8, (0, 7)), (WORLD, (0, 1, 7, 1023))):
            for rank in ranks:
                with watched(out, tokens, tokenizer) as seen:
                    run = start(rank, world, values, tokens, tokenizer, out)
                assert run.step == checkpoints  # it goes on from the newest
                in_checkpoints = [path for event, path in seen if event != "open" and "checkpoints" in path]
                assert bool(in_checkpoints) == (rank == 0)
                if rank:
                    counts[rank, world, checkpoints] = Counter(event for event, _ in seen)
                    written = [path for event, path in seen if event == "open" and path.startswith(f"{out}/check")]
                    assert all(f"step-{checkpoints:08d}" in path for path in written)
    print(f"\nopened and listed at the start: {dict(next(iter(counts.values())))}")
    assert len(counts) == 8 and len({tuple(sorted(count.items())) for count in counts.values()}) == 1


@contextmanager
def others(rank: int, world: int) -> Iterator[None]:
    """A process group of which the others do nothing."""
    dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
    try:
        yield
    finally:
        dist.destroy_process_group()


def engine_of(tokens: Path, **model: Any) -> TorchEngine:
    settings = PretrainSettings(**{**SMALL, "model": {**SMALL["model"], **model}})
    shards = TokenShards(tokens)
    torch.manual_seed(0)
    model_ = MaskedRowsModel(build_model(settings, build_config(settings, shards.vocab_size, shards.special_ids)))
    engine = TorchEngine(model_, settings, torch.device("cpu"), None)
    for weight in model_.hf_model.parameters():
        weight.grad = torch.full_like(weight, 0.01)
    engine.apply(1e-3, torch.ones(()), torch.zeros(()))
    return engine


def test_a_checkpoint_of_1024_processes_is_that_of_one(tokens: Path, tmp_path: Path) -> None:
    """Ranks 1, 7 and 1,023 for all others: of its rank an engine asks only whether it is the first."""
    save_checkpoint(engine_of(tokens), tmp_path / "alone", 3, {"fingerprint": "f"}, keep_last=2)
    for rank in (0, 1, 7, WORLD - 1):
        with others(rank, WORLD):
            engine = engine_of(tokens)
            assert engine.world == WORLD and "DistributedDataParallel" in type(engine._forward).__name__
            save_checkpoint(engine, tmp_path / f"rank-{rank}", 3, {"fingerprint": "f"}, keep_last=2)
    assert not any((tmp_path / f"rank-{rank}").exists() for rank in (1, 7, WORLD - 1))
    alone, together = (tmp_path / name / "step-00000003" for name in ("alone", "rank-0"))
    names = {"weights.safetensors", "optimizer.safetensors", "complete.json"}
    assert {path.name for path in together.parent.rglob("*")} == names | {"step-00000003"}
    for name in names:
        assert (together / name).read_bytes() == (alone / name).read_bytes()


SAVE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.pretrain.test_simulated_cluster import engine_of, others, save_checkpoint

def kilobytes(name):
    return next(int(line.split()[1]) for line in Path("/proc/self/status").open() if line.startswith(name))

with others(0, int(sys.argv[4])):
    engine = engine_of(Path(sys.argv[2]), layers=8, hidden=512, heads=8)
    folder = Path(sys.argv[3])
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = kilobytes("VmRSS:")
    save_checkpoint(engine, folder, 1, {}, keep_last=1)
    print(sum(w.numel() for _, w in engine.named_weights()), 1024 * (kilobytes("VmHWM:") - before))
"""


@pytest.mark.drill
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_saving_takes_one_copy_of_the_state_whatever_the_world(tokens: Path, tmp_path: Path) -> None:
    peaks = dict.fromkeys((8, WORLD), math.inf)
    for world in [8, WORLD] * 3:  # the least of three: what the allocator had free before is chance
        command = [sys.executable, "-c", SAVE, str(Path(__file__).parents[2]), str(tokens), str(tmp_path), str(world)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[2])
        assert done.returncode == 0, done.stderr[-2000:]
        weights, peak = map(int, done.stdout.split())
        print(f"\nworld {world}: {weights / 1e6:.1f}M weights, {peak / weights:.2f} bytes each at the peak")
        assert 20e6 < weights < 30e6
        assert peak < 12 * weights + 32e6
        peaks[world] = min(peaks[world], peak)
    assert peaks[WORLD] < peaks[8] + 16e6


def test_one_of_1024_that_falls_silent_is_found() -> None:
    store = dist.HashStore()
    first = Monitor(0, [f"n{rank // EACH}" for rank in range(WORLD)], lambda: store)
    for count in range(SILENT + 1):
        for rank in range(1, WORLD):
            if rank != 700 or not count:
                store.set(f"sign/{rank}", f"{count + 1} {count}")
        assert not first.look()
    assert first.look().startswith("rank 700 on n87 gave no sign of life")  # 700 = 87 · 8 + 4


def test_1024_tasks_of_a_step_have_a_place_each() -> None:
    step = {
        "SLURM_JOB_ID": "4242", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "1024", "SLURM_STEP_NUM_TASKS": "1024",
        "SLURM_NNODES": "128", "SLURM_STEP_NUM_NODES": "128", "SLURM_TASKS_PER_NODE": "8(x128)",
        "SLURM_STEP_TASKS_PER_NODE": "8(x128)", "SLURM_JOB_NODELIST": "gpu[001-128]",
        "SLURM_STEP_NODELIST": "gpu[001-128]",
    }  # fmt: skip
    infos, places = [], []
    for node in range(128):
        for local in range(8):
            task = {"SLURM_PROCID": str(8 * node + local), "SLURM_LOCALID": str(local), "SLURM_NODEID": str(node)}
            info = world_info({**step, **task})
            infos.append(info)
            places.append((8 * node + local, 1024, local, 8, local))
    assert places == [(i.rank, i.world, i.local_rank, i.local_world, i.device_index(8)) for i in infos]
    assert [i.rank for i in infos] == list(range(1024))
    assert {i.address for i in infos} == {"gpu001"} and len({i.port for i in infos}) == 1
