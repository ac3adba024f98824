"""Precision, recall and F1 of PII detection by exact span and type.

Usage: python scripts/score_pii.py FILE
FILE is JSON Lines, one object a line: {"text": …, "spans": [{"start", "end", "type"}]}. Every miss and false alarm
is printed. Exit code 1 when precision or recall over all types is below 0.98.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter

from common.files import open_bytes
from data.pii import PII_TYPES, Span, find_spans


def main() -> int:
    """Score the file, print errors and one line a type, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="JSON Lines with text and spans")
    arguments = parser.parse_args()

    right: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    false: Counter[str] = Counter()
    with open_bytes(arguments.file) as stream:
        for line in stream:
            case = json.loads(line)
            gold = {Span(s["start"], s["end"], s["type"]) for s in case["spans"]}
            found = set(find_spans(case["text"]))
            right.update(span.type for span in gold & found)
            missed.update(span.type for span in gold - found)
            false.update(span.type for span in found - gold)
            for label, spans in (("missed", gold - found), ("false alarm", found - gold)):
                for start, end, name in sorted(spans):
                    print(f"{label}: {name} {case['text'][start:end]!r} in {case['text']!r}")

    print(f"{'type':<18}{'gold':>6}{'found':>7}{'precision':>11}{'recall':>8}{'F1':>7}")
    for name in (*PII_TYPES, "all"):
        tp, fn, fp = ((sum(c.values()) if name == "all" else c[name]) for c in (right, missed, false))
        precision, recall = tp / max(tp + fp, 1), tp / max(tp + fn, 1)
        f1 = 2 * tp / max(2 * tp + fp + fn, 1)
        print(f"{name:<18}{tp + fn:>6}{tp + fp:>7}{precision:>11.3f}{recall:>8.3f}{f1:>7.3f}")
    return 0 if min(precision, recall) >= 0.98 else 1


if __name__ == "__main__":
    sys.exit(main())
