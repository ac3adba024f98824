"""How fast vocabularies are trained and text is encoded: rates, ratios to HF tokenizers, workers, memory.

    python scripts/bench_tokenizer.py --corpus RUN/corpus [--vocab-size 32000] [--hf-share 0.1] [--repeat 3] [--json]

CORPUS: a finished corpus folder (`hunmin corpus build`); the bars hold from 200 MB of text on.

- train: `train_tokenizer` in fresh processes, with one worker and with two: wall and processor seconds, the largest
  high-water mark (VmHWM) of the process and of a worker, and whether all wrote the same bytes.
- encode, a core: the stage's encoder over all sentences, its table empty at first, beside HF `encode_batch` on an even
  share of the same sentences, both in processor seconds of this process. Every id of that share is compared.
- encode, workers: `encode_corpus` with one worker and with two, by wall time, in turn, each in a fresh process that has
  encoded one sentence before (loading the compiled code, whose time is a row of its own, is not work of the stage, and
  in `hunmin run` earlier stages have done it); the same bytes. Beside it the limit that the machine sets: how much more
  two processes that share nothing, each with one worker over the whole corpus, do in the same time.

Exit code 1 when a bar is not reached.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one core: the library would take all

import numpy as np
import pyarrow as pa
from timing import (
    ChildrenPeak,
    Row,
    as_dicts,
    cpu_seconds,
    hardware,
    in_fresh_process,
    in_fresh_processes,
    peak_bytes,
    print_rows,
)

from common.manifest import describe_outputs
from common.settings import settings_hash
from data.shards import read_shards
from tokenizer.encode import EncodeSettings, encode_corpus
from tokenizer.encoder import Encoder
from tokenizer.save import load_tokenizer
from tokenizer.train import TokenizerSettings, train_tokenizer

BATCH_DOCUMENTS = 2048
ENOUGH = 200
"""Megabytes of text from which the bars hold."""


class Measured(NamedTuple):
    """One run in a fresh process."""

    wall: float
    cpu: float
    own_peak: int
    worker_peak: int
    hash: str
    start: float = 0.0


def measure(
    work: Callable[[Path], None], out: Path | None = None, prepare: Callable[[], object] | None = None
) -> Measured:
    """Return what `work` took, called with a folder: `out`, or one that is thrown away; the process is its alone.

    What `prepare` takes before it is `start`.
    """
    begin = time.perf_counter()
    if prepare:
        prepare()
    start = time.perf_counter() - begin
    with tempfile.TemporaryDirectory() as spare, ChildrenPeak() as children:
        folder = out or Path(spare) / "out"
        folder.mkdir()
        begin, cpu = time.perf_counter(), cpu_seconds()
        work(folder)
        wall, cpu = time.perf_counter() - begin, cpu_seconds() - cpu
        return Measured(wall, cpu, peak_bytes(), children.largest, settings_hash(describe_outputs(folder)), start)


def load_compiled_code(tokenizer: Path) -> Encoder:
    """Return an encoder that has encoded a sentence."""
    encoder = Encoder(load_tokenizer(tokenizer), tokenizer)
    encoder.encode(pa.array([["첫 문장"]], pa.list_(pa.string())))
    return encoder


class Train:
    """Training with so many workers."""

    def __init__(self, corpus: Path, vocab_size: int, workers: int) -> None:
        self._corpus = corpus
        self._settings = TokenizerSettings(vocab_size=vocab_size, workers=workers)

    def __call__(self, out: Path) -> None:
        """Train into `out`."""
        train_tokenizer(self._settings, self._corpus, out)


class Encode:
    """Encoding with so many workers."""

    def __init__(self, corpus: Path, tokenizer: Path, workers: int) -> None:
        self._corpus, self._tokenizer, self._workers = corpus, tokenizer, workers

    def __call__(self, out: Path) -> None:
        """Encode into `out`."""
        encode_corpus(EncodeSettings(workers=self._workers), self._corpus, self._tokenizer, out)


def measure_training(corpus: Path, vocab_size: int, megabytes: float, tokenizer: Path) -> list[Row]:
    """Return the rows of training; the tokenizer of one worker is left in `tokenizer`."""
    one = in_fresh_process(measure, Train(corpus, vocab_size, 1), tokenizer)
    two = in_fresh_process(measure, Train(corpus, vocab_size, 2))
    return [
        Row("one worker", one.wall, "s", note=f"{one.cpu:.0f} s processor, {megabytes / one.wall:.1f} MB/s"),
        Row("two workers", two.wall, "s", note=f"{megabytes / two.wall:.1f} MB/s"),
        Row("memory of the process, one worker", one.own_peak / 1e9, "GB"),
        Row("memory of the process, two workers", two.own_peak / 1e9, "GB", note="the trainer is here"),
        Row("memory of a worker", two.worker_peak / 1e9, "GB"),
        Row("folders that differ", float(one.hash != two.hash), "", 0, most=True),
    ]


def measure_encoder(corpus: Path, tokenizer: Path, hf_share: float, bars: bool) -> list[Row]:
    """Return the rows of one core: ours, HF's, the ratio.

    Raises:
        SystemExit: an id differs.
    """
    encoder = load_compiled_code(tokenizer)  # what is made ready once is not the rate
    loaded, separator = encoder.tokenizer, encoder.special_ids["sep"]
    every = max(1, round(1 / hf_share))
    ours = theirs = size = hf_size = 0.0
    tokens = hf_tokens = lines = number = 0
    for group in read_shards(corpus, ["sentences"]):
        for start in range(0, group.num_rows, BATCH_DOCUMENTS):
            documents = group.column("sentences").slice(start, BATCH_DOCUMENTS)
            text = [sentence for document in documents.to_pylist() for sentence in document]
            held = sum(len(sentence.encode()) for sentence in text)
            begin = time.process_time()
            batch = encoder.encode(documents)
            ours += time.process_time() - begin
            size, tokens, number = size + held, tokens + len(batch.tokens_T), number + 1
            if number % every != 1 % every:
                continue
            begin = time.process_time()
            ids = [encoding.ids for encoding in loaded.encode_batch(text, add_special_tokens=False)]
            theirs += time.process_time() - begin
            flat = np.array([token for line in ids for token in line], batch.tokens_T.dtype)
            # no text gives [SEP]: what is left without it are the sentences
            if not np.array_equal(flat, batch.tokens_T[batch.tokens_T != separator]):
                raise SystemExit(f"batch {number}: ids differ from HF's")
            hf_size, hf_tokens, lines = hf_size + held, hf_tokens + len(flat), lines + len(text)
    ratio = (size / ours) / (hf_size / theirs)
    return [
        Row("ours", size / 1e6 / ours, "MB/s", note=f"{tokens / ours / 1e6:.2f}M tokens/s; {size / 1e6:.0f} MB"),
        Row("HF encode_batch", hf_size / 1e6 / theirs, "MB/s", note=f"{hf_tokens / theirs / 1e6:.2f}M tokens/s"),
        Row("ratio", ratio, "x", 4 if bars else None, note=f"ids equal on {lines:,} sentences"),
    ]


def measure_workers(corpus: Path, tokenizer: Path, repeat: int, bars: bool) -> list[Row]:
    """Return the rows of the stage with one and two workers, run in turn."""
    runs: dict[int, list[Measured]] = {1: [], 2: []}
    apart: list[Measured] = []
    prepare = partial(load_compiled_code, tokenizer)
    for _ in range(repeat):
        for workers, done in runs.items():
            done.append(in_fresh_process(measure, Encode(corpus, tokenizer, workers), None, prepare))
        apart += in_fresh_processes(2, measure, Encode(corpus, tokenizer, 1), None, prepare)
    wall = {workers: statistics.median(run.wall for run in done) for workers, done in runs.items()}
    limit = 2 * wall[1] / statistics.median(run.wall for run in apart)
    hashes = {run.hash for run in chain(*runs.values(), apart)}
    return [
        *(Row(f"encode stage, {n} worker{'s' if n > 1 else ''}", seconds, "s") for n, seconds in wall.items()),
        Row("two workers beside one", wall[1] / wall[2], "x", 1.8 if bars else None, note=f"{os.cpu_count()} cores"),
        Row("limit: two processes that share nothing", limit, "x"),
        Row("loading of compiled code, before", statistics.median(run.start for run in runs[1]), "s"),
        *(Row(f"memory with {n}", max(run.own_peak for run in done) / 1e9, "GB") for n, done in runs.items()),
        Row("different results among these runs", len(hashes) - 1, "", 0, most=True),
    ]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="finished corpus folder")
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--hf-share", type=float, default=0.1, help="share of the text that HF encodes, too")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the median counts (default 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    options = parser.parse_args()
    if not (options.corpus / "statistics.json").is_file():
        parser.error(f"{options.corpus} holds no statistics.json: --corpus is a finished corpus folder (RUN/corpus)")
    print(hardware())
    statistics_file = json.loads((options.corpus / "statistics.json").read_bytes())
    megabytes = statistics_file["total"]["kept"]["bytes"] / 1e6
    bars = megabytes >= ENOUGH
    print(f"corpus: {megabytes:.0f} MB of text")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = Path(folder) / "tokenizer"
        for title, part in (
            ("train", lambda: measure_training(options.corpus, options.vocab_size, megabytes, tokenizer)),
            ("encode, a core", lambda: measure_encoder(options.corpus, tokenizer, options.hf_share, bars)),
            ("encode, workers", lambda: measure_workers(options.corpus, tokenizer, options.repeat, bars)),
        ):
            found = part()
            print_rows(title, found)
            rows += found
    if options.json:
        print(json.dumps({"hardware": hardware(), "rows": as_dicts(rows)}, ensure_ascii=False))
    return 1 if any(row.reached is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
