"""How fast decontamination is, on one core, by rules.

    python scripts/bench_decontaminate.py BENCHMARK CORPUS [CORPUS ...] [--sentences N] [--json]

BENCHMARK is a folder as in the recipe's klue.data; CORPUS are JSON Lines files with "text" (.gz, .bz2, .xz, .zst too),
from which as many sentences each are taken as there are. Rates are CPU time of this one process (medians of 3; loading,
index and compilation are not counted), in sentences and in megabytes of UTF-8. What the rules find and what they leave
alone is shown by check_decontamination.py.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from typing import Any

from check_decontamination import hardware, read_sentences

from data.benchmark import load_benchmark
from data.decontaminate import DecontaminateSettings, Decontaminator

CHOICES: dict[str, dict[str, Any]] = {
    "words": {"rules": ["words"]},
    "exact, embedded, words": {"rules": ["exact", "embedded", "words"]},
    "words, bigrams": {"rules": ["words", "bigrams"]},
    "words, bigrams at 0.8": {"rules": ["words", "bigrams"], "bigram_threshold": 0.8},
    "all rules": {},
}
"""Name → settings that differ from the defaults."""


def measure_rate(matcher: Decontaminator, sentences: list[str]) -> float:
    """Return sentences a second of CPU time, the median of three passes."""
    matcher.match(sentences[:2000])
    rates = []
    for _ in range(3):
        start = time.process_time()
        matcher.match(sentences)
        rates.append(len(sentences) / (time.process_time() - start))
    return statistics.median(rates)


def measure(benchmark_path: str, corpus: list[str], sentences: int, seed: int) -> dict[str, Any]:
    """Return everything the table holds."""
    start = time.perf_counter()
    benchmark = load_benchmark(benchmark_path)
    loaded = time.perf_counter()
    everything = Decontaminator.build(benchmark, DecontaminateSettings())
    built = time.perf_counter()
    texts = [sentence for _, sentence in read_sentences(corpus, sentences, seed)]
    size = sum(len(sentence.encode()) for sentence in texts) / 1e6
    rates = {}
    for name, changes in CHOICES.items():
        matcher = Decontaminator.build(benchmark, DecontaminateSettings.model_validate(changes))
        rate = measure_rate(matcher, texts)
        rates[name] = {"sentences_per_second": rate, "mb_per_second": rate * size / len(texts)}
    hits = [hit for hit in everything.match(texts) if hit]
    return {
        "hardware": hardware(),
        "benchmark_sentences": len(benchmark),
        "seconds_to_load": loaded - start,
        "seconds_to_build": built - loaded,
        "corpus_sentences": len(texts),
        "corpus_mb": size,
        "rates": rates,
        "hit_share": len(hits) / len(texts),
        "hits_by_rule": dict(Counter(hit.rule for hit in hits)),
        "hits_by_task": dict(Counter(hit.task for hit in hits)),
    }


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark")
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--sentences", type=int, default=200_000, help="corpus sentences taken (default 200000)")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = measure(options.benchmark, options.corpus, options.sentences, options.seed)
    if options.json:
        print(json.dumps(result, ensure_ascii=False))
        return
    loaded, built = result["seconds_to_load"], result["seconds_to_build"]
    print(result["hardware"])
    print(f"benchmark: {result['benchmark_sentences']:,} sentences, loaded in {loaded:.1f} s, indexed in {built:.1f} s")
    print(f"corpus:    {result['corpus_sentences']:,} sentences, {result['corpus_mb']:.1f} MB")
    for name, rate in result["rates"].items():
        print(f"  {name:24} {rate['sentences_per_second']:>10,.0f} sentences/s {rate['mb_per_second']:6.1f} MB/s")
    print(f"hit: {result['hit_share']:.4%} of the corpus; {result['hits_by_rule']} {result['hits_by_task']}")


if __name__ == "__main__":
    main()
