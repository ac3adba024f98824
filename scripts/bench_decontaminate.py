"""How fast decontamination is, what it finds of altered copies, and how often it hits text without copies.

    python scripts/bench_decontaminate.py BENCHMARK CORPUS [--sentences N] [--copies N] [--json]

BENCHMARK is a folder as in the recipe's klue.data; CORPUS a JSON Lines file with "text" (.gz, .bz2, .xz, .zst too).
Rates are CPU time of this one process (medians of 3, index and compilation not counted), in sentences and in megabytes
of UTF-8. "Hit" counts every corpus sentence hit, also those that truly are in the benchmark: read them with --show.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common.files import decompression_errors, open_bytes
from data.benchmark import load_benchmark
from data.decontaminate import DecontaminateSettings, Decontaminator
from data.decontaminate.matcher import distinct_sentences
from data.decontaminate.settings import RULES, Rule
from data.splitting import split_sentences

RULE_SETS: dict[str, list[Rule]] = {
    "exact, words": ["exact", "words"],
    "exact, words, bigrams": ["exact", "words", "bigrams"],
    "all": list(RULES),
}
JOSA = {"을": "은", "를": "는", "이": "은", "가": "는", "은": "이", "는": "가", "에": "로", "의": "도"}
PUNCTUATION = str.maketrans({".": "", ",": " ,", "…": "...", "'": "’", '"': "”", "?": "??", "!": ""})

Corruption = Callable[[str, list[str], random.Random], str | None]


def embed(text: str, around: list[str], rng: random.Random) -> str:
    """Return the sentence between two corpus sentences."""
    return f"{rng.choice(around)} {text} {rng.choice(around)}"


def replace_word(text: str, around: list[str], rng: random.Random) -> str | None:
    """Return the sentence with one word replaced by a word of the corpus."""
    words, others = text.split(), rng.choice(around).split()
    if len(words) < 2 or not others:
        return None
    words[rng.randrange(len(words))] = rng.choice(others)
    return " ".join(words)


def change_josa(text: str, around: list[str], rng: random.Random) -> str | None:
    """Return the sentence with the particle of one word changed, or None when no word seems to have one."""
    words = text.split()
    places = [i for i, word in enumerate(words) if len(word) > 1 and word[-1] in JOSA]
    if not places:
        return None
    place = rng.choice(places)
    words[place] = words[place][:-1] + JOSA[words[place][-1]]
    return " ".join(words)


def remove_space(text: str, around: list[str], rng: random.Random) -> str | None:
    """Return the sentence with one blank removed, or None when there is none."""
    words = text.split()
    if len(words) < 2:
        return None
    place = rng.randrange(len(words) - 1)
    return " ".join([*words[:place], words[place] + words[place + 1], *words[place + 2 :]])


def first_half(text: str, around: list[str], rng: random.Random) -> str | None:
    """Return the first half of the sentence's words."""
    words = text.split()
    return " ".join(words[: len(words) // 2]) if len(words) > 1 else None


CORRUPTIONS: dict[str, Corruption] = {
    "exact copy": lambda text, around, rng: text,
    "embedded copy": embed,
    "one space removed": remove_space,
    "all spaces removed": lambda text, around, rng: "".join(text.split()),
    "punctuation changed": lambda text, around, rng: text.translate(PUNCTUATION),
    "one josa changed": change_josa,
    "one word replaced": replace_word,
    "first half only": first_half,
}


def read_sentences(path: Path, limit: int) -> list[str]:
    """Return the first `limit` sentences of a JSON Lines corpus."""
    sentences: list[str] = []
    with decompression_errors(path), open_bytes(path) as stream:
        for line in stream:
            sentences += split_sentences(json.loads(line)["text"])
            if len(sentences) >= limit:
                break
    return sentences[:limit]


def measure_rate(matcher: Decontaminator, sentences: list[str]) -> float:
    """Return sentences a second of CPU time, the median of three passes."""
    matcher.match(sentences[:2000])
    rates = []
    for _ in range(3):
        start = time.process_time()
        matcher.match(sentences)
        rates.append(len(sentences) / (time.process_time() - start))
    return statistics.median(rates)


def measure_recall(
    matchers: dict[str, Decontaminator], chosen: list[str], corpus: list[str], seed: int
) -> dict[str, dict[str, float]]:
    """Return corruption → {"copies", rule or "all": share of the altered copies found}."""
    table = {}
    for kind, corrupt in CORRUPTIONS.items():
        rng = random.Random(f"{seed}-{kind}")
        copies = [copy for text in chosen if (copy := corrupt(text, corpus, rng)) is not None]
        row: dict[str, float] = {"copies": len(copies)}
        for name, matcher in matchers.items():
            row[name] = sum(hit is not None for hit in matcher.match(copies)) / max(len(copies), 1)
        table[kind] = row
    return table


def main() -> None:
    """Print the three tables, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--sentences", type=int, default=200_000, help="corpus sentences read (default 200000)")
    parser.add_argument("--copies", type=int, default=5_000, help="benchmark sentences altered (default 5000)")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--show", type=int, default=0, help="print so many of the corpus sentences hit")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    result = measure(options.benchmark, options.corpus, options.sentences, options.copies, options.seed, options.show)
    if options.json:
        print(json.dumps(result, ensure_ascii=False))
    else:
        print_tables(result)


def measure(
    benchmark_path: Path, corpus_path: Path, sentences: int, copies: int, seed: int, shown: int
) -> dict[str, Any]:
    """Return everything the tables hold."""
    start = time.perf_counter()
    benchmark = load_benchmark(benchmark_path)
    loaded = time.perf_counter()
    everything = Decontaminator.build(benchmark, DecontaminateSettings())
    built = time.perf_counter()
    corpus = read_sentences(corpus_path, sentences)
    size = sum(len(sentence.encode()) for sentence in corpus) / 1e6
    rates = {}
    for name, rules in RULE_SETS.items():
        rate = measure_rate(Decontaminator.build(benchmark, DecontaminateSettings(rules=rules)), corpus)
        rates[name] = {"sentences_per_second": rate, "mb_per_second": rate * size / len(corpus)}
    hits = [(hit, sentence) for hit, sentence in zip(everything.match(corpus), corpus, strict=True) if hit]
    single = [source.text for source in distinct_sentences(benchmark) if not source.passage]
    chosen = random.Random(seed).sample(single, min(copies, len(single)))
    matchers: dict[str, Decontaminator] = {"all": everything}
    for rule in RULES:
        matchers[rule] = Decontaminator.build(benchmark, DecontaminateSettings(rules=[rule]))
    return {
        "benchmark_sentences": len(benchmark),
        "seconds_to_load": loaded - start,
        "seconds_to_build": built - loaded,
        "corpus_sentences": len(corpus),
        "corpus_mb": size,
        "rates": rates,
        "hit_share": len(hits) / len(corpus),
        "hits_by_rule": dict(Counter(hit.rule for hit, _ in hits)),
        "hits_by_task": dict(Counter(hit.task for hit, _ in hits)),
        "found": measure_recall(matchers, chosen, corpus, seed),
        "shown": [[*hit, sentence] for hit, sentence in hits[:shown]],
    }


def print_tables(result: dict[str, Any]) -> None:
    """Print what `measure` returned, for people."""
    loaded, built = result["seconds_to_load"], result["seconds_to_build"]
    print(f"benchmark: {result['benchmark_sentences']:,} sentences, loaded in {loaded:.1f} s, indexed in {built:.1f} s")
    print(f"corpus:    {result['corpus_sentences']:,} sentences, {result['corpus_mb']:.1f} MB")
    for name, rate in result["rates"].items():
        print(f"  {name:24} {rate['sentences_per_second']:>10,.0f} sentences/s {rate['mb_per_second']:6.1f} MB/s")
    print(f"hit: {result['hit_share']:.4%} of the corpus; {result['hits_by_rule']} {result['hits_by_task']}")
    columns = [*RULES, "all"]
    print(f"\n{'share found':22}{'copies':>8}" + "".join(f"{name:>10}" for name in columns))
    for kind, row in result["found"].items():
        print(f"{kind:22}{row['copies']:>8,.0f}" + "".join(f"{row[name]:>10.3f}" for name in columns))
    for hit in result["shown"]:
        print(*hit, sep="\t")


if __name__ == "__main__":
    main()
