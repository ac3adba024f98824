"""What a corpus of a terabyte takes: every step after the units measured on a share of it, and the hours of all of it.

    python scripts/simulate_corpus.py [--terabytes 1] [--share 0.05] [--near-share 0.01] [--folder /tmp]
        [--document-bytes 2500] [--text-mb 60] [--json]

Parts are written with as many keys as units of that corpus have (a tenth of the documents are copies of earlier ones)
and with hardly any text, and for a share of them signatures (a tenth near copies), into a folder that is removed
afterwards; then the functions of the stage themselves run over them, in one process, and are timed by its processor
seconds. What grows with documents or with parts is multiplied; what is done by units (reading, cleaning, splitting)
goes by the rate of `scripts/bench_corpus.py`. Readers and signatures are measured over Korean text that is made up.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import zstandard
from timing import hardware

from common.files import open_bytes
from data.assemble import _plan
from data.deduplicate import equal_documents, near_copies
from data.deduplicate.equal_documents import ExactDuplicates
from data.deduplicate.near import PERMUTATIONS, signatures
from data.deduplicate.near_copies import NearCopies
from data.deduplicate.report import write_report
from data.deduplicate.settings import DeduplicateSettings
from data.deduplicate.sides import SIGNATURES
from data.executors import run_local
from data.readers import SourceSettings, list_files, look_through, sought
from data.shards import SCHEMA, write_shard, write_table
from data.statistics import shard_statistics
from data.units.work import PART_SCHEMA
from hunmin.corpus_plan import CORES, Volume, estimate, rates_as_measured

UNIT_BYTES, RANGE_BYTES = 8_000_000, 1_000_000
REPEATED = 0.1
CROWD = 50
"""Documents that are near copies of one."""
STEPS = {
    equal_documents.GatherKeys: "keys",
    equal_documents.FindTwins: "twins",
    near_copies.GatherBands: "bands",
    near_copies.FindLike: "like",
    near_copies.FindCopies: "like",
}
THRESHOLD = DeduplicateSettings().near_threshold


class Clock:
    """Processor seconds of named steps of this process."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Add the block's seconds to a step."""
        began = time.process_time()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - began


def write_parts(folder: Path, parts: int, documents: int, draw: np.random.Generator) -> list[Path]:
    """Write so many parts of so many documents each, without text but for a word, and their lists of counts."""
    paths: list[Path] = []
    before = np.empty((0, 2), np.uint64)
    for number in range(parts):
        keys = draw.integers(0, 1 << 64, (documents, 2), np.uint64)
        if len(before):
            again = draw.random(documents) < REPEATED
            keys[again] = before[draw.integers(0, len(before), int(again.sum()))]
        before = keys if number % 50 == 0 else before
        names = pa.array([f"web-{number * documents + row}" for row in range(documents)])
        same = pa.array(["web"] * documents)
        sentences = pa.ListArray.from_arrays(pa.array(np.arange(documents + 1, dtype=np.int32)), same)
        sizes = np.full(documents, UNIT_BYTES // documents, np.int64)
        columns = [names, same, pa.array([""] * documents), sentences, keys[:, 0], keys[:, 1], sizes]
        paths.append(folder / f"part-{number:032x}.parquet")
        write_table(paths[-1], pa.table([pa.array(one) for one in columns], schema=PART_SCHEMA), 1 << 16, level=1)
        counts = {"read": {"web": {"documents": documents, "bytes": UNIT_BYTES}}, "cleaning": {}, "split": 9}
        lists: dict[str, list[int]] = {"rejects": [], "hits": [], "filtered": []}
        paths[-1].with_suffix(".json").write_bytes(orjson.dumps({"counts": counts, **lists, "damage": None}))
    return paths


def write_signatures(paths: list[Path], documents: int, draw: np.random.Generator) -> None:
    """Write signatures of random documents beside parts, a tenth of them near copies of another, in crowds."""
    count = max(1, int(len(paths) * documents * REPEATED / CROWD))
    for path in paths:
        rows = draw.integers(0, 1 << 32, (documents, PERMUTATIONS), np.uint32)
        copied = np.flatnonzero(draw.random(documents) < REPEATED)
        for place, number in zip(copied, draw.integers(0, count, len(copied)), strict=True):
            original = np.random.default_rng(int(number)).integers(0, 1 << 32, PERMUTATIONS, np.uint32)
            rows[place] = np.where(draw.random(PERMUTATIONS) < 0.08, rows[place], original)
        np.save(path.with_suffix(SIGNATURES), rows)


def invented_text(megabytes: float) -> bytes:
    """Return Korean-looking JSON Lines of syllables in words that repeat as words do."""
    rng = random.Random(1)
    words = ["".join(chr(rng.randrange(0xAC00, 0xD7A4)) for _ in range(rng.randrange(1, 5))) for _ in range(30_000)]
    ranks = [1 / (rank + 3) for rank in range(len(words))]
    lines = []
    size = 0
    while size < megabytes * 1e6:
        text = " ".join(rng.choices(words, ranks, k=250))
        lines.append(orjson.dumps({"text": text}) + b"\n")
        size += len(lines[-1])
    return b"".join(lines)


def measure_readers(folder: Path, megabytes: float) -> dict[str, float]:
    """Return bytes of text a second and core: looked through for line ends, and decompressed."""
    text = invented_text(megabytes)
    rates = {}
    plain = folder / "text.jsonl"
    plain.write_bytes(text)
    [file] = list_files([SourceSettings(path=str(plain))])
    way = sought(file, RANGE_BYTES)
    assert way is not None
    began = time.process_time()
    look_through(str(plain), way, RANGE_BYTES, 0, way.ranges(RANGE_BYTES))
    rates["look"] = len(text) / (time.process_time() - began)
    packed = {
        "zst": zstandard.ZstdCompressor(3).compress(text),
        "gz": gzip.compress(text, 6),
        "xz": lzma.compress(text, preset=2),
    }
    for suffix, content in packed.items():
        path = folder / f"text.jsonl.{suffix}"
        path.write_bytes(content)
        began = time.process_time()
        with open_bytes(path) as stream:
            while stream.read(1 << 20):
                pass
        rates[suffix] = len(text) / (time.process_time() - began)
    lines = [line.decode() for line in text.splitlines()[:1000]]
    count = len(lines)
    table = pa.table([["a"] * count, ["web"] * count, [""] * count, [[line] for line in lines]], schema=SCHEMA)
    size = sum(len(line.encode()) for line in lines)
    began = time.process_time()
    write_shard(folder / "shard-00000.parquet", iter([table] * 20), SCHEMA)
    shard_statistics(folder / "shard-00000.parquet")
    rates["shards"] = 20 * size / (time.process_time() - began)
    texts = [orjson.loads(line)["text"] for line in lines]
    signatures(texts[:2])  # compiles
    began = time.process_time()
    signatures(texts)
    rates["sign"] = sum(len(one.encode()) for one in texts) / (time.process_time() - began)
    return rates


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--terabytes", type=float, default=1.0)
    parser.add_argument("--share", type=float, default=0.05, help="of the corpus that is made and measured")
    parser.add_argument("--near-share", type=float, default=0.01, help="of which signatures are made; 500 GB in all")
    parser.add_argument("--folder", default=None, help="where files are made, and removed again")
    parser.add_argument("--document-bytes", type=int, default=2500)
    parser.add_argument("--text-mb", type=float, default=60, help="of the text that readers are measured over")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    units = int(chosen.terabytes * 1e12 / UNIT_BYTES)
    parts = max(2, int(units * chosen.share))
    documents = UNIT_BYTES // chosen.document_bytes
    clock, execute = Clock(), partial(run_local, workers=1)
    with tempfile.TemporaryDirectory(dir=chosen.folder, prefix="simulated-") as made:
        folder = Path(made)
        readers = measure_readers(folder, chosen.text_mb)
        paths = write_parts(folder, parts, documents, np.random.default_rng(1))

        def timed(function, tasks, progress=None, failures=None):  # type: ignore[no-untyped-def]
            with clock.step(STEPS.get(type(function), "report")):
                return execute(function, tasks, progress, failures)

        exact = ExactDuplicates(paths, folder, timed)
        write_report(folder / "duplicates.jsonl", paths, exact.rows, exact.found, None, folder, timed)
        with clock.step("leader"):
            keep = np.ones(int(exact.rows.sum()), bool)
            for twins in exact:
                keep[twins["dropped"]] = False
            masks = np.split(keep, np.cumsum(exact.rows)[:-1])
            _plan(paths, masks, [None] * len(paths), int(256e6))
            for path in paths:
                path.stat()
                orjson.loads(path.with_suffix(".json").read_bytes())
        disk = sum(path.stat().st_size for kind in ("exact", "report") for path in folder.glob(f"{kind}-*/*"))
        signed = paths[: max(2, int(units * chosen.near_share))]
        write_signatures(signed, documents, np.random.default_rng(2))
        NearCopies(signed[:2], exact.rows[:2], THRESHOLD, None, folder / "first", execute)  # compiles
        began = time.process_time()
        near = NearCopies(signed, exact.rows[: len(signed)], THRESHOLD, None, folder, timed)
        alone = time.process_time() - began - clock.seconds["bands"] - clock.seconds["like"]
        near_disk = sum(path.stat().st_size for path in (*near.folder.iterdir(), *folder.glob(f"*{SIGNATURES}")))
    rows, signed_rows = parts * documents, len(signed) * documents
    costs = {
        **{f"{name}_per_document": clock.seconds[name] / rows for name in ("keys", "twins", "report")},
        **{f"{name}_per_document": clock.seconds[name] / signed_rows for name in ("bands", "like")},
        "clusters_per_document": alone / signed_rows,
        "leader_per_part": clock.seconds["leader"] / parts,
        "disk_per_document": disk / rows,
        "near_disk_per_document": near_disk / signed_rows,
    }
    text = chosen.terabytes * 1e12
    volume = Volume(text, text, units, units * documents, ranged=text)
    found = estimate(volume, rates_as_measured(readers, costs), near=THRESHOLD)
    result = {
        "hardware": hardware(),
        "measured": {
            "parts": parts,
            "documents": rows,
            "equal": exact.count,
            "signatures": signed_rows,
            "near": near.count,
        }
        | {"readers": readers, "costs": costs},
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "estimate": found,
    }
    if chosen.json:
        print(json.dumps(result, ensure_ascii=False, indent=1))
        return
    print(f"{result['hardware']}, {time.strftime('%Y-%m-%d')}")
    print(f"measured: {parts:,} parts, {rows:,} documents, {exact.count:,} of them equal to an earlier one")
    print(f"          {signed_rows:,} signatures, {near.count:,} of them near copies of an earlier one")
    print(f"  memory of this process at most {result['peak_bytes'] / 1e9:.2f} GB")
    for name, rate in readers.items():
        print(f"  {name}: {rate / 1e6:,.0f} MB/s a core")
    for name, cost in costs.items():
        print(f"  {name}: {cost:.3g}")
    heads = " | ".join(f"{n:,} core{'s' * (n > 1)}" for n in CORES)
    print(f"\n| step of {chosen.terabytes:g} TB | core hours | {heads} |")
    print("|---" * (len(CORES) + 2) + "|")
    for step in found["steps"]:
        hours = " | ".join(f"{value:,.2f}" for value in step["hours"].values())
        print(f"| {step['step']} | {step['core_hours']:,.1f} | {hours} |")
    print("| in all | | " + " | ".join(f"{value:,.2f}" for value in found["hours"].values()) + " |")


if __name__ == "__main__":
    main()
