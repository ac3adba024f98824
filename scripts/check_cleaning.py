"""What cleaning changes in a corpus: a table by rule, a table by source, and samples of a rule to read.

    python scripts/check_cleaning.py CORPUS … [--documents 20000] [--clean YAML] [--rule html …] [--samples 50]

CORPUS: files or folders as in corpus.inputs. YAML: settings as in corpus.clean, such as {news: true}; by default the
defaults. The rules are those of the stage, one after the other; what each did is told by comparing the text before and
after it. Samples are drawn evenly over sources, each different change of a source once. They are printed as they are,
personal data and all: they are for the eyes of who has the corpus.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import compress
from typing import Any, NamedTuple

import yaml
from text_changes import changes_between

from common.errors import HunminError
from common.settings import parse_settings
from data.cleaning import DOCUMENT_RULES, CleanSettings, clean, keep_sentences
from data.filter_models.texts import documents_of_file
from data.readers import list_files
from data.splitting import split_sentences

SENTENCE_RULES: dict[str, Any] = {
    "max_word_chars": None,
    "max_han_kana": None,
    "min_hangul_share": 0,
    "min_sentence_chars": 1,
}
"""The rules that drop whole sentences, in the order they apply, each with the value that switches it off."""
RULES = (*DOCUMENT_RULES, *SENTENCE_RULES)


class Piece(NamedTuple):
    """One place that a rule changed: `taken` became `put`, with the text around it."""

    before: str
    taken: str
    put: str
    after: str


class Seen:
    """Counts by rule and source, and samples of some rules."""

    def __init__(self, rules: list[str], samples: int, seed: int) -> None:
        self.documents: Counter[str] = Counter()
        self.characters: Counter[str] = Counter()
        self.changed: dict[str, Counter[str]] = defaultdict(Counter)
        self.taken: dict[str, Counter[str]] = defaultdict(Counter)
        self.put: dict[str, Counter[str]] = defaultdict(Counter)
        self.drawn: dict[str, dict[str, list[Piece]]] = {rule: defaultdict(list) for rule in rules}
        self._different: dict[tuple[str, str], set[int]] = defaultdict(set)
        self._samples, self._random = samples, random.Random(seed)

    def add(self, rule: str, source: str, pieces: list[Piece]) -> None:
        """Count what a rule did to one document."""
        self.changed[rule][source] += 1
        self.taken[rule][source] += sum(len(piece.taken) for piece in pieces)
        self.put[rule][source] += sum(len(piece.put) for piece in pieces)
        if rule in self.drawn:
            for piece in pieces:
                self._draw(rule, source, piece)

    def _draw(self, rule: str, source: str, piece: Piece) -> None:
        different, drawn = self._different[rule, source], self.drawn[rule][source]
        if (key := hash((piece.taken, piece.put))) not in different:
            different.add(key)
            place = len(drawn) if len(drawn) < self._samples else self._random.randrange(len(different))
            if place < self._samples:
                drawn[place : place + 1] = [piece]

    def samples(self, rule: str) -> list[tuple[str, Piece]]:
        """Return the samples of a rule with their sources: one of each source, another of each source, and so on."""
        sources = sorted(self.drawn[rule].items())
        self._random.shuffle(sources)
        for _, drawn in sources:
            self._random.shuffle(drawn)
        turns = range(max((len(drawn) for _, drawn in sources), default=0))
        rounds = [(source, drawn[turn]) for turn in turns for source, drawn in sources if turn < len(drawn)]
        return rounds[: self._samples]


def only(settings: CleanSettings, rule: str) -> CleanSettings:
    """Return the settings with one of their rules and no other."""
    off = {name: False for name in DOCUMENT_RULES if name != rule}
    off |= {name: value for name, value in SENTENCE_RULES.items() if name != rule}
    return settings.model_copy(update=off)


def document_changes(text: str, settings: CleanSettings, context: int = 60) -> Iterator[tuple[str, list[Piece], str]]:
    """Yield (rule, what it changed, the text after it) of every document rule that changes a text.

    Raises:
        HunminError: the rules one by one do not come to what they come to together.
    """
    whole, now = clean(text, settings, {}), text
    for rule in DOCUMENT_RULES:
        after = clean(now, only(settings, rule), {})
        if after != now:
            yield rule, pieces_of(now, after, context), after
            now = after
    if now != whole:
        raise HunminError(
            "cleaning rule by rule gives another text than cleaning at once",
            f"they part at {next(iter(changes_between(whole, now)))} of {whole[:80]!r}",
            "mend DOCUMENT_RULES in data/cleaning/rules.py, or the rule that looks at what another one did",
        )


def pieces_of(before: str, after: str, context: int) -> list[Piece]:
    """Return what differs between two texts, with as many characters around each piece."""
    return [
        Piece(before[max(start - context, 0) : start], before[start:end], put, before[end : end + context])
        for start, end, put in changes_between(before, after)
    ]


def sentence_changes(sentences: list[str], settings: CleanSettings) -> Iterator[tuple[str, list[Piece]]]:
    """Yield (rule, sentences dropped, each between its neighbours) of every sentence rule that drops some."""
    for rule in SENTENCE_RULES:
        keep = keep_sentences(sentences, only(settings, rule), {})
        if not all(keep):
            around = ["", *sentences, ""]
            yield rule, [Piece(around[n], around[n + 1], "", around[n + 2]) for n, kept in enumerate(keep) if not kept]
        sentences = list(compress(sentences, keep))


def examine(corpora: list[str], settings: CleanSettings, most: int, context: int, seen: Seen) -> None:
    """Clean the documents of some corpora rule by rule, evenly chosen where a file holds more than `most`."""
    for file in list_files([*corpora]):
        found = documents_of_file(file)
        for document in found[:: -(-len(found) // most)] if found else []:
            source, text = document.source, document.text
            seen.documents[source] += 1
            seen.characters[source] += len(text)
            for rule, pieces, after in document_changes(text, settings, context):
                seen.add(rule, source, pieces)
                text = after
            for rule, pieces in sentence_changes(split_sentences(text), settings):
                seen.add(rule, source, pieces)
        print(f"{file.label}: {len(found):,} documents", file=sys.stderr, flush=True)


def print_tables(seen: Seen) -> None:
    """Print what each rule did, in all and by source; shares are of the characters before cleaning."""
    documents, characters = seen.documents.total(), seen.characters.total()
    print("| rule | documents changed | share | characters out | characters in | share out | most of it from |")
    print("|---|--:|--:|--:|--:|--:|---|")
    for rule in RULES:
        if not (changed := seen.changed[rule].total()):
            continue
        taken, put = seen.taken[rule].total(), seen.put[rule].total()
        first = ", ".join(f"{source} {n / max(taken, 1):.0%}" for source, n in seen.taken[rule].most_common(3))
        print(
            f"| `{rule}` | {changed:,} | {changed / documents:.2%} | {taken:,} | {put:,} |"
            f" {taken / max(characters, 1):.3%} | {first} |"
        )
    used = [rule for rule in RULES if seen.changed[rule].total()]
    print(f"\n| source | documents | characters | {' | '.join(used)} |\n|---|{'--:|' * (len(used) + 2)}")
    for source, count in [*seen.documents.items(), ("all", documents)]:
        size = characters if source == "all" else seen.characters[source]
        taken_of = (seen.taken[rule].total() if source == "all" else seen.taken[rule][source] for rule in used)
        shares = (f"{taken / max(size, 1):.2%}" if taken else "" for taken in taken_of)
        print(f"| {source} | {count:,} | {size:,} | {' | '.join(shares)} |")


def print_samples(seen: Seen) -> None:
    """Print the samples, a line each."""
    for rule in seen.drawn:
        samples = seen.samples(rule)
        print(f"\n{rule}: {len(samples)} of the changes")
        for number, (source, piece) in enumerate(samples, 1):
            became = f"→{piece.put}" if piece.put else ""
            line = f"{piece.before}⟦{piece.taken}{became}⟧{piece.after}"
            print(f"{number:3} {source}  {line}".replace("\n", "⏎"))


def main() -> int:
    """Parse the arguments, clean, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--clean", default="{}", help="settings as in corpus.clean (default: the defaults)")
    parser.add_argument("--documents", type=int, default=20_000, help="most documents of a file (default 20000)")
    parser.add_argument("--rule", nargs="*", choices=RULES, default=[], help="rules of which samples are printed")
    parser.add_argument("--samples", type=int, default=50, help="how many (default 50)")
    parser.add_argument("--context", type=int, default=60, help="characters around a sample (default 60)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    settings = parse_settings(CleanSettings, yaml.safe_load(options.clean), "--clean")
    seen = Seen(options.rule, options.samples, options.seed)
    try:
        examine(options.corpora, settings, options.documents, options.context, seen)
    except HunminError as error:
        print(error, file=sys.stderr)
        return 1
    print_tables(seen)
    print_samples(seen)
    return 0


if __name__ == "__main__":
    sys.exit(main())
