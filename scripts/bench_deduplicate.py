"""Measure duplicates: MB/s of a core for keys and signatures, beside datasketch; time and memory of the decision.

    python scripts/bench_deduplicate.py [CORPUS.jsonl.zst …] [--megabytes 20] [--documents 1000000] [--without-peer]

Texts come from the `text` field of JSON Lines files (invented Korean without any). Each figure is the median of three
runs of one process's CPU time. The decision runs over random signatures of as many documents, a tenth of them near
copies; its memory is the rise of a fresh process's peak (pages of the mapped files included).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import random
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from common.files import open_bytes
from data.deduplicate.exact import keys_of
from data.deduplicate.near import PERMUTATIONS, SHINGLE, band_keys, shingle_hashes, signatures
from data.deduplicate.near_copies import NearCopies
from data.deduplicate.sides import SIGNATURES
from data.executors import run_local

try:
    from datasketch import MinHash
except ImportError:
    MinHash = None
RUNS = 3
THRESHOLD = 0.8
PART = 10_000
"""Documents in a part of the decision's input."""


def read_texts(paths: list[Path], megabytes: float) -> list[str]:
    """Return the first texts of the files, each file its share, up to about so many megabytes in all."""
    texts: list[str] = []
    for path in paths:
        left = megabytes * 1e6 / len(paths)
        with open_bytes(path) as lines:
            for line in lines:
                texts.append(json.loads(line)["text"])
                left -= len(texts[-1].encode())
                if left <= 0:
                    break
    return texts


def invent_texts(megabytes: float, rng: random.Random) -> list[str]:
    """Return texts of random syllables, 3 KB each, in words of three."""
    words = ["".join(chr(rng.randrange(0xAC00, 0xAC00 + 1200)) for _ in range(3)) for _ in range(20_000)]
    return [" ".join(rng.choices(words, k=300)) for _ in range(int(megabytes * 1e6 / 3000))]


def median_seconds(work: Callable[[], object]) -> float:
    """Return the median CPU seconds of three runs."""
    times = []
    for _ in range(RUNS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return statistics.median(times)


def datasketch_signatures(texts: list[str]) -> None:
    """Sign the texts with datasketch, shingles as bytes in a batch a document: its fastest plain way."""
    for text in texts:
        solid = "".join(text.split())
        places = range(max(len(solid) - SHINGLE + 1, 1))
        MinHash(num_perm=PERMUTATIONS).update_batch({solid[at : at + SHINGLE].encode() for at in places})


def bench_keys(texts: list[str], peer: bool) -> None:
    """Print MB/s of each step over the texts."""
    size = sum(len(text.encode()) for text in texts) / 1e6
    print(f"{len(texts):,} documents, {size:.1f} MB")
    signatures(texts[:2])  # compiles
    found = signatures(texts)
    rates = {
        "exact keys (xxh3)": size / median_seconds(lambda: keys_of(texts)),
        "shingle hashes": size / median_seconds(lambda: shingle_hashes(texts)),
        "signatures (shingles, rensa)": size / median_seconds(lambda: signatures(texts)),
        "band keys": size / median_seconds(lambda: band_keys(found, THRESHOLD)),
    }
    for name, rate in rates.items():
        print(f"  {name:<30} {rate:8.1f} MB/s a core")
    if peer:
        if MinHash is None:
            raise SystemExit("datasketch is not installed: pip install datasketch, or --without-peer")
        sample = texts[:: max(1, round(size / 1.0))]
        small = sum(len(text.encode()) for text in sample) / 1e6
        rate = small / median_seconds(lambda: datasketch_signatures(sample))
        ratio = rates["signatures (shingles, rensa)"] / rate
        print(
            f"  {'datasketch, ' + format(small, '.1f') + ' MB of it':<30} {rate:8.1f} MB/s a core; ours {ratio:.0f} x"
        )


def write_parts(folder: Path, documents: int) -> tuple[list[Path], np.ndarray]:
    """Write signatures of random documents, a tenth of them near copies of one of 1,000 originals; parts and rows."""
    rng = np.random.default_rng(0)
    originals = rng.integers(0, 1 << 32, (1000, PERMUTATIONS), np.uint32)
    parts, sizes = [], []
    for first in range(0, documents, PART):
        count = min(PART, documents - first)
        rows = rng.integers(0, 1 << 32, (count, PERMUTATIONS), np.uint32)
        copies = np.flatnonzero(rng.random(count) < 0.1)
        changed = rng.random((len(copies), PERMUTATIONS)) < 0.1
        rows[copies] = np.where(changed, rows[copies], originals[rng.integers(0, 1000, len(copies))])
        parts.append(folder / f"part-{first:09d}.parquet")
        parts[-1].touch()
        np.save(parts[-1].with_suffix(SIGNATURES), rows)
        sizes.append(count)
    return parts, np.array(sizes)


def decide(parts: list[Path], sizes: np.ndarray, folder: Path) -> tuple[int, float, float]:
    """Return near copies, CPU seconds and the rise of peak memory in MB of one decision."""
    execute = partial(run_local, workers=1)
    NearCopies(parts[:1], sizes[:1], THRESHOLD, None, folder, execute)  # compiles
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    found = NearCopies(parts, sizes, THRESHOLD, None, folder, execute)
    seconds = time.process_time() - began
    return found.count, seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def bench_decision(documents: int) -> None:
    """Print the time and the memory, in a process of its own, of finding the near copies among so many documents."""
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        parts, sizes = write_parts(Path(folder), documents)
        results = []
        for run in range(RUNS):
            work = Path(folder) / str(run)
            with ProcessPoolExecutor(1, mp_context=spawn) as pool:
                results.append(pool.submit(decide, parts, sizes, work).result())
            shutil.rmtree(work)
        dropped = results[0][0]
    seconds, rise = (statistics.median(column) for column in list(zip(*results, strict=True))[1:])
    print(f"decision over {documents:,} documents: {dropped:,} near copies, {seconds:.1f} s, memory + {rise:,.0f} MB")


def main() -> None:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="*", type=Path)
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--without-peer", action="store_true", help="leave datasketch out")
    arguments = parser.parse_args()
    model = next((x.split(":")[1].strip() for x in Path("/proc/cpuinfo").open() if x.startswith("model name")), "?")
    print(f"hardware: {model}, {platform.machine()}, one process; medians of {RUNS}, CPU time")
    megabytes = arguments.megabytes
    texts = read_texts(arguments.corpora, megabytes) if arguments.corpora else invent_texts(megabytes, random.Random(0))
    bench_keys(texts, not arguments.without_peer)
    bench_decision(arguments.documents)


if __name__ == "__main__":
    main()
