"""How fast the corpus stage is: MB/s a core of each part and of the whole way, beside other tools, and its memory.

    python scripts/bench_corpus.py --benchmark KLUE CORPUS … [--megabytes 300] [--parts split,pii] [--no-peers] [--json]

CORPUS: JSON Lines files with "text" (.zst, .gz too), folders or globs of them. BENCHMARK: a folder as in klue.data.

MB are 10^6 bytes of UTF-8 of the documents' text as read: JSON syntax is read but not counted. A part's rate is over
processor seconds of this process (median of --repeat runs after one warm run, so compilation is not counted), on every
k-th document of all corpora, --part-megabytes of them. A part gets what the part before it leaves.

The whole way is `build_corpus` with its defaults from one plain JSON Lines file to shards, in a
fresh process: reading, indexing the benchmark, cleaning, pseudonyms, splitting, decontamination with all rules, exact
duplicates, Parquet, statistics. "A core" divides by its processor seconds; two workers are compared by wall time
with one, in rounds of one run each. Memory is the largest high-water mark (VmHWM) of a worker process. Peers run on
every k-th text, as many as is said. Exit code 1 when a bar is not reached.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pyarrow as pa
from corpus_peers import PEERS, PII, SEARCH, SPLIT, Work, measure_peer, print_peers
from timing import (
    ChildrenPeak,
    Row,
    as_dicts,
    cpu_seconds,
    hardware,
    in_fresh_process,
    median_seconds,
    peak_bytes,
    print_rows,
)

from common.compressed import decompression_errors
from common.files import expand, open_bytes
from common.manifest import describe_outputs
from common.settings import settings_hash
from data.benchmark import load_benchmark
from data.cleaning import CleanSettings, clean, keep_sentences
from data.corpus import CorpusSettings, build_corpus
from data.decontaminate import DecontaminateSettings, Decontaminator
from data.decontaminate.settings import RULES
from data.deduplicate import keys_of
from data.pii import Pseudonymizer
from data.readers import list_files, parse_block, read_blocks
from data.shards import SCHEMA, write_shard
from data.splitting import split_sentences
from data.statistics import shard_statistics, text_size
from data.units.work import BATCH_CHARACTERS

KEY = "a key for measuring only"
SMALL, ENOUGH = 50, 200
"""Megabytes at which a worker's memory is measured as well, and from which the bars of the whole way hold: below,
indexing the benchmark takes a large share of the time."""
LINE_CHARACTERS = 2000
"""Longest line given to a sentence splitter: some of the peers take minutes for a long text."""


class Document(NamedTuple):
    """A line of a corpus."""

    line: bytes
    text: str
    size: int


def read_documents(paths: list[str]) -> Iterator[Document]:
    """Yield the documents of all corpora, in order."""
    for path in paths:
        with decompression_errors(path), open_bytes(path) as stream:
            for line in stream:
                text = orjson.loads(line)["text"]
                yield Document(line.rstrip(b"\n") + b"\n", text, len(text.encode("utf-8", "replace")))


def sample(items: list[Any], sizes: list[int], megabytes: float) -> list[Any]:
    """Return items spread evenly over all, about so many megabytes of them; all of them when there are fewer."""
    share = min(1.0, megabytes * 1e6 / max(sum(sizes), 1))
    chosen, owed = [], 0.0
    for item, size in zip(items, sizes, strict=True):
        owed += size * share
        if owed >= size / 2:
            chosen.append(item)
            owed -= size
    return chosen


def batches(texts: list[str]) -> list[list[str]]:
    """Return the texts in the batches in which the stage handles them."""
    made: list[list[str]] = [[]]
    size = 0
    for text in texts:
        made[-1].append(text)
        size += len(text)
        if size >= BATCH_CHARACTERS:
            made.append([])
            size = 0
    return made


class Parts:
    """The parts of the stage, each over what the part before it leaves of the sampled documents."""

    def __init__(self, documents: list[Document], benchmark: Path, folder: Path, repeat: int) -> None:
        self.folder, self.repeat, self.benchmark_path = folder, repeat, benchmark
        self.raw = folder / "part.jsonl"
        self.raw.write_bytes(b"".join(document.line for document in documents))
        self.megabytes = sum(document.size for document in documents) / 1e6
        self.texts = [document.text for document in documents]
        self.rules = CleanSettings()
        self.cleaned = [clean(text, self.rules, {}) for text in self.texts]
        self.split = [split_sentences(text) for text in self.cleaned]
        flat = [sentence for sentences in self.split for sentence in sentences]
        kept = keep_sentences(flat, self.rules, {})
        self.flat, self.sentences = flat, [one for one, keep in zip(flat, kept, strict=True) if keep]

    def rate(self, name: str, work: Callable[[], object], bar: float | None = None, note: str = "") -> Row:
        """Return the MB/s of some work over all of the text."""
        work()
        return Row(name, self.megabytes / median_seconds(work, self.repeat), "MB/s", bar, note=note)

    def parse(self) -> list[Row]:
        """JSON Lines to documents."""
        [file] = list_files([str(self.raw)])
        size = int(CorpusSettings.model_fields["unit_mb"].default * 1e6)
        blocks = list(read_blocks(file, size))
        return [
            self.rate("JSON Lines parse", lambda: [len(list(parse_block(file, *block))) for block in blocks]),
            self.rate("reading: cut into blocks", lambda: list(read_blocks(file, size))),
        ]

    def clean(self) -> list[Row]:
        """The document rules, then the sentence rules."""
        return [
            self.rate("cleaning", lambda: [clean(text, self.rules, {}) for text in self.texts]),
            self.rate("sentence rules", lambda: keep_sentences(self.flat, self.rules, {})),
        ]

    def pii(self) -> list[Row]:
        """Personal data found and replaced."""
        replacer, made = Pseudonymizer(KEY.encode()), batches(self.cleaned)
        return [self.rate("personal data", lambda: [replacer.apply_many(batch) for batch in made], 80)]

    def splitting(self) -> list[Row]:
        """Documents to sentences."""
        note = f"{len(self.flat):,} sentences"
        return [self.rate("sentence splitting", lambda: [split_sentences(x) for x in self.cleaned], 10, note)]

    def decontaminate(self) -> list[Row]:
        """Benchmark sentences found, by rule set."""
        start = cpu_seconds()
        benchmark = load_benchmark(self.benchmark_path)
        loaded = cpu_seconds()
        whole = Decontaminator.build(benchmark, DecontaminateSettings())
        built = cpu_seconds()
        size = sum(len(sentence.encode()) for sentence in self.sentences) / 1e6
        distinct = len({sentence.text for sentence in benchmark})
        rows = [
            Row("benchmark sentences", distinct, "distinct", 20_000, note=f"of {len(benchmark):,}"),
            Row("benchmark: load", loaded - start, "s"),
            Row("benchmark: index, all rules", built - loaded, "s"),
        ]
        sets: dict[str, tuple[list[Any], float | None]] = {
            "words": (["words"], 400_000),
            "words, bigrams": (["words", "bigrams"], 100_000),
            "all rules": (list(RULES), None),
        }
        for name, (rules, bar) in sets.items():
            settings = DecontaminateSettings(rules=rules, threshold=0.8, bigram_threshold=0.8)
            matcher = whole if name == "all rules" else Decontaminator.build(benchmark, settings)
            matcher.match(self.sentences[:5000])
            seconds = median_seconds(partial(matcher.match, self.sentences), self.repeat)
            note = f"{size / seconds:.1f} MB/s; " + ("default settings" if matcher is whole else "τ = 0.8")
            rows.append(Row(f"decontamination: {name}", len(self.sentences) / seconds, "sentences/s", bar, note=note))
        return rows

    def duplicates(self) -> list[Row]:
        """Keys of exact duplicates, and signatures of near ones."""
        rows = [self.rate("exact duplicates: keys", lambda: keys_of(self.cleaned))]
        try:
            from data.deduplicate.near import signatures
        except ImportError as error:
            return [*rows, Row("near duplicates: signatures", float("nan"), "MB/s", note=str(error))]
        return [*rows, self.rate("near duplicates: signatures", lambda: signatures(self.cleaned))]

    def write(self) -> list[Row]:
        """Sentences to Parquet; statistics of a shard and of raw text."""
        names = pa.array(["x"] * len(self.split))
        table = pa.table([names, names, names, pa.array(self.split, pa.list_(pa.string()))], schema=SCHEMA)
        path = self.folder / "shard.parquet"
        return [
            self.rate("Parquet write", lambda: write_shard(path, [table])),
            self.rate("statistics of a shard", lambda: shard_statistics(path)),
            self.rate("size of raw text", lambda: [text_size(batch) for batch in batches(self.texts)]),
        ]


class Build(NamedTuple):
    """One run of the whole stage."""

    wall: float
    cpu: float
    peak: int
    hash: str
    """Of every file of the corpus folder."""


def build(raw: Path, benchmark: Path, workers: int) -> Build:
    """Return what a run of the stage over one JSON Lines file took; the process is this one's alone."""
    settings = CorpusSettings(
        inputs=[str(raw)],
        workers=workers,
        decontaminate=DecontaminateSettings(benchmark=str(benchmark)),
    )
    with tempfile.TemporaryDirectory(dir=raw.parent) as out, ChildrenPeak() as children:
        start, cpu = time.perf_counter(), cpu_seconds()
        build_corpus(settings, Path(out) / "corpus")
        wall, cpu = time.perf_counter() - start, cpu_seconds() - cpu
        time.sleep(0.2)
        outputs = settings_hash(describe_outputs(Path(out) / "corpus"))
    if workers > 1 and not children.largest:
        raise RuntimeError("no worker's memory was seen")
    return Build(wall, cpu, children.largest if workers > 1 else peak_bytes(), outputs)


def whole_way(documents: list[Document], benchmark: Path, folder: Path, megabytes: float, repeat: int) -> list[Row]:
    """Return the figures of the whole stage with one and two workers, and of a worker's memory on a small part."""
    sizes = [document.size for document in documents]
    small, large = folder / "small.jsonl", folder / "large.jsonl"
    chosen = sample(documents, sizes, megabytes)
    few = sample(documents, sizes, SMALL)
    large.write_bytes(b"".join(document.line for document in chosen))
    small.write_bytes(b"".join(document.line for document in few))
    size, little = (sum(document.size for document in some) / 1e6 for some in (chosen, few))
    rounds = [[in_fresh_process(build, large, benchmark, n) for n in (1, 2)] for _ in range(repeat)]
    ones, twos = zip(*rounds, strict=True)
    times = [alone.wall / both.wall for alone, both in rounds]
    on_small = in_fresh_process(build, small, benchmark, 2)
    one, two = (statistics.median(run.wall for run in runs) for runs in (ones, twos))
    cpu = statistics.median(run.cpu for run in ones)
    hashes = {run.hash for run in (*ones, *twos)}
    speed, gain = (5, 1.8) if size >= ENOUGH else (None, None)
    return [
        Row("whole way, one worker", size / cpu, "MB/s a core", speed, note=f"{size:.0f} MB, {one:.1f} s wall"),
        Row("whole way, two workers", size / two, "MB/s", note=f"{two:.1f} s wall"),
        Row(
            "two workers beside one, in a round",
            statistics.median(times),
            "x",
            gain,
            note=f"{' '.join(f'{ratio:.2f}' for ratio in times)}; {os.cpu_count()} cores in the machine",
        ),
        Row(f"memory of a worker at {little:.0f} MB", on_small.peak / 1e9, "GB", 1.5, most=True),
        Row(f"memory of a worker at {size:.0f} MB", max(run.peak for run in twos) / 1e9, "GB", 1.5, most=True),
        Row("memory of the whole process, one worker", max(run.peak for run in ones) / 1e9, "GB"),
        Row("different results among these runs", len(hashes) - 1, "", 0, most=True),
    ]


def peers(parts: Parts, repeat: int) -> list[Any]:
    """Return the results of the peers, each on its share of the text."""
    lines = [line for text in parts.cleaned for line in text.split("\n") if 0 < len(line) <= LINE_CHARACTERS]
    benchmark = load_benchmark(parts.benchmark_path)
    words = Decontaminator.build(benchmark, DecontaminateSettings(rules=["words"]))
    replacer = Pseudonymizer(KEY.encode())
    ours: dict[str, tuple[list[str], Work]] = {
        SPLIT: (lines, lambda texts: [split_sentences(text) for text in texts]),
        SEARCH: (parts.sentences, words.match),
        PII: (parts.cleaned, replacer.apply_many),
    }
    distinct = sorted({sentence.text for sentence in benchmark})
    results = []
    for peer in PEERS:
        texts, work = ours[peer.task]
        chosen = sample(texts, [len(text.encode("utf-8", "replace")) for text in texts], peer.megabytes)
        results.append(measure_peer(peer, chosen, distinct, work, repeat))
    return results


PARTS = ("parse", "clean", "pii", "splitting", "decontaminate", "duplicates", "write", "whole", "peers")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", help="JSON Lines files, folders, globs")
    parser.add_argument("--benchmark", type=Path, required=True, help="folder of the evaluation data")
    parser.add_argument("--megabytes", type=float, default=1000, help="most text for the whole way (default 1000)")
    parser.add_argument("--part-megabytes", type=float, default=60, help="text for each part (default 60)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the median counts (default 3)")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--no-peers", action="store_true", help="leave the other tools out")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    options = parser.parse_args()
    wanted = [name for name in options.parts.split(",") if not (options.no_peers and name == "peers")]
    if unknown := set(wanted) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; parts: {', '.join(PARTS)}")

    os.environ["HUNMIN_PII_KEY"] = KEY
    print(hardware())
    documents = list(read_documents([path for corpus in options.corpora for path in expand(corpus)]))
    sizes = [document.size for document in documents]
    print(f"corpora: {len(documents):,} documents, {sum(sizes) / 1e6:.1f} MB of text")
    rows: list[Row] = []
    compared: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        single = [name for name in wanted if name != "whole"]
        if single:
            parts = Parts(
                sample(documents, sizes, options.part_megabytes), options.benchmark, Path(folder), options.repeat
            )
            print(
                f"parts: {parts.megabytes:.1f} MB, {len(parts.texts):,} documents, {len(parts.sentences):,} sentences"
            )
        for name in wanted:
            if name == "peers":
                compared = peers(parts, options.repeat)
                print_peers(compared)
                continue
            if name == "whole":
                found = whole_way(documents, options.benchmark, Path(folder), options.megabytes, options.repeat)
            else:
                found = getattr(parts, name)()
            print_rows(name, found)
            rows += found
    if options.json:
        peers_found = [{**one._asdict(), "peer": one.peer.name, "task": one.peer.task} for one in compared]
        print(json.dumps({"hardware": hardware(), "rows": as_dicts(rows), "peers": peers_found}, ensure_ascii=False))
    return 1 if any(row.reached is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
