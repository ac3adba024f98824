"""What filters take from a corpus: a table of filter by source, how the measures spread, and samples to read.

    python scripts/check_filters.py CORPUS … [--filters YAML] [--samples 3] [--spread] [--documents 20000]

CORPUS: files or folders as in corpus.inputs. YAML: a list as in corpus.filters, or a file with one; by default every
filter that needs no model, with its defaults. Samples are printed as they are, personal data and all: they are for the
eyes of who has the corpus.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import yaml

from common.settings import parse_settings
from data.cleaning import CleanSettings, clean
from data.corpus import CorpusSettings
from data.filter_models.texts import documents_of_file
from data.filters import FilterChain, build_filters, column_of
from data.readers import Document, list_files

DEFAULTS = "[{length: }, {symbols: }, {repetition: }, {language: }]"
QUANTILES = (0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999)
SHOWN = 300
"""Characters of a sample that are printed."""


def documents_of(inputs: list[str], most: int) -> Iterator[tuple[str, list[Document]]]:
    """Yield (file, documents) with their text cleaned, evenly chosen where a file holds more than `most`."""
    rules = CleanSettings()
    for file in list_files(inputs):
        found = documents_of_file(file)
        chosen = found[:: -(-len(found) // most)] if found else []
        yield file.label, [document._replace(text=clean(document.text, rules, {})) for document in chosen]


def chain_of(text: str, drop: bool) -> FilterChain:
    """Return the filters that a YAML list names."""
    tree = yaml.safe_load(text)
    settings = parse_settings(CorpusSettings, {"inputs": ["-"], "filters": tree}, "--filters")
    return build_filters([one if drop else one.model_copy(update={"drop": False}) for one in settings.filters])


def main() -> None:
    """Parse the arguments, filter, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--filters", default=DEFAULTS)
    parser.add_argument("--samples", type=int, default=0, help="samples of what each measure drops")
    parser.add_argument("--spread", action="store_true", help="quantiles of each measure over all documents")
    parser.add_argument("--documents", type=int, default=20_000, help="most documents of a file (default 20000)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    text = Path(options.filters).read_text("utf-8") if Path(options.filters).is_file() else options.filters
    chain, open_chain = chain_of(text, drop=True), chain_of(text, drop=False)
    measures = [(step.title, measure.name) for step in chain.steps for measure in step.filter.measures]
    drawn: dict[tuple[str, str], list[str]] = {pair: [] for pair in measures}
    spread: dict[str, list[np.ndarray]] = {}
    titles = [step.title for step in chain.steps]
    print(f"| source | documents | M characters | {' | '.join(titles)} | all | characters |")
    print(f"|---|{'--:|' * (len(titles) + 4)}")
    sums = np.zeros(len(titles) + 4)
    draw = random.Random(options.seed)
    for label, documents in documents_of(options.corpora, options.documents):
        documents = [document for document in documents if document.text]
        texts = {document.id: document.text for document in documents}
        found = chain.apply(documents, [document.text for document in documents])
        counts = [sum(one["filter"] == title for one in found.dropped) for title in titles]
        characters = sum(map(len, texts.values()))
        lost = sum(len(texts[one["id"]]) for one in found.dropped)
        sums += np.array([len(documents), characters, *counts, len(found.dropped), lost])
        print(row(label, len(documents), characters, counts, lost), flush=True)
        for one in found.dropped:
            shown = texts[one["id"]][:SHOWN].replace("\n", " ⏎ ")
            drawn[one["filter"], one["measure"]].append(f"{label} {one['score']:.3f}  {shown}")
        if options.spread:
            for name, values in open_chain.apply(documents, [one.text for one in documents]).scores.items():
                spread.setdefault(name, []).append(values)
    print(row("all", int(sums[0]), int(sums[1]), [int(n) for n in sums[2:-2]], int(sums[-1])))
    if options.spread:
        print(f"\n| measure | {' | '.join(f'{q:.1%}' for q in QUANTILES)} |\n|---|{'--:|' * len(QUANTILES)}")
        for name, arrays in spread.items():
            values = np.nanquantile(np.concatenate(arrays), QUANTILES)  # no number: a document that is not judged
            print(f"| {name} | {' | '.join(f'{value:.3g}' for value in values)} |")
    for pair, samples in drawn.items():
        if samples and options.samples:
            print(f"\n{column_of(*pair)}: {len(samples)}")
            for sample in draw.sample(samples, min(options.samples, len(samples))):
                print(f"  {sample}")


def row(label: str, documents: int, characters: int, counts: list[int], lost: int) -> str:
    """Return a row of the table: shares of the documents, and of the characters."""
    shares = [f"{count / max(documents, 1):.1%}" if count else "" for count in [*counts, sum(counts)]]
    return (
        f"| {label} | {documents:,} | {characters / 1e6:.1f} | {' | '.join(shares)} | {lost / max(characters, 1):.1%} |"
    )


if __name__ == "__main__":
    main()
