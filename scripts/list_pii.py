"""The personal data found in a text, type by type, to be read by a person who judges the detectors.

    python scripts/list_pii.py FILE [FILE ...] [--megabytes 100] [--sample 20] [--type TYPE ...] [--originals]

FILE is JSON Lines with "text" (.gz, .bz2, .xz, .zst too). Printed to the terminal: for each type how many spans, how
many distinct values, from which files, and a seeded sample, each with a little of the text around it. The sample is
masked: letters become x or 가, digits 0, but for the first two characters of a value. --originals prints them as they
are, which is the only way to judge some of them; it is meant for a screen, and nothing is written to a file.
"""

from __future__ import annotations

import random
import re
import sys
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import accumulate

import orjson
from timing import parser_of

from common.compressed import decompression_errors
from common.files import open_bytes
from data.pii import PII_TYPES, Span, find_many
from data.readers import stem

AROUND = 24
"""Characters of text shown on each side."""
BATCH = 2000
"""Texts searched together."""


def read(paths: list[str], limit: float) -> dict[str, list[str]]:
    """Return file → texts, at most `limit` bytes in all and as many from each file where it has them."""
    texts: dict[str, list[str]] = {}
    for path in paths:
        with decompression_errors(path), open_bytes(path) as stream:
            texts[stem(path)] = [orjson.loads(line)["text"] for line in stream]
    sizes = {
        name: list(accumulate(len(text.encode("utf-8", "replace")) for text in some)) for name, some in texts.items()
    }
    for number, name in enumerate(sorted(sizes, key=lambda name: sizes[name][-1:])):
        count = bisect_left(sizes[name], limit / (len(sizes) - number)) + 1
        texts[name] = texts[name][:count]
        limit -= sum(sizes[name][:count][-1:])
    return texts


def mask(value: str, kept: int = 2) -> str:
    """Return a value of which only the first characters and the form can be read."""
    form = re.sub("[0-9]", "0", re.sub("[a-z]", "x", re.sub("[A-Z]", "X", re.sub("[가-힣]", "가", value[kept:]))))
    return value[:kept] + form


def located(texts: list[str]) -> Iterator[tuple[str, Span]]:
    """Yield each span found with its text."""
    return ((text, span) for text, spans in zip(texts, find_many(texts), strict=True) for span in spans)


def main() -> int:
    """Search and print."""
    parser = parser_of(__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--megabytes", type=float, default=100, help="how much text (default 100)")
    parser.add_argument("--sample", type=int, default=20, help="samples of each type (default 20)")
    parser.add_argument("--type", nargs="*", choices=PII_TYPES, default=PII_TYPES, help="types to list (default all)")
    parser.add_argument("--originals", action="store_true", help="print values and text as they are")
    parser.add_argument("--seed", type=int, default=42)
    options = parser.parse_args()

    spans: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    size = documents = 0
    for name, texts in read(options.files, options.megabytes * 1e6).items():
        size, documents = size + sum(len(text.encode("utf-8", "replace")) for text in texts), documents + len(texts)
        found = (pair for at in range(0, len(texts), BATCH) for pair in located(texts[at : at + BATCH]))
        for text, (first, last, kind) in found:
            before, after = text[max(first - AROUND, 0) : first], text[last : last + AROUND]
            spans[kind].append((name, before, text[first:last], after))
    print(f"{size / 1e6:.1f} MB in {documents:,} documents; {sum(map(len, spans.values())):,} spans")
    for kind in options.type:
        rows = spans[kind]
        files = ", ".join(f"{name} {count}" for name, count in Counter(row[0] for row in rows).most_common(6))
        print(f"\n{kind}: {len(rows):,} spans, {len({row[2] for row in rows}):,} distinct; {files or 'nowhere'}")
        for name, before, value, after in random.Random(options.seed).sample(rows, min(options.sample, len(rows))):
            parts = (before, value, after) if options.originals else (mask(before, 0), mask(value), mask(after, 0))
            line = "{}⟦{}⟧{}".format(*parts).replace("\n", "⏎")
            print(f"  {name:20} {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
