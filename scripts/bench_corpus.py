"""How fast the corpus stage is: MB/s a core of each part and of the whole way, and its memory.

    python scripts/bench_corpus.py --benchmark KLUE CORPUS … [--megabytes 300] [--parts splitting,pii] [--json]

CORPUS: JSON Lines files with "text" (.zst, .gz too), folders or globs of them. BENCHMARK: a folder as in klue.data.

MB are 10^6 bytes of UTF-8 of the documents' text as read: JSON syntax is read but not counted. A part's rate is over
processor seconds of this process (median of --repeat runs after one warm run, so compilation is not counted), on every
k-th document of all corpora, --part-megabytes of them. A part gets what the part before it leaves.

Bars are ratios to a plain read of the same file (its lines as text, no JSON), which is timed before each run: a busy
machine slows both.

The whole way is `build_corpus` with its defaults from one plain JSON Lines file to shards, in a
fresh process: reading, indexing the benchmark, cleaning, pseudonyms, splitting, decontamination with all rules, exact
duplicates, Parquet, statistics. "A core" divides by its processor seconds; two workers are compared by wall time
with one, in rounds of one run each, and their gain with that of two processes that only read the file. Memory is the
largest high-water mark (VmHWM) of a worker process.
Exit code 1 when a bar is not reached.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pyarrow as pa
from timing import (
    Measured,
    Row,
    beside,
    cpu_seconds,
    finish,
    hardware,
    in_fresh_processes,
    measured,
    median_seconds,
    parser_of,
    print_rows,
)

from common.compressed import decompression_errors
from common.files import open_bytes
from common.globs import expand
from data.benchmark import load_benchmark
from data.cleaning.rules import clean, keep_sentences
from data.cleaning.settings import CleanSettings
from data.corpus import CorpusSettings, build_corpus
from data.decontaminate.criteria import Criteria
from data.decontaminate.matcher import Decontaminator
from data.decontaminate.settings import DecontaminateSettings
from data.deduplicate.exact import keys_of
from data.deduplicate.near import signatures
from data.pii.surrogate import Pseudonymizer
from data.readers.formats import parse_block, read_blocks
from data.readers.paths import list_files
from data.shards import SCHEMA, write_shard
from data.splitting.scan import split_sentences
from data.statistics.counts import shard_statistics, text_size
from data.units.work import BATCH_CHARACTERS

KEY = "a key for measuring only"
SMALL, ENOUGH = 50, 200
"""Megabytes at which a worker's memory is measured as well, and from which the bars of the whole way hold: below,
indexing the benchmark takes a large share of the time."""
WHOLE = 0.012
READS = 5
"""The least speed of the whole way by that of a plain read; reads of a file in which processes are compared."""
RULES: dict[str, tuple[dict[str, Any], float | None]] = {
    "words": ({"rules": ("words",), "threshold": 0.8}, 0.15),
    "exact, embedded, words": ({"rules": ("exact", "embedded", "words")}, None),
    "words, bigrams": ({"rules": ("words", "bigrams"), "threshold": 0.8, "bigram_threshold": 0.8}, 0.07),
    "all rules": ({}, None),
}
"""Name → criteria that differ from the defaults, and the least speed by that of a plain read."""


class Document(NamedTuple):
    """A line of a corpus, its text, and the text's bytes."""

    line: bytes
    text: str
    size: int


def read_documents(paths: list[str]) -> list[Document]:
    documents = []
    for path in paths:
        with decompression_errors(path), open_bytes(path) as stream:
            for line in stream:
                text = orjson.loads(line)["text"]
                documents.append(Document(line.rstrip(b"\n") + b"\n", text, len(text.encode("utf-8", "replace"))))
    return documents


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
    """Return the texts in batches of the size in which the stage handles them."""
    numbers = (total // BATCH_CHARACTERS for total in accumulate(map(len, texts)))
    return [
        [text for text, _ in pairs] for _, pairs in groupby(zip(texts, numbers, strict=True), key=lambda pair: pair[1])
    ]


def read_plainly(path: Path, times: int = 1) -> float:
    """Read the lines of a file so many times, as text, and return the seconds by the clock."""
    began = time.perf_counter()
    for _ in range(times):
        with path.open(encoding="utf-8", errors="replace") as lines:
            for _line in lines:
                pass
    return time.perf_counter() - began


class Parts:
    """The parts of the stage, each over what the part before it leaves of the sampled documents."""

    def __init__(self, documents: list[Document], benchmark: Path, folder: Path, repeat: int) -> None:
        self.folder = folder
        self.repeat = repeat
        self.benchmark_path = benchmark
        self.raw = folder / "part.jsonl"
        self.raw.write_bytes(b"".join(document.line for document in documents))
        self.megabytes = sum(document.size for document in documents) / 1e6
        self.texts = [document.text for document in documents]
        self.rules = CleanSettings()
        self.cleaned = [clean(text, self.rules, {}) for text in self.texts]
        self.split = [split_sentences(text) for text in self.cleaned]
        self.flat = [sentence for sentences in self.split for sentence in sentences]
        keeps = keep_sentences(self.flat, self.rules, {})
        self.sentences = [sentence for sentence, keep in zip(self.flat, keeps, strict=True) if keep]

    def works(self, part: str) -> dict[str, tuple[Callable[[], object], float | None]]:
        """Return the works of a part by name, each with the least speed by that of a plain read."""
        [file] = list_files([str(self.raw)])
        size = int(CorpusSettings.model_fields["unit_mb"].default * 1e6)
        blocks = list(read_blocks(file, size))
        made = batches(self.cleaned)
        replacer = Pseudonymizer(KEY.encode())
        path = self.folder / "shard.parquet"
        names = pa.array(["x"] * len(self.split))
        table = pa.table([names, names, names, pa.array(self.split, pa.list_(pa.string()))], schema=SCHEMA)
        parts: dict[str, dict[str, tuple[Callable[[], object], float | None]]] = {
            "parse": {
                "JSON Lines parse": (lambda: [len(list(parse_block(file, *block))) for block in blocks], None),
                "reading: cut into blocks": (lambda: list(read_blocks(file, size)), None),
            },
            "clean": {
                "cleaning": (lambda: [clean(text, self.rules, {}) for text in self.texts], None),
                "sentence rules": (lambda: keep_sentences(self.flat, self.rules, {}), None),
            },
            "pii": {"personal data": (lambda: [replacer.apply_many(batch) for batch in made], 0.2)},
            "splitting": {"sentence splitting": (lambda: [split_sentences(text) for text in self.cleaned], 0.05)},
            "duplicates": {
                "exact duplicates: keys": (lambda: keys_of(self.cleaned), None),
                "near duplicates: signatures": (lambda: signatures(self.cleaned), None),
            },
            "write": {
                "Parquet write": (lambda: write_shard(path, [table]), None),
                "statistics of a shard": (lambda: shard_statistics(path), None),
                "size of raw text": (lambda: [text_size(batch) for batch in batches(self.texts)], None),
            },
        }
        return parts[part]

    def rate(self, name: str, work: Callable[[], object], bar: float | None, note: str = "") -> list[Row]:
        """Return the MB/s of a work over all of the text, after a warm run; with a bar that beside a plain read."""
        work()
        seconds, ratio = beside(partial(read_plainly, self.raw), work, self.repeat)
        rows = [Row(name, self.megabytes / seconds, "MB/s", note=note)]
        return [*rows, Row(f"{name}, to a plain read", ratio, "x", bar)] if bar else rows

    def decontaminate(self) -> list[Row]:
        """Return the benchmark sentences found, by rule set, and the rates of searching for them."""
        start = cpu_seconds()
        benchmark = load_benchmark(self.benchmark_path)
        loaded = cpu_seconds()
        whole = Decontaminator.build(benchmark)
        built = cpu_seconds()
        distinct = len({sentence.text for sentence in benchmark})
        rows = [
            Row("benchmark sentences", distinct, "distinct", 20_000, note=f"of {len(benchmark):,}"),
            Row("benchmark: load", loaded - start, "s"),
            Row("benchmark: index, all rules", built - loaded, "s"),
        ]
        for name, (changes, bar) in RULES.items():
            matcher = Decontaminator.build(benchmark, Criteria(**changes))
            rows += self.rate(f"decontamination: {name}", partial(matcher.match, self.sentences), bar, str(changes))
        hits = Counter(hit.rule for hit in whole.match(self.sentences) if hit)
        note = ", ".join(f"{rule} {count}" for rule, count in hits.most_common())
        return [*rows, Row("sentences found", 100 * hits.total() / len(self.sentences), "%", note=note)]


def whole_way(documents: list[Document], benchmark: Path, folder: Path, megabytes: float, repeat: int) -> list[Row]:
    """Return the figures of the whole stage with one and two workers, and of a worker's memory on a small part."""

    def run(file: Path, workers: int) -> Measured:
        decontaminate = DecontaminateSettings(benchmark=str(benchmark))
        settings = CorpusSettings(inputs=[str(file)], workers=workers, decontaminate=decontaminate)
        return in_fresh_processes(1, measured, build_corpus, settings)[0]

    files = {folder / "large.jsonl": megabytes, folder / "small.jsonl": SMALL}
    sizes = []
    for file, most in files.items():
        chosen = sample(documents, [document.size for document in documents], most)
        file.write_bytes(b"".join(document.line for document in chosen))
        sizes.append(sum(document.size for document in chosen) / 1e6)
    (large, small), (size, little) = files, sizes

    def limit() -> float:
        """Return how much more two processes read than one, of this machine now."""
        alone, both = (max(in_fresh_processes(count, read_plainly, large, READS)) for count in (1, 2))
        return 2 * alone / both

    read: list[float] = []
    rounds = []
    for _ in range(repeat):
        read.append(median_seconds(partial(read_plainly, large), 1))
        rounds.append((run(large, 1), run(large, 2), limit()))
    ones, twos, limits = zip(*rounds, strict=True)
    times = [alone.wall / both.wall / most for alone, both, most in rounds]
    ratio = statistics.median(seconds / alone.cpu for seconds, alone in zip(read, ones, strict=True))
    on_small = run(small, 2)
    one_worker, two_workers, cpu = (
        statistics.median(values)
        for values in ([run.wall for run in ones], [run.wall for run in twos], [run.cpu for run in ones])
    )
    speed, gain = (WHOLE, 0.9) if size >= ENOUGH else (None, None)
    note = f"{' '.join(f'{share:.2f}' for share in times)}; the machine's {' '.join(f'{most:.2f}' for most in limits)}"
    different = len({run.hash for run in (*ones, *twos)}) - 1
    return [
        Row("whole way, one worker", size / cpu, "MB/s a core", note=f"{size:.0f} MB, {one_worker:.1f} s wall"),
        Row("whole way, one worker, to a plain read", ratio, "x", speed),
        Row("whole way, two workers", size / two_workers, "MB/s", note=f"{two_workers:.1f} s wall"),
        Row("two workers to one, of the machine's gain", statistics.median(times), "x", gain, note=note),
        Row(f"memory of a worker at {little:.0f} MB", on_small.worker_peak / 1e9, "GB", 1.5, most=True),
        Row(f"memory of a worker at {size:.0f} MB", max(run.worker_peak for run in twos) / 1e9, "GB", 1.5, most=True),
        Row("memory of the whole process, one worker", max(run.own_peak for run in ones) / 1e9, "GB"),
        Row("different results among these runs", different, "", 0, most=True),
    ]


PARTS = ("parse", "clean", "pii", "splitting", "decontaminate", "duplicates", "write", "whole")


def main() -> int:
    parser = parser_of(__doc__, json=True)
    parser.add_argument("corpora", nargs="+", help="JSON Lines files, folders, globs")
    parser.add_argument("--benchmark", type=Path, required=True, help="folder of the evaluation data")
    parser.add_argument("--megabytes", type=float, default=1000, help="most text for the whole way (default 1000)")
    parser.add_argument("--part-megabytes", type=float, default=60, help="text for each part (default 60)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the median counts (default 3)")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    options = parser.parse_args()
    names = options.parts.split(",")
    if unknown := set(names) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; parts: {', '.join(PARTS)}")
    os.environ["HUNMIN_PII_KEY"] = KEY
    print(hardware())
    documents = read_documents([path for corpus in options.corpora for path in expand(corpus)])
    sizes = [document.size for document in documents]
    print(f"corpora: {len(documents):,} documents, {sum(sizes) / 1e6:.1f} MB of text")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        few = sample(documents, sizes, options.part_megabytes if names != ["whole"] else 0)
        parts = Parts(few, options.benchmark, Path(folder), options.repeat)
        print(f"parts: {parts.megabytes:.1f} MB, {len(parts.texts):,} documents, {len(parts.sentences):,} sentences")
        for name in names:
            if name == "whole":
                measured_rows = whole_way(documents, options.benchmark, Path(folder), options.megabytes, options.repeat)
            else:
                works = parts.works(name) if name != "decontaminate" else {}
                measured_rows = [row for work, facts in works.items() for row in parts.rate(work, *facts)]
                measured_rows = measured_rows or parts.decontaminate()
            rows += print_rows(name, measured_rows)
    return finish(rows, options.json)


if __name__ == "__main__":
    sys.exit(main())
