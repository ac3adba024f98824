"""Precision, recall and F1 of PII detection by type.

    python scripts/score_pii.py [FILE …] [--errors] [--originals]

FILE is JSON Lines, one object a line. Two kinds are known:

* {"text", "spans": [{"start", "end", "type"}]}: a value counts as found where span and type are exact;
* {"text", "pii": [{"type", "text"}]}, as the benchmark ko-pii has: by type and text, position left aside. A gold value
  counts as found where one of ours contains it or is contained in it, each once; labels that Hunmin has no type for
  are left out, and a value that a text repeats counts once.

Without a file, the shared sets (under HUNMIN_SHARED_DATA or ../shared/data: pii/pii_cases.jsonl and
pii/ko_pii/generated_540.jsonl) and tests/data/pii/obfuscated_forms.jsonl are scored, as far as they are there. A table
a file is printed; --errors adds each miss and false alarm with its type and the text around it, masked unless
--originals.
Exit code 1 when precision or recall over all types of a file is below 0.98, 2 when there is nothing to score.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from timing import parser_of

from common.files import open_bytes
from data.pii.detect import Span, find_many
from data.pii.listing import AROUND
from data.pii.type_names import PII_TYPES

FLOOR = 0.98
ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("HUNMIN_SHARED_DATA", ROOT.parent / "shared" / "data")) / "pii"
SETS = (
    SHARED / "pii_cases.jsonl",
    SHARED / "ko_pii" / "generated_540.jsonl",
    ROOT / "tests" / "data" / "pii" / "obfuscated_forms.jsonl",
)
OURS = {
    **{name: name for name in ("ADDRESS", "EMAIL", "RRN", "URL", "CARD", "IP", "DRIVER_LICENSE", "PASSPORT", "FRN")},
    "PHONE": "TEL",
    "ACCOUNT": "BANK_ACCOUNT",
    "BUSINESS_REG": "BRN",
    "VEHICLE": "VEHICLE_PLATE",
    "MEDICAL_INSURANCE": "HEALTH_INSURANCE",
}
"""Label of ko-pii → type."""


def mask(value: str, shown: int = 2) -> str:
    """Return a value of which only the first characters and the form can be read."""
    form = re.sub("[0-9]", "0", re.sub("[a-z]", "x", re.sub("[A-Z]", "X", re.sub("[가-힣]", "가", value[shown:]))))
    return value[:shown] + form


class Marked(NamedTuple):
    """What was right, missed and found for nothing in one text: types, or for errors spans."""

    right: list[str]
    missed: list[Span]
    false: list[Span]


def by_span(case: dict[str, Any], spans: list[Span]) -> Marked:
    """Compare by exact span and type."""
    gold = {Span(s["start"], s["end"], s["type"]) for s in case["spans"]}
    return Marked([span.type for span in gold & set(spans)], sorted(gold - set(spans)), sorted(set(spans) - gold))


def by_text(case: dict[str, Any], spans: list[Span]) -> Marked:
    """Compare by type and text: equal values first, then those that contain one another, each once."""
    text = case["text"]
    gold = dict.fromkeys(
        (OURS[candidate["type"]], candidate["text"]) for candidate in case["pii"] if candidate["type"] in OURS
    )
    left = {(span.type, text[span.start : span.end]): span for span in spans if span.type in OURS.values()}
    right = [(kind, value) for kind, value in gold if left.pop((kind, value), None)]
    missed = []
    for kind, value in gold:
        if (kind, value) in right:
            continue
        near = next(
            (
                candidate
                for candidate in left
                if candidate[0] == kind and (candidate[1] in value or value in candidate[1])
            ),
            None,
        )
        if near:
            del left[near]
            right.append((kind, value))
        else:
            start = max(text.find(value), 0)
            missed.append(Span(start, start + len(value), kind))
    return Marked([kind for kind, _ in right], missed, sorted(left.values()))


def shown(text: str, span: Span, originals: bool) -> str:
    """Return a span with its type and the text around it, masked unless originals are asked for."""
    before = text[max(span.start - AROUND, 0) : span.start]
    after = text[span.end : span.end + AROUND]
    value = text[span.start : span.end]
    if not originals:
        before = re.sub("[0-9]", "0", before)
        value = mask(value, 0)
        after = re.sub("[0-9]", "0", after)
    return f"{span.type} {{}}⟦{{}}⟧{{}}".format(*(part.replace("\n", "⏎") for part in (before, value, after)))


def score(path: str, errors: bool, originals: bool) -> bool:
    """Print one line a type, and errors where asked, and return whether precision and recall are above the floor."""
    right, missed, false = (Counter[str]() for _ in range(3))
    with open_bytes(path) as stream:
        cases = [json.loads(line) for line in stream if line.strip()]
    for case, spans in zip(cases, find_many([case["text"] for case in cases]), strict=True):
        marked = by_text(case, spans) if "pii" in case else by_span(case, spans)
        right.update(marked.right)
        missed.update(span.type for span in marked.missed)
        false.update(span.type for span in marked.false)
        if errors:
            for label, wrong in (("missed", marked.missed), ("false alarm", marked.false)):
                for span in wrong:
                    print(f"{label}: {shown(case['text'], span, originals)}")

    print(f"{path}: {len(cases)} texts")
    print(f"{'type':<18}{'gold':>6}{'found':>7}{'precision':>11}{'recall':>8}{'F1':>7}")
    for name in (*PII_TYPES, "all"):
        tp, fn, fp = ((sum(c.values()) if name == "all" else c[name]) for c in (right, missed, false))
        precision, recall = tp / max(tp + fp, 1), tp / max(tp + fn, 1)
        f1 = 2 * tp / max(2 * tp + fp + fn, 1)
        print(f"{name:<18}{tp + fn:>6}{tp + fp:>7}{precision:>11.3f}{recall:>8.3f}{f1:>7.3f}")
    return min(precision, recall) >= FLOOR


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("files", nargs="*", help="JSON Lines with text and spans, or text and pii")
    parser.add_argument("--errors", action="store_true", help="print each miss and false alarm, masked")
    parser.add_argument("--originals", action="store_true", help="with --errors: print values as they are")
    arguments = parser.parse_args()
    files = arguments.files or [str(path) for path in SETS if path.exists()]
    if not files:
        print("no file given, and none of the usual sets is here", file=sys.stderr)
        return 2
    return 0 if sum(score(path, arguments.errors, arguments.originals) for path in files) == len(files) else 1


if __name__ == "__main__":
    sys.exit(main())
