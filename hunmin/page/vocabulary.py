"""The vocabulary on the page: its sizes, figures on held-out text, what it is made of, and how it cuts a sentence."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from hunmin.page.facts import Facts, Vocabulary
from hunmin.page.tables import Bar, Table, count, percent
from hunmin.page.words import Words

KINDS = (
    ("special", re.compile(r"\[.+\]|<.+>")),
    ("Hangul", re.compile(r"[가-힣ㄱ-ㅎㅏ-ㅣᄀ-ᇿ]+")),
    ("Latin letters", re.compile(r"[A-Za-zÀ-ɏ]+")),
    ("digits", re.compile(r"\d+")),
    ("Hanja and kana", re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")),
    ("other", re.compile(r".*", re.DOTALL)),
)
"""What an entry is made of: the first that fits."""
HIDDEN = ("corpus",)
"""Counts of the stage that are no numbers."""


def view(facts: Facts, words: Words) -> dict[str, Any] | None:
    """Return what the template of the section shows; None where there is no vocabulary yet."""
    found = facts.vocabulary
    if found is None:
        return None
    sizes = [(words.name(key), count(n)) for key, n in facts.stage("tokenizer").counts.items() if key not in HIDDEN]
    held_out = [(words.name(name.replace(" ", "_")), value) for name, value in found.held_out]
    head = [words("figure"), words("value")]
    return {
        "size": words("{count} entries", count=f"{facts.stage('tokenizer').counts.get('vocab_size', 0):,}"),
        "sizes": Table(words("Sizes"), [words("figure"), words("count")], sizes),
        "held_out": Table(words("On held-out text"), head, held_out),
        "encoded": _encoded(facts, words),
        "entries": _made_of(found, words),
        "splits": [
            (row["tokenizer"] if at < len(found.splits) - 1 else words("this vocabulary"), row["words"])
            for at, row in enumerate(found.splits)
        ],
    }


def _encoded(facts: Facts, words: Words) -> Table:
    counts, rows = facts.stage("encode").counts, []
    if counts:
        whole, tokens = facts.stage("corpus").counts.get("words", 0), counts["tokens"]
        rows = [
            ["tokens", count(tokens)],
            ["[UNK] share", percent(counts["unk"], tokens, 4)],
            ["tokens per word", f"{tokens / whole:.3f}" if whole else None],
            ["tokens per document", f"{tokens / counts['documents']:,.1f}" if counts["documents"] else None],
            ["documents without a token", count(counts.get("empty_documents"))],
        ]
    shown = [[words(str(name)), value] for name, value in rows]
    return Table(words("The encoded corpus"), [words("figure"), words("value")], shown)


def _made_of(found: Vocabulary, words: Words) -> Table:
    begin, within = made_of(found.entries)
    sums = begin + within
    rows = [
        [words(name), count(begin[name]), count(within[name]),
         Bar(percent(sums[name], len(found.entries)), sums[name] / len(found.entries))]
        for name, _ in KINDS
        if sums[name]
    ]  # fmt: skip
    head = [words(text) for text in ("kind", "start a word", "continue a word (##)", "share")]
    return Table(words("Entries"), head, rows)


def made_of(entries: list[str]) -> tuple[Counter[str], Counter[str]]:
    """Return how many entries of each kind start a word, and how many continue one.

    Args:
        entries: of a WordPiece vocabulary.
    """
    begin: Counter[str] = Counter()
    within: Counter[str] = Counter()
    for entry in entries:
        continues = entry.startswith("##") and len(entry) > 2
        text = entry[2:] if continues else entry
        kind = next(name for name, pattern in KINDS if pattern.fullmatch(text))
        (within if continues else begin)[kind] += 1
    return begin, within
