"""Speed of vocabulary training and of decontamination beside another checkout's, with equal outputs.

    python scripts/bench_beside.py --other CHECKOUT [--benchmark KLUE] [--megabytes 20] [--rounds 3] [--json] CORPUS …

CHECKOUT: another working tree of this project, run by the same Python; packages that it alone needs may be installed
into it (`pip install --target CHECKOUT …`). CORPUS: JSON Lines files with "text" (.zst, .gz too), folders or globs of
them, of whose documents --megabytes are taken evenly. BENCHMARK: a folder as in klue.data; without it only vocabulary
training is measured.

The trees work in turn, each time in a fresh process and after one run that is not counted, in which code is compiled.
Figures are processor seconds, medians of the rounds; ratios are of the two runs of a round:

- vocabulary: `train_tokenizer` with one worker, on a document a line.
- first hits: `build_corpus` of one document, with an empty cache: reading and indexing the benchmark is nearly all.
- hits again: the same with the cache that the run before left.
- search: `Decontaminator.match` over the sentences of all documents.

Equal outputs: the same tokenizer.json and counts; the same shards; the same hits.
Exit code 1 where outputs differ, or where this tree is less than 0.9 times as fast as the other.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import orjson
from bench_corpus import read_documents, sample
from timing import ROOT, Row, finish, hardware, in_turn, parser_of, print_rows, printed_by

from common.globs import expand
from data.splitting.scan import split_sentences

LEAST = 0.9
VOCABULARY = """
import json, os, sys, time
from pathlib import Path
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import xxhash
from tokenizer.train import TokenizerSettings, train_tokenizer
if __name__ == "__main__":
    corpus, _, out = map(Path, sys.argv[1:])
    out.mkdir()
    began = time.process_time()
    counts = train_tokenizer(TokenizerSettings(workers=1), corpus, out)
    seconds = time.process_time() - began
    counts = {name: count for name, count in counts.items() if isinstance(count, int)}
    made = (out / "tokenizer.json").read_bytes() + json.dumps(counts, sort_keys=True).encode()
    print(json.dumps([seconds, xxhash.xxh3_128_hexdigest(made)]))
"""
FIRST_HITS = """
import json, os, sys, time
from pathlib import Path
from common.manifest import describe_outputs
from common.settings import settings_hash
from data.corpus import build_corpus
from data.settings import CorpusSettings
if __name__ == "__main__":
    file, benchmark, out = sys.argv[1:]
    settings = {"inputs": [file], "workers": 1, "decontaminate": {"benchmark": benchmark}}
    os.environ["HUNMIN_PII_KEY"] = "a key for measuring only"
    Path(out).mkdir()
    began = time.process_time()
    build_corpus(CorpusSettings.model_validate(settings), Path(out))
    print(json.dumps([time.process_time() - began, settings_hash(describe_outputs(Path(out)))]))
"""
SEARCH = """
import json, sys, time
from pathlib import Path
import xxhash
from data.benchmark import load_benchmark
from data.decontaminate.matcher import Decontaminator
if __name__ == "__main__":
    file, benchmark, _ = sys.argv[1:]
    sentences = json.loads(Path(file).read_bytes())
    matcher = Decontaminator.build(load_benchmark(benchmark))
    matcher.match(sentences[:3000])
    began = time.process_time()
    hits = matcher.match(sentences)
    print(json.dumps([time.process_time() - began, xxhash.xxh3_128_hexdigest(repr(hits).encode("utf-8", "replace"))]))
"""


PARTS = {"vocabulary": VOCABULARY, "first hits": FIRST_HITS, "hits again": FIRST_HITS, "search": SEARCH}
"""Name → program that prints its seconds and a hash of its output."""


def compared(
    name: str, other: Path, run: Callable[[Path], tuple[float, str]], rounds: int, megabytes: float
) -> list[Row]:
    """Return the rows of a part: its seconds by both trees, their ratio, and how many outputs differ."""
    for tree in (ROOT, other.resolve()):
        run(tree)
    ours, theirs = in_turn(other, run, rounds)
    this, before = (statistics.median(seconds for seconds, _ in runs) for runs in (ours, theirs))
    faster = [of_other / of_this for (of_this, _), (of_other, _) in zip(ours, theirs, strict=True)]
    note = " ".join(f"{ratio:.2f}" for ratio in faster)
    return [
        Row(f"{name}, this tree", this, "s", note=f"{megabytes / this:.2f} MB/s"),
        Row(f"{name}, the other", before, "s", note=f"{megabytes / before:.2f} MB/s"),
        Row("times as fast, in a round", statistics.median(faster), "x", LEAST, note=note),
        Row("outputs that differ", len({digest for _, digest in (*ours, *theirs)}) - 1, "", 0, most=True),
    ]


def main() -> int:
    parser = parser_of(__doc__, json=True)
    parser.add_argument("corpora", nargs="+", help="JSON Lines files, folders, globs")
    parser.add_argument("--other", type=Path, required=True, help="another checkout")
    parser.add_argument("--benchmark", type=Path, help="folder of the evaluation data")
    parser.add_argument("--megabytes", type=float, default=20, help="most text (default 20)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    options = parser.parse_args()
    names = options.parts.split(",") if options.benchmark else ["vocabulary"]
    documents = read_documents([path for corpus in options.corpora for path in expand(corpus)])
    documents = sample(documents, [document.size for document in documents], options.megabytes)
    megabytes = sum(document.size for document in documents) / 1e6
    print(f"{hardware()}; {len(documents):,} documents, {megabytes:.1f} MB, rounds: {options.rounds}")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        suffixes = {"vocabulary": ".txt", "first hits": ".jsonl", "hits again": ".jsonl", "search": ".json"}
        files = {name: Path(folder, name).with_suffix(suffix) for name, suffix in suffixes.items()}
        files["vocabulary"].write_text(
            "".join(" ".join(document.text.split()) + "\n" for document in documents), encoding="utf-8"
        )
        for name in ("first hits", "hits again"):
            files[name].write_bytes(documents[0].line)
        files["search"].write_bytes(orjson.dumps([s for document in documents for s in split_sentences(document.text)]))

        def run(name: str, tree: Path) -> tuple[float, str]:
            with tempfile.TemporaryDirectory(dir=folder) as spare:
                os.environ["XDG_CACHE_HOME"] = folder if name == "hits again" else spare
                arguments = files[name], options.benchmark and options.benchmark.resolve(), Path(spare) / "out"
                seconds, digest = printed_by(tree, PARTS[name], *map(str, arguments))
            return seconds, digest

        for name in names:
            rows += print_rows(name, compared(name, options.other, partial(run, name), options.rounds, megabytes))
    return finish(rows, options.json)


if __name__ == "__main__":
    sys.exit(main())
