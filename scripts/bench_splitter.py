"""Measure the sentence splitter beside kiwipiepy and kss: agreement with treebanks, speed, characters lost, hard cases.

    python scripts/bench_splitter.py ko_gsd-ud-dev.conllu [MORE …] [--without FILE …] [--no-peers]

A CoNLL-U file gives its `# text` lines, any other file its lines. 20 sentences at a time are joined by single spaces
into running text, which every tool splits again.

A boundary is the end of a sentence but the last, as an offset into the text without its white space; this holds for
the treebank and for every tool. A tool that gives strings is aligned by finding each in turn; what is skipped is lost.
The tools see the same texts: the whole file, or, where it is longer than --peer-sentences, every k-th text of it, and
then Hunmin is measured on the whole file as well. Rates are UTF-8 bytes a second of CPU time on one core.

The rules were tuned on GSD train, Kaist train, the first half of KSL and unpunctuated chat. `--without` leaves out the
sentences that a file tuned on holds too: 97% of the Kaist dev file's are in what is called Kaist train here.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from pathlib import Path

from timing import hardware, number, parser_of, time_limit

from data.splitting import split_sentences

GROUP = 20
CASES = Path(__file__).parents[1] / "tests" / "data" / "splitting_cases.txt"
CALL_SECONDS = 20
"""A call of a peer that takes longer is given up."""
Split = Callable[[str], list[str]]
HEAD = "| tool | precision | recall | F1 | MB/s | lost |\n|---|---|---|---|---|---|"


def kiwi() -> Split:
    """Return kiwipiepy's splitter, on one thread."""
    from kiwipiepy import Kiwi

    tool = Kiwi(num_workers=1)
    return lambda text: [text[one.start : one.end] for one in tool.split_into_sents(text)]


def kss(backend: str) -> Split:
    """Return the splitter of kss with a backend, on one thread."""
    from kss import split_sentences as split

    logging.disable(logging.WARNING)
    split("시작했다. 끝났다.", backend=backend, num_workers=1)
    return partial(split, backend=backend, num_workers=1)


PEERS: dict[str, Callable[[], Split]] = {
    "kiwipiepy": kiwi,
    "kss mecab": partial(kss, "mecab"),
    "kss fast": partial(kss, "fast"),
}


def splitters(peers: bool) -> dict[str, Split]:
    """Return the splitters by name; one that cannot be had is named with the reason."""
    found: dict[str, Split] = {"hunmin": split_sentences}
    for name, prepare in PEERS.items() if peers else ():
        try:
            found[name] = prepare()
        except Exception as error:  # a peer may fail in any way
            print(f"{name} is left out: {type(error).__name__}: {error}")
    return found


def sentences_of(path: Path) -> list[str]:
    """Return the sentences of a treebank file: `# text` lines, or plain lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.suffix == ".conllu":
        lines = [line[9:] for line in lines if line.startswith("# text = ")]
    return [line.strip() for line in lines if line.strip()]


def solid(text: str) -> str:
    """Return the text without its white space."""
    return "".join(text.split())


def boundaries(text: str, sentences: list[str]) -> tuple[set[int], int]:
    """Return the ends of all sentences but the last in the text without white space, and the characters lost."""
    stream, ends, at, kept = solid(text), set(), 0, 0
    for sentence in map(solid, sentences):
        found = stream.find(sentence, at)
        if sentence and found >= 0:
            at, kept = found + len(sentence), kept + len(sentence)
            ends.add(at)
    return ends - {len(stream)}, len(stream) - kept


def measure(name: str, split: Split, groups: list[list[str]]) -> str:
    """Return the row of a splitter over groups of sentences."""
    texts = [" ".join(group) for group in groups]
    results, began = [], time.process_time()
    try:
        for text in texts:
            with time_limit(CALL_SECONDS):
                results.append(split(text))
    except Exception as error:  # a peer may fail in any way
        return f"| {name} | failed: {type(error).__name__}: {error} | | | | |"
    seconds = time.process_time() - began
    hits = found = true = lost = 0
    for text, group, result in zip(texts, groups, results, strict=True):
        (expected, _), (got, missing) = boundaries(text, group), boundaries(text, result)
        hits, found, true, lost = hits + len(expected & got), found + len(got), true + len(expected), lost + missing
    shares = [hits / max(found, 1), hits / max(true, 1), 2 * hits / max(found + true, 1)]
    rate = number(sum(len(text.encode()) for text in texts) / 1e6 / seconds)
    return f"| {name} | {' | '.join(f'{share:.4f}' for share in shares)} | {rate} | {lost} |"


def treebank(path: Path, seen: set[str], tools: dict[str, Split], peer_sentences: int) -> None:
    """Print the table of one treebank file, without the sentences seen in tuning."""
    sentences = [sentence for sentence in sentences_of(path) if sentence not in seen]
    groups = [sentences[first : first + GROUP] for first in range(0, len(sentences), GROUP)]
    step = max(1, -(-len(sentences) // peer_sentences)) if len(tools) > 1 else 1
    sample = groups[::step]
    print(f"\n{path.name}: {len(sentences)} sentences, {sum(map(len, sample))} of them for every tool\n{HEAD}")
    for name, split in tools.items():
        print(measure(name, split, sample), flush=True)
    if step > 1:
        print(measure("hunmin, whole file", split_sentences, groups))


def cases(tools: dict[str, Split]) -> None:
    """Print the share of the hard cases that each tool splits exactly as marked, by category."""
    by_category: dict[str, list[list[str]]] = {}
    for line in CASES.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            category = by_category.setdefault(line[2:], [])
        elif line:
            category.append(line.replace("⏎", "\n").split("¦"))
    print(f"\nhard cases split exactly\n| category | cases | {' | '.join(tools)} |\n|---|---|{'---|' * len(tools)}")
    rows = {title: [sum(agrees(split, parts) for parts in items) for split in tools.values()]
            for title, items in by_category.items()}  # fmt: skip
    for title, right in rows.items():
        print(f"| {title} | {len(by_category[title])} | {' | '.join(map(str, right))} |")
    count = sum(map(len, by_category.values()))
    totals = [sum(column) for column in zip(*rows.values(), strict=True)]
    print(f"| all | {count} | {' | '.join(f'{right} ({right / count:.0%})' for right in totals)} |")


def agrees(split: Split, parts: list[str]) -> bool:
    """Return whether a text is split just as it is marked; not where the splitter fails."""
    text, ends = "".join(parts), list(accumulate(len(solid(part)) for part in parts))
    try:
        with time_limit(CALL_SECONDS):
            return boundaries(text, split(text)) == (set(ends[:-1]), 0)
    except Exception:  # a peer may fail in any way
        return False


def main() -> int:
    """Parse the arguments and measure."""
    parser = parser_of(__doc__)
    parser.add_argument("treebanks", nargs="*", type=Path)
    parser.add_argument("--without", nargs="*", type=Path, default=[], help="files whose sentences are left out")
    parser.add_argument("--peer-sentences", type=int, default=2000, help="most sentences of a file that peers get")
    parser.add_argument("--no-peers", action="store_true", help="measure Hunmin alone")
    options = parser.parse_args()
    print(hardware())
    seen = {sentence for path in options.without for sentence in sentences_of(path)}
    tools = splitters(not options.no_peers)
    for path in options.treebanks:
        treebank(path, seen, tools, options.peer_sentences)
    cases(tools)
    return 0


if __name__ == "__main__":
    sys.exit(main())
