"""Precision of decontamination: draw hits from real text to be labelled by reading, and score the labelled ones.

    python scripts/decontamination_sample.py draw  CORPUS … --benchmark FOLDER … > pairs.jsonl
    python scripts/decontamination_sample.py score CORPUS … --benchmark FOLDER …

CORPUS is a file or folder in any format of corpora; PATH=FIELD names another text field than "text".

draw: searches all sentences and prints the drawn pairs, a JSON object each with both texts: of each kind as many as
QUOTAS says, each distinct pair with the same chance. Sources that are a benchmark's own file or its parent are left out
(--leave-out).

score: reads the labels (--labels) and prints, by draw and kind, how many of the labelled hits are true, how many of the
true and of the false ones the present rules still find, and the precision then, with its interval of 95% (Wilson). A
label belongs to a pair of texts and is stored under hashes, so no text is in the project:

    same   one text stands whole in the other, blanks and punctuation apart
    near   one text was made from the other: a few letters, a word, an ending or the order differ
    false  two texts with common words; also a phrase that anybody may write

Draw 1 is of the rules before short sentences had to make up the text, even over the sources, without exact matches; the
present thresholds were chosen on it. Draw 2 is of the present rules, made after they were chosen.
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

from common.files import stem
from data.benchmark import BenchmarkSentence, load_benchmark
from data.decontaminate.matcher import Decontaminator, Hit
from data.decontaminate.normalise import exact_key
from data.readers.formats import read_documents
from data.readers.paths import list_files
from data.readers.settings import SourceSettings
from data.splitting.scan import split_sentences

QUOTAS = {"exact": 60, "short": 40, "near": 130, "fragment": 70}
"""short: exact matches of fewer than SHORT letters."""
LABELS = Path(__file__).with_suffix(".tsv")
LEAVE_OUT = ("nsmc_reviews", "parakqc", "hate_speech_comments", "chatbot", "malicious_comments")
SHORT = 10
BLOCK_BYTES = 8_000_000
NORMAL_95 = 1.959964
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


def read_sentences(source_name: str) -> list[str]:
    """Return the sentences of a file or folder of documents, given as PATH or PATH=FIELD."""
    path, _, field = source_name.partition("=")
    source = SourceSettings(path=path, **({"text_field": field} if field else {}))
    documents = (document for file in list_files([source]) for document in read_documents(file, BLOCK_BYTES))
    return [sentence for document in documents for sentence in split_sentences(document.text)]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def kind_of(rule: str, letters: int) -> str:
    """Return the kind of a hit, as in QUOTAS."""
    if rule == "exact":
        return "short" if letters < SHORT else "exact"
    return rule if rule == "fragment" else "near"


def draw(options: argparse.Namespace) -> int:
    benchmark, texts = load_texts(options.benchmark)
    decontaminator = Decontaminator.build(benchmark)
    pools: dict[str, dict[tuple[str, str], tuple[str, str, Hit]]] = {kind: {} for kind in QUOTAS}
    for source_path in sorted(options.corpus):
        source = stem(source_path.partition("=")[0])
        if source in options.leave_out:
            continue
        sentences = read_sentences(source_path)
        for sentence, hit in zip(sentences, decontaminator.match(sentences), strict=True):
            if hit is not None:
                pair = exact_key(sentence), exact_key(texts[hit[:2]])
                pools[kind_of(hit.rule, len(pair[0]))].setdefault(pair, (source, sentence, hit))
    rng = random.Random(options.seed)
    for kind, pool in pools.items():
        print(f"{kind}: {len(pool):,} distinct pairs", file=sys.stderr)
        for source, sentence, hit in rng.sample(list(pool.values()), min(QUOTAS[kind], len(pool))):
            facts = {"source": source, "task": hit.task, "rule": hit.rule, "score": round(hit.score, 3)}
            print(orjson.dumps({**facts, "sentence": sentence, "benchmark": texts[hit[:2]]}).decode())
    return 0


def score(options: argparse.Namespace) -> int:
    """Print the table of labels; return 1 when a labelled sentence is not in the files."""
    with options.labels.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    names = {row["sentence"] for row in rows}
    benchmark, texts = load_texts(options.benchmark)
    decontaminator = Decontaminator.build(benchmark)
    there = {
        name: sentence
        for source_path in options.corpus
        for sentence in read_sentences(source_path)
        if (name := digest(sentence)) in names
    }
    hits = dict(zip(there, decontaminator.match(list(there.values())), strict=True))
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        if row["sentence"] not in there:
            continue
        hit = hits[row["sentence"]]
        if hit is not None and digest(texts[hit[:2]]) != row["benchmark"]:
            match = "another benchmark sentence"
            print(f"{row['sentence']}, {row['label']} by {row['rule']}, is now found by {hit.rule} for {match}")
        truth = "false" if row["label"] == "false" else "true"
        kinds = {kind_of(row["rule"], int(row["letters"])), "all"} | {row["rule"]} - {"exact"}
        for kind in kinds:
            labels = counts.setdefault((row["draw"], kind), Counter())
            labels.update([row["label"], *([f"{truth} found"] if hit else [])])
    print(f"{hardware()}\n{len(there)} of {len(names)} labelled sentences are in the files\n")
    columns = ["same", "near", "false", "true found", "false found"]
    print(f"{'draw':6}{'kind':10}" + "".join(f"{column:>13}" for column in columns) + f"{'precision':>11}  95%")
    order = ["exact", "short", "near", "words", "bigrams", "embedded", "fragment", "all"]
    for draw_number, kind in sorted(counts, key=lambda key: (key[0], order.index(key[1]))):
        labels = counts[draw_number, kind]
        true = labels["true found"]
        all_found = labels["true found"] + labels["false found"]
        low, high = wilson(true, all_found)
        cells = "".join(f"{labels[column]:>13}" for column in columns)
        print(f"{draw_number:6}{kind:10}{cells}{true / max(all_found, 1):>11.3f}  {low:.3f}–{high:.3f}")
    return int(len(there) < len(names))


def wilson(true: int, count: int) -> tuple[float, float]:
    """Return the Wilson interval of 95% of a share."""
    if not count:
        return 0.0, 1.0
    share, square = true / count, NORMAL_95**2 / count
    middle = (share + square / 2) / (1 + square)
    half = NORMAL_95 * (share * (1 - share) / count + square / 4 / count) ** 0.5 / (1 + square)
    return middle - half, middle + half


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("what", choices=["draw", "score"])
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--benchmark", nargs="+", required=True)
    parser.add_argument("--labels", type=Path, default=LABELS)
    parser.add_argument("--leave-out", nargs="*", default=LEAVE_OUT)
    parser.add_argument("--seed", type=int, default=5202)
    options = parser.parse_args()
    return (draw if options.what == "draw" else score)(options)


if __name__ == "__main__":
    sys.exit(main())
