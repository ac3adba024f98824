"""Recall of PII detection by kind, on texts drawn from a grammar that does not know the detector's patterns.

    python scripts/draw_pii.py [--texts 60000] [--seed 42] [--out FILE] [--errors 3] [--only TYPE/FORM]

Each text is drawn from forms (how a value is written) × carriers (what kind of text it is in) × habits (what its writer
puts around it), with invented values and spans known by construction; one text in five holds none. Printed: a table by
type; the kinds below 0.99, a kind being a type with a form, a carrier or a habit; false alarms in texts without any, by
kind. --errors prints so many errors of each such kind. --out writes the texts as JSON Lines that score_pii.py reads,
with `form`, `habit` and `within` (the widest span that is right) in each span.

A value counts as found where spans of its type hold its first and last letter or digit and all that identifies, and no
letter or digit outside `within`. These conventions therefore make no difference: brackets and blanks around a value, an
extension, a port, a network's prefix, stars of a masked tail, a postal code before an address, a town or a building's
name behind it, one span or two for a range. `exact` counts spans as they are written down. `in clear` counts values of
which something identifying is in no span of any type: digits, and letters in mail, pages, handles, machines, passports
and plates.
A kind's recall is an estimate: beside it stands the upper end of its 95% Wilson interval, and `?` where that reaches
0.99, so that so few values do not tell. --only draws more of one form.
Exit code 1 when a type has a recall below 0.99, when a kind's upper end is, or when one text in a hundred without
personal data has a false alarm.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter, defaultdict
from typing import Any

from pii_grammar.addresses import ADDRESSES
from pii_grammar.carriers import CARRIERS, SOLO
from pii_grammar.fits import carrier_fits, item_of
from pii_grammar.hosts import HOST_FORMS
from pii_grammar.marks import Page, identifying, unmarked
from pii_grammar.negatives import FRAMES, LOOKALIKES, of_kind
from pii_grammar.numbers import NUMBERS
from pii_grammar.writers import Form
from score_pii import by_span, shown
from timing import parser_of

from common.files import atomic_write
from data.pii.detect import Span, find_many
from data.pii.type_names import PII_TYPES

FLOOR, DEVIATIONS = 0.99, 1.96
FORMS = [*NUMBERS, *HOST_FORMS, *ADDRESSES]
BESIDE = {
    *("TEL/mobile hyphen", "TEL/landline hyphen", "RRN/hyphen", "FRN/hyphen", "EMAIL/usual", "URL/https", "IP/v4"),
    *("MAC/colon", "MENTION/digits", "ADDRESS/road", "BANK_ACCOUNT/bank hyphen", "PASSPORT/old", "BRN/hyphen"),
    *("DRIVER_LICENSE/hyphen", "HEALTH_INSURANCE/hyphen", "CARD/hyphen", "VEHICLE_PLATE/two digits"),
}
ORDINARY = [form for form in FORMS if "/".join(form.kind) in BESIDE]
"""Forms that stand beside a value that is looked at."""
WITHOUT = 5
"""One text in so many holds no personal data."""


def drawn(seed: int, number: int, forms: list[Form]) -> dict[str, Any]:
    """Return the n-th text of a seed: text, spans, kind and carrier."""
    rng = random.Random(f"{seed}:{number}")
    if number % WITHOUT == 0:
        kind = rng.choice(sorted(LOOKALIKES))
        frame = rng.choice(sorted(FRAMES))
        return {
            "text": FRAMES[frame](of_kind(kind, rng), rng),
            "spans": [],
            "kind": kind,
            "carrier": frame,
            "habit": "",
        }
    page = Page(f"{seed}:{number}:page")
    form = forms[(number - number // WITHOUT - 1) % len(forms)]
    value = form.write(page)
    carrier = rng.choice([name for name in CARRIERS if carrier_fits(name, form, unmarked(value))])
    items = [item_of(page, form, value, carrier, plain=0.5)]
    if carrier not in SOLO and rng.random() < 0.5:
        others = [other for other in ORDINARY if carrier_fits(carrier, other, "") and other.kind.type != form.kind.type]
        for other in rng.sample(others, min(len(others), rng.randint(1, 2))):
            item = item_of(page, other, other.write(page), carrier, plain=0.7)
            items.insert(rng.randint(0, len(items)), item)
    text, spans = page.finish(CARRIERS[carrier](page, items))
    return {"text": text, "spans": spans, "kind": "/".join(form.kind), "carrier": carrier}


class Count:
    """Values of one kind: how many there are, were found, were found exactly, and are left in clear."""

    def __init__(self) -> None:
        self.gold = self.right = self.exact = self.clear = self.false = 0

    @property
    def recall(self) -> float:
        """Return the share that was found."""
        return self.right / max(self.gold, 1)

    @property
    def upper(self) -> float:
        """Return the upper end of the 95% Wilson interval of the recall."""
        share = DEVIATIONS**2 / max(self.gold, 1)
        spread = (share * (self.recall * (1 - self.recall) + share / 4)) ** 0.5
        return (self.recall + share / 2 + spread) / (1 + share)


def matched(text: str, span: dict[str, Any], spans: list[Span]) -> list[Span]:
    """Return the spans that make a value found; none where they do not."""
    first, last = span["within"]
    pieces = [hit for hit in spans if hit.type == span["type"] and hit.start < span["end"] and span["start"] < hit.end]
    places = [place for place in range(span["start"], span["end"]) if text[place].isalnum()]
    needed = {places[0], places[-1], *identifying(text, span)}
    covered = {place for hit in pieces for place in range(hit.start, hit.end)}
    fits = not any(text[place].isalnum() for place in covered if not first <= place < last)
    return pieces if fits and needed <= covered else []


class Scores:
    """Counts over texts, by type and by kind, and examples of errors."""

    def __init__(self) -> None:
        self.types: dict[str, Count] = defaultdict(Count)
        self.kinds: dict[tuple[str, str, str], Count] = defaultdict(Count)
        self.alarms: dict[str, list[str]] = defaultdict(list)
        self.without: Counter[str] = Counter()
        self.examples: dict[tuple[str, str, str], list[str]] = defaultdict(list)

    def add(self, case: dict[str, Any], hits: list[Span]) -> None:
        text = case["text"]
        if not case["spans"]:
            self.without[case["kind"]] += 1
            self.alarms[case["kind"]] += [shown(text, span, True) for span in hits]
            return
        covered = {place for span in hits for place in range(span.start, span.end)}
        marked = by_span(case, hits)
        false = set(marked.false)
        for span in case["spans"]:
            gold = Span(span["start"], span["end"], span["type"])
            pieces = matched(text, span, hits)
            false -= set(pieces)
            axes = (("form", span["form"]), ("carrier", case["carrier"]), ("habit", span["habit"]))
            counts = [self.types[span["type"]], *(self.kinds[span["type"], axis, name] for axis, name in axes)]
            for count in counts:
                count.gold += 1
                count.right += bool(pieces)
                count.exact += gold not in marked.missed
                count.clear += any(place not in covered for place in identifying(text, span))
            if not pieces:
                near = [
                    f"{hit.type} {text[hit.start : hit.end]!r}"
                    for hit in hits
                    if hit.start < gold.end and gold.start < hit.end
                ]
                for axis, name in axes:
                    self.examples[span["type"], axis, name].append(
                        f"{shown(text, gold, True)}   got: {', '.join(near) or '-'}"
                    )
        for hit in false:
            self.types[hit.type].false += 1


def print_scores(scores: Scores, errors: int) -> bool:
    """Print the tables and return whether every type and every kind that has values enough is above the floor."""
    print(f"{'type':<18}{'values':>7}{'precision':>11}{'recall':>8}{'exact':>7}{'in clear':>10}")
    total = Count()
    for name in PII_TYPES:
        count = scores.types[name]
        for field in vars(total):
            setattr(total, field, getattr(total, field) + getattr(count, field))
    for name, count in (*((name, scores.types[name]) for name in PII_TYPES if scores.types[name].gold), ("all", total)):
        precision = count.right / max(count.right + count.false, 1)
        exact = count.exact / max(count.gold, 1)
        print(f"{name:<18}{count.gold:>7}{precision:>11.3f}{count.recall:>8.3f}{exact:>7.3f}{count.clear:>10}")
    low = sorted((key for key, count in scores.kinds.items() if count.recall < FLOOR), key=lambda key: (key[1], key))
    print(f"\nkinds below {FLOOR} ({len(low)} of {len(scores.kinds)})")
    for key in low:
        count = scores.kinds[key]
        print(
            f"{key[0]:<18}{key[1]:<9}{key[2]:<48}{count.gold:>6}{count.recall:>7.3f}"
            f" to {count.upper:.3f}{'?' if count.upper >= FLOOR else ' '}{count.clear:>5} in clear"
        )
        if key[1] == "form":
            for example in scores.examples[key][:errors]:
                print(f"    {example}")
    texts = sum(scores.without.values())
    print(f"\nfalse alarms in {texts} texts without personal data: {sum(map(len, scores.alarms.values()))}")
    for kind, alarms in sorted(scores.alarms.items()):
        if alarms:
            print(f"{kind:<48}{len(alarms):>6} in {scores.without[kind]} texts")
            for alarm in dict.fromkeys(alarms[:errors]):
                print(f"    {alarm}")
    many = [key for key in low if scores.kinds[key].upper < FLOOR]
    recalled = not many and all(count.recall >= FLOOR for count in scores.types.values() if count.gold)
    return recalled and sum(map(len, scores.alarms.values())) <= (1 - FLOOR) * texts


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--texts", type=int, default=60000, help="how many texts (default 60000)")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--out", help="write the texts to this file")
    parser.add_argument("--errors", type=int, default=0, help="errors printed of each kind (default 0)")
    parser.add_argument("--only", default="", help="only forms whose TYPE/FORM begins so")
    options = parser.parse_args()
    forms = [form for form in FORMS if "/".join(form.kind).startswith(options.only)]
    if not forms:
        print(f"no form begins with {options.only!r}", file=sys.stderr)
        return 2
    cases = [drawn(options.seed, number, forms) for number in range(options.texts)]
    if options.out:
        with atomic_write(options.out, as_given=True) as stream:
            stream.writelines(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
    scores = Scores()
    for case, hits in zip(cases, find_many([case["text"] for case in cases]), strict=True):
        scores.add(case, hits)
    return 0 if print_scores(scores, options.errors) else 1


if __name__ == "__main__":
    sys.exit(main())
