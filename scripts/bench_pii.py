"""MB/s of PII detection on one core: the gated path beside the 16 exact patterns one by one, and the gate's soundness.

Usage: python scripts/bench_pii.py FILE [FILE …] [--megabytes N] [--repeat N]     (100 MB: about two minutes)
FILE is JSON Lines with a field "text" (.gz, .bz2, .xz and .zst are opened). What is counted: bytes of UTF-8 text;
processor seconds of this process. Reading and JSON parsing are not counted. Soundness: every span that the exact
patterns find without the gate is found with it, or is covered by one of the folded text; exit code 1 if not.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable

from list_pii import read

from data.pii import Pseudonymizer, Span, find_many
from data.pii.detect import scan


def seconds(work: Callable[[], object], repeat: int) -> float:
    """Return the median processor seconds of `repeat` runs."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="JSON Lines with a field text")
    parser.add_argument("--megabytes", type=float, default=20, help="how much text (default 20)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of the gated paths, the median counts (default 3)")
    arguments = parser.parse_args()
    texts = [text for some in read(arguments.files, arguments.megabytes * 1e6).values() for text in some]
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)

    pseudonymizer = Pseudonymizer(b"a key for measuring only")
    gated = seconds(lambda: find_many(texts), arguments.repeat)
    applied = seconds(lambda: pseudonymizer.apply_many(texts), arguments.repeat)
    start = time.process_time()
    exact: list[list[Span]] = [scan(text, 0, len(text)) for text in texts]
    ungated = time.process_time() - start

    found = find_many(texts)
    lost = sum(
        not any(one.start <= span.start and span.end <= one.end for one in spans)
        for without, spans in zip(exact, found, strict=True)
        for span in without
    )
    extra = sum(len(set(spans) - set(without)) for without, spans in zip(exact, found, strict=True))
    print(f"text: {size / 1e6:.1f} MB in {len(texts)} documents; one core")
    print(f"gate + exact patterns on what it lets through   {size / gated / 1e6:7.1f} MB/s")
    print(f"the same, and replaced by pseudonyms            {size / applied / 1e6:7.1f} MB/s")
    print(f"16 exact patterns with re, one by one           {size / ungated / 1e6:7.1f} MB/s")
    spans = sum(map(len, exact))
    print(f"soundness: {spans} spans without the gate, {lost} lost with it; {extra} found folded, or written otherwise")
    counts = Counter(span.type for spans in found for span in spans)
    print("found:", ", ".join(f"{name} {count}" for name, count in counts.most_common()) or "nothing")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
