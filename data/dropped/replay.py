"""What a corpus left out: documents and sentences that its own lists name, and texts.

For texts the inputs are read again, and the corpus's own rules applied to them. Nothing of it is stored with the
corpus. Personal data in the texts is replaced, with the corpus's key where that is at hand, else with a key of the
moment: a finished run holds no key.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import xxhash

from common.errors import UserError
from common.progress import say
from common.stage_folders import of_run_or_itself
from data.assemble import DUPLICATES
from data.cleaning.rules import clean, cleaning_steps, keep_sentences
from data.cleaning.settings import CleanSettings
from data.corpus import FILTERED, HITS, corpus_files
from data.deduplicate.near import signatures
from data.deduplicate.settings import DeduplicateSettings
from data.dropped.marked import marked
from data.filters.chain import build_filters
from data.pii.settings import PiiSettings, key_fingerprint, resolve_key
from data.pii.surrogate import Pseudonymizer, pseudonymize
from data.readers.damage import DamagedInputError
from data.readers.formats import read_documents
from data.readers.records import Document, InputFile
from data.settings import CorpusSettings
from data.splitting.scan import split_sentences
from data.statistics.counts import Counters
from data.statistics.table import load_statistics
from data.units.work import NO_SENTENCE, UnitState, UnitWork

Row = dict[str, Any]
"""An example: "kind" (cleaning, emptied, filter, duplicate, benchmark), "rule", "id", and what the kind has beside."""
BLOCK_BYTES = 8_000_000
MOST_OF_ONE_ID = 20
"""Documents with one id that are compared to tell which of them is meant."""
NO_TEXT = "no text"
"""Rule of a document that was empty before anything was done to it."""


def listed_examples(corpus: Path, most: int) -> list[Row]:
    """Return examples of each filter's measure, rule of duplicates, and benchmark's rule, the same ones every time.

    Args:
        corpus: a run folder, or the corpus folder in it.

    Raises:
        UserError: the folder holds no finished corpus.
    """
    load_statistics(corpus)
    folder = of_run_or_itself(corpus, "corpus")
    return [
        *_drawn(folder / FILTERED, "filter", most, lambda row: {"rule": f"{row['filter']} {row['measure']}", **row}),
        *_drawn(folder / DUPLICATES, "duplicate", most, lambda row: row),
        *_drawn(folder / HITS, "benchmark", most, lambda row: {**row, "rule": f"{row['task']} {row['rule']}"}),
    ]


def _drawn(path: Path, kind: str, most: int, row_of: Callable[[Row], Row]) -> list[Row]:
    """Return up to `most` rows of each rule, drawn by the hash of the id."""
    if not path.is_file():  # a corpus without filters has no list of theirs
        return []
    chosen: dict[str, list[tuple[int, int, Row]]] = {}
    with path.open("rb") as lines:
        for number, line in enumerate(lines):
            row = {"kind": kind, **row_of(orjson.loads(line))}
            drawn = xxhash.xxh3_64_intdigest(row["id"].encode()), number, row
            of_rule = chosen.setdefault(row["rule"], [])
            of_rule[:] = sorted([*of_rule, drawn], key=lambda entry: entry[:2])[:most]
    return [row for rule in sorted(chosen) for _, _, row in chosen[rule]]


def with_texts(rows: list[Row], settings: CorpusSettings, statistics: Counters, most: int) -> Iterator[Row]:
    """Yield examples of what cleaning took out and of documents that it emptied, then the given rows with their texts.

    The "text" of a cleaning rule marks what it took (`marked`), or is a sentence that it dropped. A near copy has the
    document that stays as "kept_text". A text that is not in the inputs any more is None; where several documents have
    its id and nothing tells them apart, a note in brackets says so in its place.

    Raises:
        UserError: the inputs are not there any more.
    """
    replay = _Replay(rows, settings, statistics, most)
    for file in corpus_files(settings):
        if replay.done:
            break
        replay.read(file)
    yield from sorted(replay.examples, key=lambda row: (row["kind"], row["rule"]))
    for row in rows:
        yield {**row, **replay.texts_of(row)}


class _Replay:
    def __init__(self, rows: list[Row], settings: CorpusSettings, statistics: Counters, most: int) -> None:
        self._most = most
        self._clean = settings.clean
        key = _key(settings.pii, statistics.get("pii_key_fingerprint")) if settings.pii.enabled else None
        self._pseudonymizer = None if key is None else Pseudonymizer(key, settings.pii.types)
        types = tuple(settings.pii.types)
        filters = build_filters(settings.filters)
        nothing = DeduplicateSettings()  # no keys are made
        self._state = UnitState(UnitWork(Path(), settings.clean, None, key, types, nothing, filters))
        self.examples: list[Row] = []
        self._open = {rule: min(most, facts["hits"]) for rule, facts in statistics["cleaning"].items()}
        self._emptied = statistics["dropped"].get(NO_SENTENCE, 0)
        self._of_emptied: Counter[str] = Counter()
        self._sought = {name for row in rows for name in _names(row)}
        self._texts: dict[tuple[str, str], list[str]] = {}
        self._counts: Counter[tuple[str, str]] = Counter()

    @property
    def done(self) -> bool:
        return not (self._sought or self._looks)

    @property
    def _looks(self) -> bool:
        return any(self._open.values()) or self._emptied > 0

    def read(self, file: InputFile) -> None:
        with suppress(DamagedInputError):  # the corpus has what stands before the damage
            rules = file.settings.clean or self._clean
            for documents in self._state.batches(read_documents(file, BLOCK_BYTES), file):
                self._look_at(documents, rules)
                if self.done:
                    return

    def _look_at(self, documents: list[Document], rules: CleanSettings) -> None:
        if self._pseudonymizer:
            documents = self._state.without_personal_fields(documents)
        for document in documents:
            for name in {("", document.id), (document.source, document.id)} & self._sought:
                self._counts[name] += 1
                if self._counts[name] <= MOST_OF_ONE_ID:
                    (text,) = self._public([clean(document.text, rules, {})])
                    self._texts.setdefault(name, []).append(text)
        if not self._looks:
            return
        counts: list[Counters] = [{} for _ in documents]
        texts = [clean(document.text, rules, of_one) for document, of_one in zip(documents, counts, strict=True)]
        for document, text, of_one in zip(documents, texts, counts, strict=True):
            if any(self._open.get(rule) for rule in of_one):
                self._show_steps(document, text, rules)
        taken = {id(document): of_one for document, of_one in zip(documents, counts, strict=True)}
        kept_documents, texts, _ = self._state.filter(documents, texts)
        for document, text in zip(kept_documents, self._public(texts), strict=True):
            self._show_sentences(document, text, rules, taken[id(document)])

    def _show_steps(self, document: Document, cleaned: str, rules: CleanSettings) -> None:
        for rule, before, after in cleaning_steps(document.text, rules):
            if not self._open.get(rule):
                continue
            shown = self._unhidden([before, after, cleaned])
            if shown and shown[0] != shown[1]:
                self._open[rule] -= 1
                self.examples.append(_example("cleaning", rule, document, marked(*shown[:2])))

    def _unhidden(self, texts: list[str]) -> list[str] | None:
        """Return the texts without personal data; None where noise hides some of the last one's in one before it."""
        if not self._pseudonymizer:
            return texts
        pseudonymized = pseudonymize(self._pseudonymizer, texts)
        *earlier, last = [{replacement.surrogate for replacement in replacements} for _, replacements in pseudonymized]
        return [text for text, _ in pseudonymized] if all(last <= before for before in earlier) else None

    def _show_sentences(self, document: Document, text: str, rules: CleanSettings, taken: Counters) -> None:
        sentences = split_sentences(text)
        kept_sentences = keep_sentences(sentences, rules, {})
        if all(kept_sentences) and kept_sentences:
            return
        by_rule: dict[str, int] = {}
        for sentence in (sentence for sentence, stays in zip(sentences, kept_sentences, strict=True) if not stays):
            of_one: Counters = {}
            keep_sentences([sentence], rules, of_one)
            for rule in of_one:
                by_rule[rule] = by_rule.get(rule, 0) + 1
                if self._open.get(rule):
                    self._open[rule] -= 1
                    self.examples.append(_example("cleaning", rule, document, sentence))
        if any(kept_sentences):
            return
        self._emptied -= 1
        by_rule = by_rule or {rule: facts["characters"] for rule, facts in taken.items()}
        rule = max(by_rule, key=lambda name: by_rule[name], default=NO_TEXT)
        self._of_emptied[rule] += 1
        if self._of_emptied[rule] <= self._most:
            shown = text or self._public([document.text])[0]
            self.examples.append(_example("emptied", rule, document, shown))

    def _public(self, texts: list[str]) -> list[str]:
        return [text for text, _ in pseudonymize(self._pseudonymizer, texts)] if self._pseudonymizer else texts

    def texts_of(self, row: Row) -> Row:
        """Return the texts of a listed row: "text", and of a near copy "kept_text"."""
        if row["kind"] == "benchmark":
            return {}
        names = _names(row)
        texts = [self._texts.get(name, []) for name in names]
        if not all(texts):
            return {"text": None}
        if len(names) == 1:
            return {"text": texts[0][0] if self._counts[names[0]] == 1 else _note(self._counts[names[0]], row)}
        same = names[0] == names[1]
        pairs = [(a, b) for i, a in enumerate(texts[0]) for j, b in enumerate(texts[1]) if not same or j < i]
        if not pairs or max(self._counts[name] for name in names) > MOST_OF_ONE_ID:
            return {"text": _note(self._counts[names[0]], row)}
        text, kept_text = max(pairs, key=_likeness) if len(pairs) > 1 else pairs[0]
        return {"text": text} if row["rule"] == "documents" else {"text": text, "kept_text": kept_text}


def _key(settings: PiiSettings, fingerprint: str | None) -> bytes:
    with suppress(UserError):
        key = resolve_key(settings)
        if fingerprint in (None, key_fingerprint(key)):
            return key
    say(f"the pseudonyms shown are not the corpus's: {settings.key_env} does not hold its key", style="dim")
    return secrets.token_bytes(32)


def _likeness(pair: tuple[str, str]) -> float:
    left, right = signatures(list(pair))
    return float(np.mean(left == right))


def _names(row: Row) -> list[tuple[str, str]]:
    """Return (source or "", id) of the documents whose texts a row shows."""
    if row["kind"] == "filter":
        return [(row["source"], row["id"])]
    return [("", row["id"]), ("", row["kept"])] if row["kind"] == "duplicate" else []


def _note(count: int, row: Row) -> str:
    of_source = f" of {row['source']}" if "source" in row else ""
    return f"[{count} documents{of_source} have this id, so the dropped one is not known]"


def _example(kind: str, rule: str, document: Document, text: str) -> Row:
    return {"kind": kind, "rule": rule, "id": document.id, "source": document.source, "text": text}
