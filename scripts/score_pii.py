"""Precision, recall and F1 of PII detection by exact span and type.

Usage: python scripts/score_pii.py [FILE …] [--quiet]
FILE is JSON Lines, one object a line: {"text": …, "spans": [{"start", "end", "type"}]}. Without one, the shared cases
(under HUNMIN_SHARED_DATA or ../shared/data, pii/pii_cases.jsonl) and tests/data/pii/obfuscated_forms.jsonl are scored,
as far as they are there. Every miss and false alarm is printed, then a table a file. Exit code 1 when precision or
recall over all types of a file is below 0.98, 2 when there is nothing to score.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path

from common.files import open_bytes
from data.pii import PII_TYPES, Span, find_many

FLOOR = 0.98
ROOT = Path(__file__).parents[1]
SETS = (
    Path(os.environ.get("HUNMIN_SHARED_DATA", ROOT.parent / "shared" / "data")) / "pii" / "pii_cases.jsonl",
    ROOT / "tests" / "data" / "pii" / "obfuscated_forms.jsonl",
)


def score(path: str, quiet: bool) -> bool:
    """Print errors and one line a type, and return whether precision and recall are above the floor."""
    right: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    false: Counter[str] = Counter()
    with open_bytes(path) as stream:
        cases = [json.loads(line) for line in stream if line.strip()]
    for case, spans in zip(cases, find_many([case["text"] for case in cases]), strict=True):
        gold = {Span(s["start"], s["end"], s["type"]) for s in case["spans"]}
        found = set(spans)
        right.update(span.type for span in gold & found)
        missed.update(span.type for span in gold - found)
        false.update(span.type for span in found - gold)
        for label, wrong in (("missed", gold - found), ("false alarm", found - gold)):
            for start, end, name in () if quiet else sorted(wrong):
                print(f"{label}: {name} {case['text'][start:end]!r} in {case['text']!r}")

    print(f"{path}: {len(cases)} texts")
    print(f"{'type':<18}{'gold':>6}{'found':>7}{'precision':>11}{'recall':>8}{'F1':>7}")
    for name in (*PII_TYPES, "all"):
        tp, fn, fp = ((sum(c.values()) if name == "all" else c[name]) for c in (right, missed, false))
        precision, recall = tp / max(tp + fp, 1), tp / max(tp + fn, 1)
        f1 = 2 * tp / max(2 * tp + fp + fn, 1)
        print(f"{name:<18}{tp + fn:>6}{tp + fp:>7}{precision:>11.3f}{recall:>8.3f}{f1:>7.3f}")
    return min(precision, recall) >= FLOOR


def main() -> int:
    """Score the files and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="JSON Lines with text and spans")
    parser.add_argument("--quiet", action="store_true", help="print the tables alone")
    arguments = parser.parse_args()
    files = arguments.files or [str(path) for path in SETS if path.exists()]
    if not files:
        print("no file given, and none of the usual sets is here", file=sys.stderr)
        return 2
    return 0 if sum(score(path, arguments.quiet) for path in files) == len(files) else 1


if __name__ == "__main__":
    sys.exit(main())
