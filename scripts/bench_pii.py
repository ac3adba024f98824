"""MB/s of PII detection on one core: the gated path beside the 16 exact patterns one by one, and the gate's soundness.

    python scripts/bench_pii.py FILE [FILE …] [--megabytes N] [--repeat N]

FILE is JSON Lines with a field "text" (.gz, .bz2, .xz and .zst are opened). What is counted: bytes of UTF-8 text;
processor seconds of this process. Reading and JSON parsing are not counted. Soundness: every span that the exact
patterns find without the gate is found with it, or is covered by one of the folded text; exit code 1 if not.
"""

from __future__ import annotations

import sys
from collections import Counter

from list_pii import read
from timing import Row, hardware, median_seconds, parser_of, print_rows

from data.pii import Pseudonymizer, find_many
from data.pii.detect import scan


def main() -> int:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("files", nargs="+", help="JSON Lines with a field text")
    parser.add_argument("--megabytes", type=float, default=20, help="how much text (default 20)")
    parser.add_argument("--repeat", type=int, default=3, help="runs, the median counts (default 3)")
    options = parser.parse_args()
    texts = [text for some in read(options.files, options.megabytes * 1e6).values() for text in some]
    megabytes = sum(len(text.encode("utf-8", "replace")) for text in texts) / 1e6
    print(f"{hardware()}\n{megabytes:.1f} MB in {len(texts):,} documents")
    pseudonymizer = Pseudonymizer(b"a key for measuring only")
    works = {
        "gate + exact patterns on what it lets through": lambda: find_many(texts),
        "the same, and replaced by pseudonyms": lambda: pseudonymizer.apply_many(texts),
        "16 exact patterns with re, one by one": lambda: [scan(text, 0, len(text)) for text in texts],
    }
    seconds = {name: median_seconds(work, options.repeat) for name, work in works.items()}
    exact, found = [scan(text, 0, len(text)) for text in texts], find_many(texts)
    lost = sum(
        not any(one.start <= span.start and span.end <= one.end for one in spans)
        for without, spans in zip(exact, found, strict=True)
        for span in without
    )
    extra = sum(len(set(spans) - set(without)) for without, spans in zip(exact, found, strict=True))
    note = f"of {sum(map(len, exact)):,}; {extra:,} found folded, or written otherwise"
    rows = [Row(name, megabytes / spent, "MB/s") for name, spent in seconds.items()]
    print_rows("one core", [*rows, Row("spans lost by the gate", lost, "", 0, most=True, note=note)])
    counts = Counter(span.type for spans in found for span in spans)
    print("found:", ", ".join(f"{name} {count}" for name, count in counts.most_common()) or "nothing")
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
