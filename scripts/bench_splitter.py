"""Measure the sentence splitter beside kiwipiepy and kss: agreement with treebanks, speed, characters lost, hard cases.

    python scripts/bench_splitter.py ko_gsd-ud-dev.conllu [MORE …] [--running TEXT …] [--without FILE …] [--no-peers]

A CoNLL-U file gives its `# text` lines, any other file its lines, a JSON Lines file (.jsonl, .jsonl.zst) the lines of
its `text` fields. 20 sentences at a time are joined by single spaces into running text, which every tool splits again.

A boundary is the end of a sentence but the last, as an offset into the text without its white space; this holds for
the treebank and for every tool. A tool that gives strings is aligned by finding each in turn; what is skipped is lost.
The tools see the same texts: the whole file, or, where it is longer than --peer-sentences, every k-th text of it, and
then Hunmin is measured on the whole file as well. Rates are UTF-8 bytes a second of CPU time on one core, the median
of three thirds of the texts: no text is seen twice, since kss keeps its last results.

The rules were tuned on GSD train, Kaist train, the first half of KSL and unpunctuated chat. `--without` leaves out the
sentences that a file tuned on holds too: 97% of the Kaist dev file's are in what is called Kaist train here.
"""

from __future__ import annotations

import argparse
import io
import logging
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path
from types import FrameType

import orjson
import zstandard
from timing import hardware

from data.splitting import split_sentences

GROUP = 20
CASES = Path(__file__).parents[1] / "tests" / "data" / "splitting_cases.txt"
RUNNING_CHARS = 2000
"""Peers get running text in pieces of so many characters, at line ends: kss takes minutes for a long text."""
CALL_SECONDS = 20
"""A call of a peer that takes longer is given up."""

Split = Callable[[str], list[str]]


def tools(peers: bool) -> dict[str, Split | str]:
    """Return the splitters by name; in place of one that cannot be had, the reason."""
    found: dict[str, Split | str] = {"hunmin": split_sentences}
    if not peers:
        return found
    try:
        from kiwipiepy import Kiwi

        kiwi = Kiwi(num_workers=1)
        found["kiwipiepy"] = lambda text: [text[s.start : s.end] for s in kiwi.split_into_sents(text)]
    except Exception as error:  # a peer may fail in any way
        found["kiwipiepy"] = f"{type(error).__name__}: {error}"
    logging.disable(logging.WARNING)
    for backend in ("mecab", "fast"):
        try:
            import kss

            split = partial(kss.split_sentences, backend=backend, num_workers=1)
            split("시작했다. 끝났다.")
            found[f"kss {backend}"] = split
        except Exception as error:  # a peer may fail in any way
            found[f"kss {backend}"] = f"{type(error).__name__}: {error}"
    return found


def sentences_of(path: Path) -> list[str]:
    """Return the sentences of a treebank file: `# text` lines, lines of JSON Lines `text` fields, or plain lines."""
    if path.name.endswith((".jsonl", ".jsonl.zst")):
        lines = [line for record in _records(path) for line in record.splitlines()]
    else:
        lines = path.read_text(encoding="utf-8").splitlines()
        if path.suffix == ".conllu":
            lines = [line[9:] for line in lines if line.startswith("# text = ")]
    return [line.strip() for line in lines if line.strip()]


def _records(path: Path) -> Iterator[str]:
    with path.open("rb") as raw:
        packed = path.suffix == ".zst"
        stream = zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(raw) if packed else raw
        for line in io.TextIOWrapper(stream, encoding="utf-8"):
            yield orjson.loads(line)["text"]


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


@dataclass
class Tally:
    """What one tool did on one file."""

    hits: int = 0
    found: int = 0
    true: int = 0
    bare_hits: int = 0
    bare: int = 0
    lost: int = 0
    rates: list[float] = field(default_factory=list)
    failed: str = ""
    missed: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)

    def row(self, name: str) -> str:
        """Return the tool's line of the table."""
        if self.failed:
            return f"| {name} | – | – | – | – | – | – | {self.failed} |"
        precision, recall = self.hits / max(self.found, 1), self.hits / max(self.true, 1)
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        rate = statistics.median(self.rates)
        bare = f"{self.bare_hits / self.bare:.4f}" if self.bare else "–"
        return f"| {name} | {precision:.4f} | {recall:.4f} | {bare} | {f1:.4f} | {rate:.3g} | {self.lost} | |"


def limited(split: Split, text: str) -> list[str]:
    """Return what a splitter gives; raise TimeoutError when it takes longer than CALL_SECONDS."""

    def expire(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"one text of {len(text)} characters took more than {CALL_SECONDS} s")

    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, CALL_SECONDS)
    try:
        return split(text)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def measure(split: Split | str, groups: list[list[str]]) -> Tally:
    """Return the tally of a splitter over groups of sentences; each third of the groups is timed by itself."""
    tally = Tally()
    if isinstance(split, str):
        return Tally(failed=split)
    for third in (groups[0::3], groups[1::3], groups[2::3]):
        texts = [" ".join(group) for group in third]
        try:
            began = time.process_time()
            results = [limited(split, text) for text in texts]
            seconds = time.process_time() - began
        except Exception as error:  # a peer may fail in any way
            return Tally(failed=f"{type(error).__name__}: {error}")
        if texts:
            tally.rates.append(sum(len(text.encode()) for text in texts) / 1e6 / seconds)
        for text, group, result in zip(texts, third, results, strict=True):
            expected = boundaries(text, group)[0]
            got, lost = boundaries(text, result)
            tally.hits += len(expected & got)
            tally.found, tally.true, tally.lost = tally.found + len(got), tally.true + len(expected), tally.lost + lost
            stream = solid(text)
            bare = {p for p in expected if stream[p - 1].isalnum()}
            tally.bare, tally.bare_hits = tally.bare + len(bare), tally.bare_hits + len(bare & got)
            tally.missed += [f"{stream[max(0, p - 20) : p]} | {stream[p : p + 12]}" for p in sorted(expected - got)]
            tally.invented += [f"{stream[max(0, p - 20) : p]} | {stream[p : p + 12]}" for p in sorted(got - expected)]
    return tally


HEAD = "| tool | precision | recall | recall, no stop | F1 | MB/s | lost | |\n|---|---|---|---|---|---|---|---|"
"""The third column is the recall of sentences that end in a letter or a digit: many of them are fragments, such as
headlines and queries, whose ends no rule can see."""


def treebank(path: Path, seen: set[str], splitters: dict[str, Split | str], peer_sentences: int, errors: int) -> None:
    """Print the table of one treebank file, without the sentences seen in tuning."""
    sentences = [sentence for sentence in sentences_of(path) if sentence not in seen]
    groups = [sentences[first : first + GROUP] for first in range(0, len(sentences), GROUP)]
    step = -(-len(sentences) // peer_sentences) if len(splitters) > 1 else 1
    sample = groups[::step]
    bare = sum(sentence[-1].isalnum() for sentence in sentences) / max(len(sentences), 1)
    print(f"\n{path.name}: {len(sentences)} sentences, {bare:.1%} of them end in a letter or a digit;", end=" ")
    print(f"{sum(map(len, sample))} sentences for every tool\n{HEAD}")
    for name, split in splitters.items():
        tally = measure(split, sample)
        print(tally.row(name), flush=True)
        if step > 1 and split is split_sentences:
            tally = measure(split, groups)
            print(tally.row("hunmin, whole file"))
        for title, items in (("missed", tally.missed), ("invented", tally.invented)) if errors else ():
            for item in items[:: max(1, len(items) // errors)][:errors]:
                print(f"  {title}: {item}")


def cases(splitters: dict[str, Split | str], errors: int) -> None:
    """Print the share of the hard cases that each tool splits exactly as marked, by category."""
    by_category: dict[str, list[list[str]]] = {}
    for line in CASES.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            category = by_category.setdefault(line[2:], [])
        elif line:
            category.append(line.replace("⏎", "\n").split("¦"))
    able = {name: split for name, split in splitters.items() if not isinstance(split, str)}
    print(f"\nhard cases split exactly\n| category | cases | {' | '.join(able)} |\n|---|---|{'---|' * len(able)}")
    totals = dict.fromkeys(able, 0)
    for title, items in by_category.items():
        right = {name: [_agrees(split, parts) for parts in items] for name, split in able.items()}
        print(f"| {title} | {len(items)} | {' | '.join(str(sum(marks)) for marks in right.values())} |")
        for name, marks in right.items():
            totals[name] += sum(marks)
            for parts, mark in zip(items, marks, strict=True) if errors else ():
                if not mark:
                    print(f"  {name}: {'¦'.join(parts)}")
    count = sum(map(len, by_category.values()))
    print(f"| all | {count} | {' | '.join(f'{right} ({right / count:.0%})' for right in totals.values())} |")


def _agrees(split: Split, parts: list[str]) -> bool:
    text = "".join(parts)
    ends = list(accumulate(len(solid(part)) for part in parts))
    try:
        return boundaries(text, limited(split, text)) == (set(ends[:-1]), 0)
    except Exception:  # a peer may fail in any way; a case that fails is not right
        return False


def running(path: Path, splitters: dict[str, Split | str], peer_bytes: int) -> None:
    """Print sentences, MB/s and characters lost on running text; peers see its first part, in pieces of lines."""
    text = "\n".join(_records(path)) if path.name.endswith((".jsonl", ".jsonl.zst")) else path.read_text("utf-8")
    print(f"\n{path.name}: {len(text.encode()) / 1e6:.1f} MB of running text")
    print("| tool | MB | sentences | characters a sentence | MB/s | lost | |\n|---|---|---|---|---|---|---|")
    for name, split in splitters.items():
        if isinstance(split, str):
            print(f"| {name} | – | – | – | – | – | {split} |")
            continue
        pieces = [text] if name == "hunmin" else _pieces(text[:peer_bytes])
        print(f"| {name} | {_run(split, pieces, rounds=3 if name == 'hunmin' else 1)} |", flush=True)


def _pieces(text: str) -> list[str]:
    pieces, size = [""], 0
    for line in text.splitlines(keepends=True):
        if size > RUNNING_CHARS:
            pieces, size = [*pieces, ""], 0
        pieces[-1] += line
        size += len(line)
    return pieces


def _run(split: Split, pieces: list[str], rounds: int) -> str:
    size, times = sum(len(piece.encode()) for piece in pieces), []
    for _ in range(rounds):
        began = time.process_time()
        results, failed = [], ""
        for piece in pieces:
            try:
                results.append(limited(split, piece))
            except Exception as error:  # a peer may fail in any way
                results.append([piece])
                failed = f"{type(error).__name__}: {error}"
        times.append(time.process_time() - began)
    lost = sum(boundaries(piece, result)[1] for piece, result in zip(pieces, results, strict=True))
    count, letters = sum(map(len, results)), sum(map(len, pieces))
    rate = size / 1e6 / statistics.median(times)
    return f"{size / 1e6:.2f} | {count} | {letters / max(count, 1):.0f} | {rate:.3g} | {lost} | {failed}"


def main() -> None:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebanks", nargs="*", type=Path)
    parser.add_argument("--running", nargs="*", type=Path, default=[], help="running text: .txt, .jsonl or .jsonl.zst")
    parser.add_argument("--without", nargs="*", type=Path, default=[], help="files whose sentences are left out")
    parser.add_argument("--peer-sentences", type=int, default=2000, help="most sentences of a file that peers get")
    parser.add_argument("--peer-chars", type=int, default=200_000, help="characters of running text that peers get")
    parser.add_argument("--errors", type=int, default=0, help="print as many errors of each kind and tool")
    parser.add_argument("--no-peers", action="store_true", help="measure Hunmin alone")
    arguments = parser.parse_args()
    seen = {sentence for path in arguments.without for sentence in sentences_of(path)}
    splitters = tools(not arguments.no_peers)
    print(hardware())
    for path in arguments.treebanks:
        treebank(path, seen, splitters, arguments.peer_sentences, arguments.errors)
    cases(splitters, arguments.errors)
    for path in arguments.running:
        running(path, splitters, arguments.peer_chars)


if __name__ == "__main__":
    main()
