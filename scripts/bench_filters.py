"""How fast the filters are: MB/s a core of each, of all of them together, and of the cleaning before them.

    python scripts/bench_filters.py CORPUS … [--megabytes 60] [--repeat 5] [--perplexity MODEL] [--quality MODEL]

CORPUS: files or folders as in corpus.inputs. MB are 10^6 bytes of UTF-8 of the text before cleaning; rates are medians
over processor seconds of this process, after a warm run. Each filter begins with bare texts, so what filters share
(code points, words, lines) counts for each of them, and once for all together.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from timing import Row, hardware, median_seconds, print_rows

from data.cleaning import CleanSettings, clean
from data.filter_models.texts import documents_of_file
from data.filters import FilterSettings, build_filters
from data.readers import Document, list_files
from data.units.work import BATCH_CHARACTERS

CLEAN = "cleaning, for comparison"
ALL = "all filters together"
LEAST = 8.5
"""MB/s of the whole stage on the same core: filters that are faster do not halve it."""


def batches_of(inputs: list[str], megabytes: float) -> list[list[Document]]:
    """Return documents spread evenly over all files, in batches of the size in which the stage handles them."""
    found = [document for file in list_files(inputs) for document in documents_of_file(file)]
    size = sum(len(document.text.encode("utf-8", "replace")) for document in found)
    chosen = found[:: max(round(size / megabytes / 1e6), 1)]
    batches: list[list[Document]] = [[]]
    for document in chosen:
        batches[-1].append(document)
        if sum(len(one.text) for one in batches[-1][-1:]) and _full(batches[-1]):
            batches.append([])
    return [batch for batch in batches if batch]


def _full(batch: list[Document]) -> bool:
    return len(batch) % 64 == 0 and sum(len(document.text) for document in batch) >= BATCH_CHARACTERS


def main() -> int:
    """Measure and print; the exit code is 1 when a bar is not reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--megabytes", type=float, default=60)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--perplexity", help="a model of hunmin corpus train-perplexity")
    parser.add_argument("--quality", help="a model of hunmin corpus train-quality")
    options = parser.parse_args()
    print(hardware())
    batches = batches_of(options.corpora, options.megabytes)
    megabytes = sum(len(one.text.encode("utf-8", "replace")) for batch in batches for one in batch) / 1e6
    print(f"{sum(map(len, batches)):,} documents, {megabytes:.1f} MB, {len(batches)} batches")
    trees: list[dict[str, object]] = [{"licence": {"deny": ["*NC*"]}}, {"length": {}}, {"symbols": {}}]
    trees += [{"repetition": {}}, {"language": {}}]
    trees += [{kind: {"model": path}} for kind in ("perplexity", "quality") if (path := getattr(options, kind))]
    rules = CleanSettings()
    cleaned = [[clean(one.text, rules, {}) for one in batch] for batch in batches]

    def filtering(chosen: list[dict[str, object]]) -> Callable[[], object]:
        chain = build_filters([FilterSettings.model_validate({**tree, "drop": False}) for tree in chosen])
        return lambda: [chain.apply(batch, texts) for batch, texts in zip(batches, cleaned, strict=True)]

    works = {CLEAN: lambda: [clean(one.text, rules, {}) for batch in batches for one in batch]}
    works |= {next(iter(tree)): filtering([tree]) for tree in trees}
    works["length with sentences"] = filtering([{"length": {"min_sentence_chars": 1}}])
    works[ALL] = filtering(trees)
    rows = []
    for name, work in works.items():
        work()
        rate = megabytes / median_seconds(work, options.repeat)
        rows.append(Row(name, rate, "MB/s", LEAST if name == ALL else None))
    print_rows("filters", rows)
    return 1 if any(row.reached is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
