"""Measure the sentence splitter: boundary F1 on treebank sentences re-joined by spaces, and MB/s.

    python scripts/bench_splitter.py ko_gsd-ud-dev.conllu [MORE.conllu …] [--speed-on TEXT] [--errors N]

A CoNLL-U file gives its `# text` lines; they are joined by single spaces into running text of 20 sentences, which is
split again. A boundary is a position between two non-space characters; the end of a text does not count.
"""

from __future__ import annotations

import argparse
import time
from itertools import accumulate
from pathlib import Path

from data.splitting import split_sentences

GROUP = 20


def boundaries(sentences: list[str]) -> set[int]:
    """Return the positions, in non-space characters, at which one sentence gives way to the next."""
    return set(list(accumulate(len("".join(s.split())) for s in sentences))[:-1])


def measure(path: Path, errors: int) -> None:
    """Print precision, recall and F1 over one file."""
    gold = [line[9:].strip() for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("# text = ")]
    hits = found = true = 0
    missed: list[str] = []
    invented: list[str] = []
    for first in range(0, len(gold), GROUP):
        group = gold[first : first + GROUP]
        text = " ".join(group)
        split = split_sentences(text)
        expected, got = boundaries(group), boundaries(split)
        hits, found, true = hits + len(expected & got), found + len(got), true + len(expected)
        solid = "".join(text.split())
        missed += [f"{solid[max(0, p - 15) : p]} | {solid[p : p + 10]}" for p in sorted(expected - got)]
        invented += [f"{solid[max(0, p - 15) : p]} | {solid[p : p + 10]}" for p in sorted(got - expected)]
    precision, recall = hits / max(found, 1), hits / max(true, 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    print(f"{path.name}: {len(gold)} sentences, precision {precision:.4f}, recall {recall:.4f}, F1 {f1:.4f}")
    for title, items in (("missed", missed), ("invented", invented)):
        for item in items[:: max(1, len(items) // errors)][:errors] if errors else []:
            print(f"  {title}: {item}")


def speed(path: Path) -> None:
    """Print MB/s of one core over a text file, median of three."""
    text = path.read_text(encoding="utf-8")
    size, times = len(text.encode()), []
    for _ in range(3):
        began = time.perf_counter()
        count = len(split_sentences(text))
        times.append(time.perf_counter() - began)
    print(f"{path.name}: {size / 1e6:.1f} MB, {count} sentences, {size / 1e6 / sorted(times)[1]:.1f} MB/s")


def main() -> None:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebanks", nargs="*", type=Path)
    parser.add_argument("--speed-on", type=Path)
    parser.add_argument("--errors", type=int, default=0, help="print as many errors of each kind")
    arguments = parser.parse_args()
    for path in arguments.treebanks:
        measure(path, arguments.errors)
    if arguments.speed_on:
        speed(arguments.speed_on)


if __name__ == "__main__":
    main()
