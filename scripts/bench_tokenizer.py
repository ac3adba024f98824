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

import json
import os
import statistics
import sys
import tempfile
import time
from functools import partial
from itertools import chain
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one core: the library would take all

import numpy as np
import pyarrow as pa
from timing import Measured, Row, finish, hardware, in_fresh_processes, measured, parser_of, print_rows

from data.shards import read_shards
from tokenizer.encode import EncodeSettings, encode_corpus
from tokenizer.encoder import Encoder
from tokenizer.save import load_tokenizer
from tokenizer.train import TokenizerSettings, train_tokenizer

BATCH_DOCUMENTS = 2048
ENOUGH = 200
"""Megabytes of text from which the bars hold."""


def load_compiled_code(tokenizer: Path) -> Encoder:
    encoder = Encoder(load_tokenizer(tokenizer), tokenizer)
    encoder.encode(pa.array([["첫 문장"]], pa.list_(pa.string())))
    return encoder


def measure_training(corpus: Path, vocab_size: int, megabytes: float, tokenizer: Path) -> list[Row]:
    """Return the rows of training; the tokenizer of one worker is left in `tokenizer`."""
    one, two = (
        in_fresh_processes(1, partial(measured, out=out), train_tokenizer, settings, corpus)[0]
        for out, settings in (
            (tokenizer, TokenizerSettings(vocab_size=vocab_size, workers=1)),
            (None, TokenizerSettings(vocab_size=vocab_size, workers=2)),
        )
    )
    return [
        Row("one worker", one.wall, "s", note=f"{one.cpu:.0f} s processor, {megabytes / one.wall:.1f} MB/s"),
        Row("two workers", two.wall, "s", note=f"{megabytes / two.wall:.1f} MB/s"),
        Row("memory of the process, one worker", one.own_peak / 1e9, "GB"),
        Row("memory of the process, two workers", two.own_peak / 1e9, "GB", note="the trainer is here"),
        Row("memory of a worker", two.worker_peak / 1e9, "GB"),
        Row("folders that differ", float(one.hash != two.hash), "", 0, most=True),
    ]


def measure_encoder(corpus: Path, tokenizer: Path, hf_share: float, bars: bool) -> list[Row]:
    """Return the rows of one core: ours, HF's, the ratio. Raises SystemExit where an id differs."""
    encoder = load_compiled_code(tokenizer)  # what is made ready once is not the rate
    loaded = encoder.tokenizer
    separator = encoder.special_ids["sep"]
    every = max(1, round(1 / hf_share))
    ours = theirs = size = hf_size = 0.0
    tokens = hf_tokens = lines = number = 0
    for group in read_shards(corpus, ["sentences"]):
        for start in range(0, group.num_rows, BATCH_DOCUMENTS):
            documents = group.column("sentences").slice(start, BATCH_DOCUMENTS)
            text = [sentence for document in documents.to_pylist() for sentence in document]
            batch_bytes = sum(len(sentence.encode()) for sentence in text)
            begin = time.process_time()
            batch = encoder.encode(documents)
            ours += time.process_time() - begin
            size = size + batch_bytes
            tokens = tokens + len(batch.tokens_T)
            number = number + 1
            if number % every != 1 % every:
                continue
            begin = time.process_time()
            ids = [encoding.ids for encoding in loaded.encode_batch(text, add_special_tokens=False)]
            theirs += time.process_time() - begin
            flat = np.array([token for line in ids for token in line], batch.tokens_T.dtype)
            # no text gives [SEP]: what is left without it are the sentences
            if not np.array_equal(flat, batch.tokens_T[batch.tokens_T != separator]):
                raise SystemExit(f"batch {number}: ids differ from HF's")
            hf_size = hf_size + batch_bytes
            hf_tokens = hf_tokens + len(flat)
            lines = lines + len(text)
    ratio = (size / ours) / (hf_size / theirs)
    return [
        Row("ours", size / 1e6 / ours, "MB/s", note=f"{tokens / ours / 1e6:.2f}M tokens/s; {size / 1e6:.0f} MB"),
        Row("HF encode_batch", hf_size / 1e6 / theirs, "MB/s", note=f"{hf_tokens / theirs / 1e6:.2f}M tokens/s"),
        Row("ratio", ratio, "x", 4 if bars else None, note=f"ids equal on {lines:,} sentences"),
    ]


def measure_workers(corpus: Path, tokenizer: Path, repeat: int, bars: bool) -> list[Row]:
    """Return the rows of the stage with one and two workers, run in turn."""

    def run(workers: int, at_once: int) -> list[Measured]:
        run = partial(measured, before=partial(load_compiled_code, tokenizer))
        return in_fresh_processes(at_once, run, encode_corpus, EncodeSettings(workers=workers), corpus, tokenizer)

    rounds = [(run(1, 1), run(2, 1), run(1, 2)) for _ in range(repeat)]
    ones, twos, apart = (list(chain(*runs)) for runs in zip(*rounds, strict=True))
    one, two, each = (statistics.median(done.wall for done in runs) for runs in (ones, twos, apart))
    different = len({done.hash for done in (*ones, *twos, *apart)}) - 1
    return [
        Row("encode stage, 1 worker", one, "s"),
        Row("encode stage, 2 workers", two, "s"),
        Row("two workers beside one", one / two, "x", 1.8 if bars else None, note=f"{os.cpu_count()} cores"),
        Row("limit: two processes that share nothing", 2 * one / each, "x"),
        Row("loading of compiled code, before", statistics.median(done.start for done in ones), "s"),
        Row("memory with 1", max(done.own_peak for done in ones) / 1e9, "GB"),
        Row("memory with 2", max(done.own_peak for done in twos) / 1e9, "GB"),
        Row("different results among these runs", different, "", 0, most=True),
    ]


def main() -> int:
    parser = parser_of(__doc__, json=True)
    parser.add_argument("--corpus", type=Path, required=True, help="finished corpus folder")
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--hf-share", type=float, default=0.1, help="share of the text that HF encodes, too")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the median counts (default 3)")
    options = parser.parse_args()
    corpus = options.corpus
    facts = options.corpus / "statistics.json"
    if not facts.is_file():
        parser.error(f"{corpus} holds no statistics.json: --corpus is a finished corpus folder (RUN/corpus)")
    megabytes = json.loads(facts.read_bytes())["total"]["kept"]["bytes"] / 1e6
    bars = megabytes >= ENOUGH
    print(f"{hardware()}\ncorpus: {megabytes:.0f} MB of text")
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = Path(folder) / "tokenizer"
        rows = print_rows("train", measure_training(corpus, options.vocab_size, megabytes, tokenizer))
        rows += print_rows("encode, a core", measure_encoder(corpus, tokenizer, options.hf_share, bars))
        rows += print_rows("encode, workers", measure_workers(corpus, tokenizer, options.repeat, bars))
    return finish(rows, options.json)


if __name__ == "__main__":
    sys.exit(main())
