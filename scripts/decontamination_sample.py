"""Precision of decontamination: draw hits from real text to be labelled by reading, and score the labelled ones.

    python scripts/decontamination_sample.py draw  CORPUS … --benchmark FOLDER … > pairs.jsonl
    python scripts/decontamination_sample.py score CORPUS … --benchmark FOLDER …

draw: searches all sentences of the files and prints the drawn pairs, a JSON object each with both texts. Exact matches
are left out. Per rule, as many pairs come from each file, as far as it has them; repeated pairs count once.

score: reads the labels (--labels) and prints, by rule and by length of the benchmark sentence, how many of the labelled
hits are true, and how many of the true and of the false ones the present rules still find. A label belongs to a pair of
texts and is stored under hashes, so no text is in the project:

    same   one text stands whole in the other, blanks and punctuation apart
    near   one text was made from the other: a few letters, a word, an ending or the order differ
    false  two texts with common words; also a phrase that anybody may write
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import random
import sys
from collections import Counter
from pathlib import Path

import orjson
from timing import hardware, parser_of

from common.compressed import decompression_errors
from common.files import open_bytes
from data.benchmark import BenchmarkSentence, load_benchmark
from data.decontaminate import DecontaminateSettings, Decontaminator, Hit
from data.decontaminate.normalise import exact_key
from data.decontaminate.settings import RULES
from data.readers import stem
from data.splitting import split_sentences

QUOTAS = {"bigrams": 120, "words": 90, "embedded": 50, "fragment": 40}
LABELS = Path(__file__).with_suffix(".tsv")
SHORT, LONG = 10, 16
"""Bounds of the classes of length, in letters of the benchmark sentence."""
Texts = dict[tuple[str, str], str]


def load_texts(paths: list[str]) -> tuple[list[BenchmarkSentence], Texts]:
    """Return the benchmark with a name of its own for each sentence that is not of a passage, and text by name."""
    benchmark = [
        sentence if sentence.passage else sentence._replace(guid=f"{sentence.guid}\0{number}")
        for number, sentence in enumerate(load_benchmark(paths))
    ]
    texts: dict[tuple[str, str], list[str]] = {}
    for sentence in benchmark:
        texts.setdefault((sentence.task, sentence.guid), []).append(sentence.text)
    return benchmark, {name: " ".join(parts) for name, parts in texts.items()}


def read_file(path: str) -> list[str]:
    """Return the sentences of a file of documents."""
    with decompression_errors(path), open_bytes(path) as stream:
        return [sentence for line in stream for sentence in split_sentences(orjson.loads(line)["text"])]


def digest(text: str) -> str:
    """Return 16 hex digits that stand for a text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def draw(options: argparse.Namespace) -> int:
    """Print the drawn pairs."""
    benchmark, texts = load_texts(options.benchmark)
    decontaminator = Decontaminator.build(benchmark, DecontaminateSettings())
    pools: dict[str, dict[str, list[tuple[str, Hit]]]] = {rule: {} for rule in QUOTAS}
    seen: set[tuple[str, str, str]] = set()
    for path in sorted(options.corpus, key=stem):
        sentences = read_file(path)
        for sentence, hit in zip(sentences, decontaminator.match(sentences), strict=True):
            if hit is None or hit.rule == "exact":
                continue
            pair = (hit.rule, exact_key(sentence), exact_key(texts[hit[:2]]))
            if pair not in seen:
                seen.add(pair)
                pools[hit.rule].setdefault(stem(path), []).append((sentence, hit))
    rng = random.Random(options.seed)
    for rule, quota in QUOTAS.items():
        left = quota
        ordered = sorted(pools[rule].items(), key=lambda pool: (len(pool[1]), pool[0]))
        for number, (source, pool) in enumerate(ordered):
            drawn = rng.sample(pool, min(-(-left // (len(ordered) - number)), len(pool)))
            left -= len(drawn)
            for sentence, hit in drawn:
                pair_texts = {"sentence": sentence, "benchmark": texts[hit[:2]]}
                facts = {"source": source, "task": hit.task, "rule": rule, "score": round(hit.score, 3)}
                print(orjson.dumps({**facts, **pair_texts}).decode())
    return 0


def score(options: argparse.Namespace) -> int:
    """Print the table of labels; return 1 when a labelled sentence is not in the files."""
    with options.labels.open(encoding="utf-8", newline="") as stream:
        labels = {row["sentence"]: row for row in csv.DictReader(stream, delimiter="\t")}
    benchmark, texts = load_texts(options.benchmark)
    decontaminator = Decontaminator.build(benchmark, DecontaminateSettings())
    there = {
        digest(sentence): sentence
        for path in options.corpus
        for sentence in read_file(path)
        if digest(sentence) in labels
    }
    hits = dict(zip(there, decontaminator.match(list(there.values())), strict=True))
    counts: dict[tuple[str, str], Counter[str]] = {}
    for name, row in labels.items():
        if name not in there:
            continue
        hit = hits[name]
        found = hit is not None
        if hit is not None and digest(texts[hit[:2]]) != row["benchmark"]:
            what = "another benchmark sentence"
            print(f"{name}, {row['label']} by {row['rule']}, is now found by {hit.rule} for {what} of {hit.task}")
        letters = int(row["letters"])
        size = f"< {SHORT}" if letters < SHORT else f"< {LONG}" if letters < LONG else f"≥ {LONG}"
        truth = "false" if row["label"] == "false" else "true"
        for key in ((row["rule"], size), (row["rule"], "all"), ("all", "all")):
            counts.setdefault(key, Counter()).update([row["label"], *([f"{truth} found"] if found else [])])
    print(f"{hardware()}\n{len(there)} of {len(labels)} labelled sentences are in the files\n")
    columns = ["same", "near", "false", "true found", "false found"]
    print(f"{'rule':10}{'letters':>8}" + "".join(f"{column:>13}" for column in columns) + f"{'before':>9}{'after':>9}")
    sizes = [f"< {SHORT}", f"< {LONG}", f"≥ {LONG}", "all"]
    for key in sorted(counts, key=lambda key: ([*RULES, "all"].index(key[0]), sizes.index(key[1]))):
        one = counts[key]
        true, after = one["same"] + one["near"], one["true found"] + one["false found"]
        shares = (true / (true + one["false"]), one["true found"] / after if after else float("nan"))
        cells = "".join(f"{one[column]:>13}" for column in columns)
        print(f"{key[0]:10}{key[1]:>8}{cells}" + "".join(f"{share:>9.3f}" for share in shares))
    return int(len(there) < len(labels))


def main() -> int:
    """Draw, or score."""
    parser = parser_of(__doc__)
    parser.add_argument("what", choices=["draw", "score"])
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--benchmark", nargs="+", required=True)
    parser.add_argument("--labels", type=Path, default=LABELS)
    parser.add_argument("--seed", type=int, default=52)
    options = parser.parse_args()
    return (draw if options.what == "draw" else score)(options)


if __name__ == "__main__":
    sys.exit(main())
